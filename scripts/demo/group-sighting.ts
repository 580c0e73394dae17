import type { EndpointGroup } from '../../src/api/v1alpha1/endpoint-group.ts';
import { endpointGroupResource, labels } from '../../src/api/v1alpha1/names.ts';
import { type EndpointSliceObject, endpointSliceResource } from '../../src/runtime/kube/core-resources.ts';
import type { KubeClient } from '../../src/runtime/kube/kube-client.ts';
import { DEMO_NAMESPACE } from './stage.ts';

/** A group as its status shows it at one time. */
export interface GroupSighting {
  readonly phase: string;
  readonly load: number;
  readonly hot: number;
  readonly ready: number;
  readonly cold: number;
  readonly total: number;
  readonly draining: number;
  readonly starting: number;
  readonly pricePerHour: string;
  /** The last decision in words. */
  readonly because: string;
}

/** Returns the present group; undefined after its deletion. */
export async function lookAtGroup(client: KubeClient, name: string): Promise<GroupSighting | undefined> {
  const ref = { namespace: DEMO_NAMESPACE, name };
  const group = await client.get<EndpointGroup>(endpointGroupResource, ref);
  return group && sightingOf(group);
}

function sightingOf({ status = {} }: Pick<EndpointGroup, 'status'>): GroupSighting {
  const count = (value: number | undefined): number => value ?? 0;
  return {
    phase: status.phase ?? 'Pending',
    load: Number(status.load ?? 0),
    hot: count(status.replicas),
    ready: count(status.ready),
    cold: count(status.cold),
    total: count(status.total),
    draining: count(status.draining),
    starting: count(status.starting),
    pricePerHour: status.pricePerHour ?? '0.00',
    because: status.autoscaling?.explanation ?? '',
  };
}

/** Returns the present public ports behind the Service of a group. */
export async function publishedPorts(client: KubeClient, group: string): Promise<ReadonlySet<number>> {
  const { items } = await client.list<EndpointSliceObject>(endpointSliceResource, {
    namespace: DEMO_NAMESPACE,
    labelSelector: `${labels.endpointGroup}=${group}`,
  });
  return new Set(items.flatMap(({ ports }) => ports.map(({ port }) => port)));
}
