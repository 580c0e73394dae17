import { API_VERSION, gpuInstanceResource, labels, OPERATOR_NAME } from '../../src/api/v1alpha1/names.ts';
import { endpointSliceResource } from '../../src/runtime/kube/core-resources.ts';
import type { KubeClient } from '../../src/runtime/kube/kube-client.ts';
import { type KubeObject, uidOf } from '../../src/runtime/kube/kube-object.ts';

/** A worker at a documentation address, as `--address-map 203.0.113.0/24=127.0.0.1` leads to this machine. */
export interface SlicedWorker {
  readonly namespace: string;
  readonly group: string;
  readonly worker: string;
  readonly slice: string;
  readonly port: number;
}

export const WORKER_ADDRESS = '203.0.113.1';

/** Creates the GpuInstance of a worker and the slice by which the operator publishes it. */
export async function publishSlice(kube: KubeClient, given: SlicedWorker): Promise<void> {
  const { namespace, worker } = given;
  const owner = await kube.create<KubeObject>(gpuInstanceResource, {
    apiVersion: API_VERSION,
    kind: 'GpuInstance',
    metadata: { namespace, name: worker },
    spec: { image: 'example/worker:1', offers: [{ maxPricePerHour: '1' }] },
  } as KubeObject);
  await kube.create(endpointSliceResource, sliceOf(given, uidOf(owner)));
}

/** `uid`: of the GpuInstance that owns the slice. */
export function sliceOf({ namespace, group, worker, slice, port }: SlicedWorker, uid: string): KubeObject {
  const owner = { apiVersion: API_VERSION, kind: 'GpuInstance', name: worker, uid, controller: true };
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: {
      ...{ namespace, name: slice },
      labels: { [labels.managedBy]: OPERATOR_NAME, [labels.endpointGroup]: group },
      ownerReferences: [owner],
    },
    addressType: 'IPv4',
    endpoints: [{ addresses: [WORKER_ADDRESS], conditions: { ready: true } }],
    ports: [{ name: 'http', port, protocol: 'TCP' }],
  } as KubeObject;
}
