import type { EndpointGroup } from '../../../api/v1alpha1/endpoint-group.ts';
import { annotations, endpointGroupResource, labels, OPERATOR_NAME } from '../../../api/v1alpha1/names.ts';
import { linkOfWorker } from '../../../api/v1alpha1/worker-link.ts';
import type { Clock } from '../../../lib/clock.ts';
import { sameJson } from '../../../lib/json.ts';
import { formatDollars } from '../../../lib/money.ts';
import type { OwnerReference } from '../../../lib/object-meta.ts';
import { type ChildChange, ensureChild } from '../../../runtime/ensure-child.ts';
import {
  type EndpointSliceObject,
  type ServiceObject,
  type ServicePort,
  serviceResource,
} from '../../../runtime/kube/core-resources.ts';
import type { KubeClient } from '../../../runtime/kube/kube-client.ts';
import { isKubeError } from '../../../runtime/kube/kube-error.ts';
import {
  controllerReference,
  type KubeObject,
  type ObjectRef,
  uidOf,
} from '../../../runtime/kube/kube-object.ts';
import type { Published } from '../types.ts';
import { type Endpoint, endpointNameOf, hasGateway, servicePorts } from './endpoints.ts';

/** Clients of the publisher. */
export interface PublishPorts {
  readonly cluster: KubeClient;
  readonly clock: Clock;
}

/** Interval of checks, since a person may change a written object. */
const RECHECK_MS = 600_000;

/** JSON of an object at its last write by this process, with the time on `clock.now()`. */
export interface Written {
  readonly text: string;
  readonly at: number;
}

/** Returns true if this process wrote the same text within the check interval. */
export function isFresh(written: Written | undefined, text: string, now: number): boolean {
  return written?.text === text && now - written.at < RECHECK_MS;
}

export function notPermitted(
  { kind, metadata }: KubeObject,
  error: Error,
): Extract<Published, { type: 'problem' }> {
  return notPermittedTo(`Cannot write ${kind} ${metadata.name}`, error);
}

/** Returns the problem of a refused request, with the message of the API server. */
export function notPermittedTo(what: string, { message }: Error): Extract<Published, { type: 'problem' }> {
  return { type: 'problem', reason: 'NotPermitted', detail: `${what}: ${message}`.slice(0, 1024) };
}

/** Returns the reason of the problem; undefined if there is none. */
export function problemOf(published: Published): string | undefined {
  return published.type === 'problem' ? published.reason : undefined;
}

/** Returns the Service, without a selector; undefined if the template declares no port. */
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

/** Returns the owner reference of a group that does not control the Service, since several groups may own it. */
export function sharedOwner(group: EndpointGroup): OwnerReference {
  const { apiVersion, kind, name, uid } = controllerReference(group);
  return { apiVersion, kind, name, uid };
}

/** Returns true if EndpointGroups own a Service of this name, by its labels. */
export function isGroupService(service: KubeObject): boolean {
  const { labels: given = {}, name } = service.metadata;
  return given[labels.managedBy] === OPERATOR_NAME && given[labels.endpointName] === name;
}

/**
 * Returns true if both have the same ports, in any order. It ignores defaults of the API server, and a missing list
 * is empty.
 */
export function samePorts(
  present: readonly ServicePort[] | null | undefined,
  desired: readonly ServicePort[],
): boolean {
  const plain = (ports: readonly ServicePort[]) =>
    ports
      .map(({ name, port, protocol }) => ({ name, port, protocol }))
      .sort((left, right) => (left.name < right.name ? -1 : 1));
  return sameJson(plain(present ?? []), plain(desired));
}

export function sliceName(workerName: string): string {
  return `${workerName}-endpoint`;
}

/** Returns the slice of one worker. The worker owns it. */
export function workerSlice(
  group: EndpointGroup,
  { worker, isDraining, pricePerHour, ...endpoint }: Endpoint,
): EndpointSliceObject {
  const conditions = isDraining ? { ready: false, serving: true, terminating: true } : { ready: true };
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
        [labels.instanceUid]: uidOf(worker),
        ...(linkOfWorker(worker) === 'TLS' && { [labels.link]: 'TLS' }),
      },
      ...(hasGateway(group) &&
        pricePerHour !== undefined && {
          annotations: { [annotations.pricePerHour]: formatDollars(pricePerHour) },
        }),
      ownerReferences: [controllerReference(worker)],
    },
    addressType: endpoint.addressType,
    endpoints: [{ addresses: [endpoint.address], conditions }],
    ports: endpoint.ports,
  };
}

/** Address for documentation (RFC 5737), which the API server accepts. */
const TEXT_ADDRESS = '192.0.2.1';

/**
 * Returns a slice like that of a worker, under a name that no worker has; undefined if the template declares no port.
 */
export function trialSlice(group: EndpointGroup): EndpointSliceObject | undefined {
  const ports = servicePorts(group);
  const { namespace, name } = group.metadata;
  if (ports.length === 0) return undefined;
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: {
      name: sliceName(name),
      namespace,
      labels: {
        [labels.serviceName]: endpointNameOf(group),
        [labels.sliceManagedBy]: OPERATOR_NAME,
        [labels.managedBy]: OPERATOR_NAME,
        [labels.endpointGroup]: name,
      },
      ownerReferences: [sharedOwner(group)],
    },
    addressType: 'IPv4',
    endpoints: [{ addresses: [TEXT_ADDRESS], conditions: { ready: false } }],
    ports,
  };
}

/**
 * Returns true if every other group that owns the Service declares the ports of this one. It reads them from the API
 * server. Groups that are deleted or being deleted do not count, nor do other owners. Rejects with a KubeError.
 */
export async function doOthersAgree(
  cluster: Pick<KubeClient, 'list'>,
  group: EndpointGroup,
  { metadata }: KubeObject,
): Promise<boolean> {
  const { namespace, ownerReferences = [] } = metadata;
  for (const { name, uid } of ownerReferences) {
    if (uid === group.metadata.uid) continue;
    const other = await readGroup(cluster, { namespace, name });
    if (other?.metadata.uid === uid && !agrees(other, group)) return false;
  }
  return true;
}

function agrees(other: EndpointGroup, group: EndpointGroup): boolean {
  return (
    other.metadata.deletionTimestamp !== undefined || samePorts(servicePorts(other), servicePorts(group))
  );
}

/** Reads a group by a list with a field selector: the operator has no permission to get groups. */
async function readGroup(
  cluster: Pick<KubeClient, 'list'>,
  { namespace, name }: ObjectRef,
): Promise<EndpointGroup | undefined> {
  const fieldSelector = `metadata.name=${name}`;
  const { items } = await cluster.list<EndpointGroup>(endpointGroupResource, { namespace, fieldSelector });
  return items[0];
}

/** Retry interval for a Service whose name another owner has. */
export const TRY_AGAIN_MS = 15_000;

/** Share of one group in the Service of its endpoint name. */
export class SharedService {
  readonly #ports: PublishPorts;
  /** Earlier endpoint names of the group, from its status. */
  readonly #former = new Set<string>();
  #service: (Written & { readonly published: Published }) | undefined;

  constructor(ports: PublishPorts) {
    this.#ports = ports;
  }

  /**
   * Creates or joins the Service, or leaves it if the template declares no port. Resolves with the result; rejects if
   * the API server fails.
   */
  async ensure(group: EndpointGroup): Promise<Published> {
    this.#noteFormer(group);
    const desired = groupService(group);
    const text = JSON.stringify(desired ?? 'none');
    const now = this.#ports.clock.now();
    const known = this.#service;
    if (known && isFresh(known, text, now) && !this.#isDueAgain(known)) return known.published;
    const published = await (desired ? this.#writeService(group, desired) : this.#goWithout(group));
    this.#service = { text, at: this.#ports.clock.now(), published };
    return published;
  }

  /** Removes the group from the owners of its Services. The last group deletes the Service. */
  async withdraw(group: EndpointGroup): Promise<void> {
    this.#noteFormer(group);
    await this.leaveFormer(group);
    await this.#leave(group, endpointNameOf(group));
  }

  /** Leaves the Services of earlier names. Call it after the present Service reaches the workers. */
  async leaveFormer(group: EndpointGroup): Promise<void> {
    for (const name of this.#former) {
      await this.#leave(group, name);
      this.#former.delete(name);
    }
  }

  #noteFormer(group: EndpointGroup): void {
    const [recorded] = group.status?.endpoint?.split('.') ?? [];
    if (recorded !== undefined) this.#former.add(recorded);
    this.#former.delete(endpointNameOf(group));
  }

  async #leave(group: EndpointGroup, name: string): Promise<void> {
    const { cluster } = this.#ports;
    const ref = { namespace: group.metadata.namespace, name };
    const present = await cluster.get<ServiceObject>(serviceResource, ref);
    const owners = present?.metadata.ownerReferences ?? [];
    if (!present || !owners.some(({ uid }) => uid === group.metadata.uid)) return;
    const others = owners.filter(({ uid }) => uid !== group.metadata.uid);
    const { uid, resourceVersion } = present.metadata;
    if (others.length === 0) {
      await cluster.delete(serviceResource, ref, { uid, resourceVersion });
      return;
    }
    const body = { metadata: { resourceVersion, ownerReferences: others } };
    await cluster.patch(serviceResource, ref, { type: 'merge', body });
  }

  async #goWithout(group: EndpointGroup): Promise<Published> {
    await this.#leave(group, endpointNameOf(group));
    return { type: 'done' };
  }

  #isDueAgain({ published, at }: { readonly published: Published; readonly at: number }): boolean {
    return published.type === 'problem' && this.#ports.clock.now() - at >= TRY_AGAIN_MS;
  }

  async #writeService(group: EndpointGroup, desired: ServiceObject): Promise<Published> {
    const { cluster } = this.#ports;
    const { name } = desired.metadata;
    try {
      const outcome = await ensureChild<ServiceObject, ServiceObject>({
        client: cluster,
        resource: serviceResource,
        child: desired,
        mayExist: true,
        isOwned: isGroupService,
        change: (present) => changeToJoin(cluster, group, { present, desired }),
      });
      switch (outcome.type) {
        case 'done':
          return { type: 'done' };
        case 'notOwned':
          return {
            type: 'problem',
            reason: 'NameTaken',
            detail: `Service ${name} does not belong to an EndpointGroup; delete it, or set endpointName.`,
          };
        case 'refused':
          return {
            type: 'problem',
            reason: 'NameTaken',
            detail: `Service ${name} is shared and has other ports than the template; declare the same ports in all its groups.`,
          };
      }
    } catch (error) {
      if (!isKubeError(error, 'forbidden', 'invalid')) throw error;
      return notPermitted(desired, error);
    }
  }
}

/**
 * Returns the change that adds the group to the owners and sets the ports; refused if another owner declares other
 * ports.
 */
async function changeToJoin(
  cluster: Pick<KubeClient, 'list'>,
  group: EndpointGroup,
  { present, desired }: { readonly present: ServiceObject; readonly desired: ServiceObject },
): Promise<ChildChange> {
  const { resourceVersion, ownerReferences: owners = [] } = present.metadata;
  const isOwner = owners.some(({ uid }) => uid === group.metadata.uid);
  const hasPorts = samePorts(present.spec.ports, desired.spec.ports);
  if (!hasPorts && !(await doOthersAgree(cluster, group, present))) return { type: 'refuse' };
  if (isOwner && hasPorts) return { type: 'none' };
  const body = {
    metadata: { resourceVersion, ...(!isOwner && { ownerReferences: [...owners, sharedOwner(group)] }) },
    ...(!hasPorts && { spec: { ports: desired.spec.ports } }),
  };
  return { type: 'patch', body };
}
