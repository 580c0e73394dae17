import type { EndpointGroup } from '../../src/api/v1alpha1/endpoint-group.ts';
import type { GpuInstance } from '../../src/api/v1alpha1/gpu-instance.ts';
import {
  API_VERSION,
  endpointGroupResource,
  gpuInstanceResource,
  labels,
} from '../../src/api/v1alpha1/names.ts';
import type { RawOptions } from '../../src/config.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { type EndpointSliceObject, endpointSliceResource } from '../../src/runtime/kube/core-resources.ts';
import type { KubeObject } from '../../src/runtime/kube/kube-object.ts';
import type { SimulatorOptions } from '../../src/simulator/simulator.ts';
import type { OperatorBench } from '../builders/running-operator.ts';
import { until } from '../builders/until.ts';
import { WorkerFleet } from '../builders/worker-fleet.ts';
import { readyBench } from './gpu-instance-bench.ts';

/** Twenty times as fast: a tick of half a second, a down window of 15 s. */
export const FAST: RawOptions = { scalingSpeed: '20', addressMap: ['203.0.113.0/24=127.0.0.1'] };

/** A bench whose machines are workers, and a gateway in front of them that follows the Service. */
export interface GroupBench {
  readonly bench: OperatorBench;
  readonly fleet: WorkerFleet;
  group(name?: string): Promise<EndpointGroup>;
  workers(name?: string): Promise<readonly GpuInstance[]>;
  slices(): Promise<readonly EndpointSliceObject[]>;
  /** Waits for a state of the group and returns it; the error contains its last state. */
  reached(what: string, holds: (group: EndpointGroup) => boolean): Promise<EndpointGroup>;
  close(): void;
}

export async function groupBench(
  options: {
    readonly flags?: RawOptions;
    readonly simulator?: SimulatorOptions;
    readonly account?: Record<string, unknown>;
    readonly perf?: number;
  } = {},
): Promise<GroupBench> {
  let fleet: WorkerFleet | undefined;
  const bench = await readyBench({
    flags: { ...FAST, ...options.flags },
    ...(options.account && { account: options.account }),
    simulator: { catalog: offers(12), ...options.simulator },
    workerTransport: (request) => {
      if (!fleet) throw new Error('The fleet is not there yet.');
      return fleet.transport(request);
    },
  });
  fleet = new WorkerFleet({
    simulator: bench.simulator,
    clock: systemClock,
    perf: options.perf ?? 100,
    maxQueueSeconds: 2,
  });
  return gateway(bench, fleet);
}

function gateway(bench: OperatorBench, fleet: WorkerFleet): GroupBench {
  const { kube, namespace } = bench;
  const slices = async () =>
    (await kube.list<EndpointSliceObject>(endpointSliceResource, { namespace })).items.filter(
      ({ metadata }) => metadata.labels?.[labels.endpointGroup] !== undefined,
    );
  let closed = false;
  const follow = async () => {
    while (!closed) {
      fleet.publish(new Set((await slices()).flatMap(({ ports }) => ports.map(({ port }) => port))));
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  };
  void follow().catch(() => {});
  const group = async (name = 'llm') => {
    const found = await kube.get<EndpointGroup & KubeObject>(endpointGroupResource, { namespace, name });
    if (!found) throw new Error(`There is no group ${name}.`);
    return found;
  };
  const workers = async (name = 'llm') =>
    (
      await kube.list<GpuInstance & KubeObject>(gpuInstanceResource, {
        namespace,
        labelSelector: `${labels.endpointGroup}=${name}`,
      })
    ).items;
  const inWords = async () =>
    (await workers())
      .map(({ metadata, spec, status }) => {
        const ready = status?.conditions?.find(({ type }) => type === 'Ready');
        return `${metadata.name} ${spec.powerState} ${status?.actualStatus} ${ready?.reason} ${ready?.message}`;
      })
      .join('; ');
  const log = () =>
    bench.logLines
      .filter((line) => line.includes('endpointgroup'))
      .slice(-5)
      .join('\n');
  return {
    bench,
    fleet,
    group,
    slices,
    workers,
    reached: (what, holds) => reachedBy(group, { what, holds, workers: inWords, log }),
    close: () => {
      closed = true;
    },
  };
}

async function reachedBy(
  group: () => Promise<EndpointGroup>,
  expected: {
    readonly what: string;
    readonly holds: (group: EndpointGroup) => boolean;
    /** In words, for the error. */
    readonly workers: () => Promise<string>;
    /** Returns the operator's last log lines. */
    readonly log: () => string;
  },
): Promise<EndpointGroup> {
  let last: EndpointGroup | undefined;
  try {
    return await until(expected.what, async () => {
      last = await group();
      return expected.holds(last) ? last : undefined;
    });
  } catch (error) {
    const conditions = last?.status?.conditions?.map(
      ({ type, status, message }) => `${type}=${status} ${message}`,
    );
    const { explanation } = last?.status?.autoscaling ?? {};
    throw new Error(`${String(error)}; ${explanation} ${conditions?.join(' ')} ${await expected.workers()}`, {
      cause: expected.log(),
    });
  }
}

/** Returns offers of one model, one per host, each slightly more expensive than the previous one. */
export function offers(count: number) {
  return Array.from({ length: count }, (_, index) => ({
    gpuName: 'RTX 4090',
    gpuCount: 1,
    pricePerHour: 0.4 + index * 0.01,
    hostId: 5000 + index,
    machineId: 7000 + index,
  }));
}

/** Creates a group whose workers report their load; durations are short. */
export async function createGroup(
  { bench }: Pick<GroupBench, 'bench'>,
  spec: Record<string, unknown> = {},
  name = 'llm',
): Promise<void> {
  await bench.kube.create(endpointGroupResource, {
    apiVersion: API_VERSION,
    kind: 'EndpointGroup',
    metadata: { namespace: bench.namespace, name },
    spec: {
      maxQueueTime: '2s',
      targetQueueTime: '1s',
      coldWorkers: 0,
      coldMultiplier: '1',
      maxWorkers: 6,
      expectedPerf: '100',
      wakeTimeout: '15s',
      load: { type: 'HTTPPull', httpPull: { port: 'http' } },
      template: workerTemplate(),
      ...spec,
    },
  } as KubeObject);
}

export function workerTemplate(spec: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    metadata: { labels: { app: 'llm' } },
    spec: {
      image: 'example/worker:1',
      offers: [{ maxPricePerHour: '2.00', minDirectPorts: 1 }],
      ports: [{ name: 'http', containerPort: 8000 }],
      ...spec,
    },
  };
}

export async function patchGroup(
  { bench }: GroupBench,
  patch: Record<string, unknown>,
  name = 'llm',
): Promise<void> {
  await bench.kube.patch(
    endpointGroupResource,
    { namespace: bench.namespace, name },
    { type: 'merge', body: patch },
  );
}
