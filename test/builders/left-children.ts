import type { GpuInstance } from '../../src/api/v1alpha1/gpu-instance.ts';
import { workerSlice } from '../../src/controllers/endpoint-group/publish/service.ts';
import {
  connectionSecret,
  endpointSlices,
  instanceService,
} from '../../src/controllers/gpu-instance/children.ts';
import {
  type EndpointSliceObject,
  endpointSliceResource,
  secretResource,
  serviceResource,
} from '../../src/runtime/kube/core-resources.ts';
import type { KubeObject, Resource } from '../../src/runtime/kube/kube-object.ts';
import { groupInDefault, workerInDefault } from './group-publisher.ts';
import { given, holding, withMachine } from './observed.ts';

/** Children as the controllers write them, of objects that exist nowhere. */

export const NAMESPACE = 'team';
export const MACHINE_ID = holding().instanceId ?? '';
const fields = {
  ...holding(),
  publicAddress: '203.0.113.5',
  ssh: { host: '198.51.100.7', port: 20_022 },
  ports: [{ containerPort: 8080, protocol: 'TCP' as const, publicPort: 20_080, name: 'http' }],
};
const publication = { fields, serving: true, ready: true };

export type Child = readonly [Resource, KubeObject];

export function objectCalled(name: string, uid: string): GpuInstance {
  const spec = { ssh: true, ports: [{ name: 'http', containerPort: 8080 }] };
  return { ...given(withMachine({}, { spec })).object, metadata: { name, namespace: NAMESPACE, uid } };
}

export function slicesOf(owner: GpuInstance): readonly EndpointSliceObject[] {
  return endpointSlices(owner, publication, { allowPrivate: false });
}

/** Returns Secret, Service and both EndpointSlices. */
export function childrenOf(owner: GpuInstance): readonly Child[] {
  const service = instanceService(owner);
  const secret = connectionSecret(owner, publication, { workerToken: 't', instanceApiKey: undefined });
  return [
    [secretResource, secret],
    ...(service ? [[serviceResource, service] as const] : []),
    ...slicesOf(owner).map((slice) => [endpointSliceResource, slice] as const),
  ];
}

/** Returns the slice that connects a group's Service to a worker. */
export function sliceOfWorker(name: string): EndpointSliceObject {
  const { object } = workerInDefault(name);
  const worker = { ...object, metadata: { ...object.metadata, namespace: NAMESPACE } };
  const group = groupInDefault({}, { metadata: { namespace: NAMESPACE } });
  const ports = [{ name: 'http', port: 20_080, protocol: 'TCP' as const }];
  const endpoint = { worker, address: '203.0.113.5', addressType: 'IPv4' as const, ports };
  return workerSlice(group, { ...endpoint, isDraining: false, pricePerHour: undefined });
}
