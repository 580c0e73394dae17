import type { EndpointGroup } from '../../src/api/v1alpha1/endpoint-group.ts';
import { endpointGroupResource } from '../../src/api/v1alpha1/names.ts';
import { endpointsOf } from '../../src/controllers/endpoint-group/publish/endpoints.ts';
import { Publisher } from '../../src/controllers/endpoint-group/publish/publisher.ts';
import type { Worker } from '../../src/controllers/endpoint-group/workers/worker.ts';
import {
  type EndpointSliceObject,
  endpointSliceResource,
  type ServiceObject,
  serviceResource,
} from '../../src/runtime/kube/core-resources.ts';
import { refOf } from '../../src/runtime/kube/kube-object.ts';
import { groupObject, groupWorker, workerObject } from './group-worker.ts';
import { type MemoryCluster, memoryCluster } from './memory-cluster.ts';
import { createVirtualClock } from './virtual-clock.ts';

/** The namespace of the groups and workers that are made here. */
export const NAMESPACE = 'default';

/** Creates a publisher with an in-memory API, and access to its writes and requests. */
export function publisherBench() {
  const cluster = memoryCluster();
  // Of its own: in the cluster's time the garbage collector would take what has no owner there.
  const clock = createVirtualClock({ startMs: cluster.clock.now() });
  /** Returns another publisher, as a new process or another group has it. */
  const another = () => new Publisher({ cluster: cluster.kube, clock });
  const publisher = another();
  const publish = (group: EndpointGroup, workers: readonly Worker[], going: readonly string[] = []) => {
    const { endpoints } = endpointsOf(group, workers, { allowPrivate: false });
    const staying = endpoints.filter(({ worker }) => !going.includes(worker.metadata.name));
    return publisher.publish({ group, workers, endpoints: staying });
  };
  /** Writes a group as a user does, and returns the stored object with its UID. */
  const declare = async ({ metadata, ...group }: EndpointGroup) => {
    const ref = refOf({ ...group, metadata });
    if (await cluster.kube.get(endpointGroupResource, ref)) {
      const body = { spec: group.spec };
      return cluster.kube.patch<EndpointGroup>(endpointGroupResource, ref, { type: 'merge', body });
    }
    return cluster.kube.create<EndpointGroup>(endpointGroupResource, { ...group, metadata: ref });
  };
  const slices = async () =>
    (await cluster.kube.list<EndpointSliceObject>(endpointSliceResource, { namespace: NAMESPACE })).items;
  const service = (name = 'llm') =>
    cluster.kube.get<ServiceObject>(serviceResource, { namespace: NAMESPACE, name });
  const requests = () => cluster.sent.splice(0).map((line) => line.replace(/\/ap.*\/default\//, ''));
  const answer = (intercept: MemoryCluster['intercept']) => {
    cluster.intercept = intercept;
  };
  /** Lets something happen just before the next request of this method arrives. */
  const justBefore = (method: string, happens: () => Promise<unknown>) =>
    answer((request) => {
      if (request.method !== method) return undefined;
      answer(() => undefined);
      return happens().then(() => cluster.memory.transport(request));
    });
  const tools = { publisher, another, publish, declare, slices, service, requests, answer, justBefore };
  return { ...cluster, clock, ...tools };
}

/** Returns a group in the namespace of the bench. */
export function groupInDefault(
  spec: Record<string, unknown> = {},
  more: Parameters<typeof groupObject>[1] = {},
): EndpointGroup {
  return groupObject(spec, { ...more, metadata: { namespace: NAMESPACE, ...more.metadata } });
}

/** Returns a worker that serves there, created after the publisher started. */
export function workerInDefault(name: string, publicAddress = '203.0.113.7'): Worker {
  const status = { ...workerObject(name).status, publicAddress };
  const object = workerObject(name, { metadata: { namespace: NAMESPACE }, status });
  return groupWorker({ name, object, createdAt: 2e12 });
}
