import type { EndpointGroup, EndpointGroupManifestSpec } from '../../src/api/v1alpha1/endpoint-group.ts';
import { API_VERSION, endpointGroupResource } from '../../src/api/v1alpha1/names.ts';
import type { KubeObject } from '../../src/runtime/kube/kube-object.ts';
import type { OperatorBench } from '../builders/running-operator.ts';

/** Work per second of each worker. */
export const PERF = 100;
/** Maximum number of workers per group. */
export const MAX_WORKERS = 3;

/** Groups of a storm, each told in another way how many workers it needs. */
export const GROUPS = {
  /** People write its load. All its workers are kept: the load decides which of them run. */
  written: { load: { type: 'Static', static: { load: '130' } }, coldWorkers: MAX_WORKERS },
  /** People write the number of its workers, through the scale subresource. */
  counted: { replicas: 2, coldWorkers: 0 },
  /** Group whose workers report their load; at least one always runs, because an empty group has no reports. */
  reported: { load: { type: 'Push' }, minLoad: '30', coldWorkers: 2 },
} as const satisfies Record<string, Partial<EndpointGroupManifestSpec>>;
export type GroupName = keyof typeof GROUPS;

export const GROUP_NAMES = Object.keys(GROUPS) as GroupName[];

/** Returns the image of a group's workers, which identifies their machines. */
export const imageOf = (group: GroupName, version: number): string => `example/${group}:${version}`;

/** Creates it with workers that have a port, so that a Service leads to those that serve. */
export async function createGroup({ kube, namespace }: OperatorBench, name: GroupName): Promise<void> {
  const object: KubeObject & { readonly spec: EndpointGroupManifestSpec } = {
    apiVersion: API_VERSION,
    kind: endpointGroupResource.kind,
    metadata: { namespace, name },
    spec: {
      maxWorkers: MAX_WORKERS,
      expectedPerf: String(PERF),
      targetUtilizationPercent: 100,
      coldMultiplier: '1',
      targetQueueTime: '1s',
      maxQueueTime: '2s',
      wakeTimeout: '10s',
      template: {
        spec: {
          image: imageOf(name, 1),
          offers: [{ maxPricePerHour: '100', minDirectPorts: 1 }],
          ports: [{ name: 'http', containerPort: 8000 }],
          replacement: { maxPerHour: 100 },
        },
      },
      ...GROUPS[name],
    },
  };
  await kube.create(endpointGroupResource, object);
}

/** Returns the number of hot workers that a group needs; `reported` is the load per second from its workers. */
export function hotAsked({ spec }: EndpointGroup, reported: number): number {
  const load = spec.load.type === 'Push' ? reported : Number(spec.load.static?.load ?? 0);
  const asked = spec.replicas ?? Math.ceil(Math.max(load, Number(spec.minLoad)) / PERF);
  return Math.min(asked, spec.maxWorkers);
}
