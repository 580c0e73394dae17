import type { EndpointGroup } from '../../../api/v1alpha1/endpoint-group.ts';
import { labels, OPERATOR_NAME } from '../../../api/v1alpha1/names.ts';
import { sameJson } from '../../../lib/json.ts';
import type { OwnerReference } from '../../../lib/object-meta.ts';
import type {
  EndpointSliceObject,
  ServiceObject,
  ServicePort,
} from '../../../runtime/kube/core-resources.ts';
import { controllerReference, type KubeObject } from '../../../runtime/kube/kube-object.ts';
import { type Endpoint, endpointNameOf, servicePorts } from './endpoints.ts';

/** The Service without a selector; undefined where the template declares no port. */
export function groupService(group: EndpointGroup): ServiceObject | undefined {
  const ports = servicePorts(group);
  if (ports.length === 0) return undefined;
  const name = endpointNameOf(group);
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: {
      name,
      namespace: group.metadata.namespace,
      labels: { [labels.managedBy]: OPERATOR_NAME, [labels.endpointName]: name },
      ownerReferences: [sharedOwner(group)],
    },
    spec: { ports },
  };
}

/** Several groups may own one Service, so none of them controls it. */
export function sharedOwner(group: EndpointGroup): OwnerReference {
  const { apiVersion, kind, name, uid } = controllerReference(group);
  return { apiVersion, kind, name, uid };
}

/** Whether a Service of the name was made for groups, and is not someone else's. */
export function isGroupService(service: KubeObject): boolean {
  const { labels: given = {}, name } = service.metadata;
  return given[labels.managedBy] === OPERATOR_NAME && given[labels.endpointName] === name;
}

/** Whether both lead by the same ports, in any order; what the API server fills in does not matter, and no list is an empty one. */
export function samePorts(
  present: readonly ServicePort[] | null | undefined,
  wanted: readonly ServicePort[],
): boolean {
  const plain = (ports: readonly ServicePort[]) =>
    ports
      .map(({ name, port, protocol }) => ({ name, port, protocol }))
      .sort((left, right) => (left.name < right.name ? -1 : 1));
  return sameJson(plain(present ?? []), plain(wanted));
}

export function sliceName(workerName: string): string {
  return `${workerName}-endpoint`;
}

/** The slice that leads the Service to one worker. It goes with the worker. */
export function workerSlice(group: EndpointGroup, { worker, ...endpoint }: Endpoint): EndpointSliceObject {
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: {
      name: sliceName(worker.metadata.name),
      namespace: group.metadata.namespace,
      labels: {
        [labels.serviceName]: endpointNameOf(group),
        [labels.sliceManagedBy]: OPERATOR_NAME,
        [labels.managedBy]: OPERATOR_NAME,
        [labels.endpointGroup]: group.metadata.name,
      },
      ownerReferences: [controllerReference(worker)],
    },
    addressType: endpoint.addressType,
    endpoints: [{ addresses: [endpoint.address], conditions: { ready: true } }],
    ports: endpoint.ports,
  };
}
