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

/** Where it is written. */
export interface PublishPorts {
  readonly cluster: KubeClient;
  readonly clock: Clock;
}

/** Somebody may have changed what was written: it is looked at again after this time. */
const RECHECK_MS = 600_000;

/** An object as this process last wrote it, as JSON, and when on `clock.now()`. */
export interface Written {
  readonly text: string;
  readonly at: number;
}

/** Whether that very text was written a short while ago: then there is nothing to do. */
export function isFresh(written: Written | undefined, text: string, now: number): boolean {
  return written?.text === text && now - written.at < RECHECK_MS;
}

export function notPermitted(
  { kind, metadata }: KubeObject,
  error: Error,
): Extract<Published, { type: 'problem' }> {
  return notPermittedTo(`${kind} ${metadata.name} cannot be written`, error);
}

/** Says what cannot be done, and why the API server does not do it. */
export function notPermittedTo(what: string, { message }: Error): Extract<Published, { type: 'problem' }> {
  return { type: 'problem', reason: 'NotPermitted', detail: `${what}: ${message}`.slice(0, 1024) };
}

/** The sort of the problem; undefined where there is none. */
export function problemOf(published: Published): string | undefined {
  return published.type === 'problem' ? published.reason : undefined;
}

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

/** The slice that leads the Service to one worker. It goes with the worker. */
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

/** An address for texts (RFC 5737), which the API server accepts. */
const TEXT_ADDRESS = '192.0.2.1';

/** A slice as one of a worker would be, under a name that none has; undefined where the template declares no port. */
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
 * Whether every other group that owns the Service declares the ports of this one, as the API server knows it now. A
 * group that is gone or is being deleted has no say, and neither has an owner that is no group. Rejects with a
 * KubeError.
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

/** By a list of one: the operator has the right to list groups, and none to get them. */
async function readGroup(
  cluster: Pick<KubeClient, 'list'>,
  { namespace, name }: ObjectRef,
): Promise<EndpointGroup | undefined> {
  const fieldSelector = `metadata.name=${name}`;
  const { items } = await cluster.list<EndpointGroup>(endpointGroupResource, { namespace, fieldSelector });
  return items[0];
}

/** A Service whose name someone else holds is tried again after this time. */
export const TRY_AGAIN_MS = 15_000;

/** One group's part in the Service of its endpoint name, which other groups may own as well. */
export class SharedService {
  readonly #ports: PublishPorts;
  /** Names that the group had before its `endpointName` was changed, as far as its status told. */
  readonly #former = new Set<string>();
  #service: (Written & { readonly published: Published }) | undefined;

  constructor(ports: PublishPorts) {
    this.#ports = ports;
  }

  /**
   * Makes or joins the Service, or leaves it where the template declares no port. Says what keeps the group from it;
   * rejects where the API server does not answer.
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

  /** Gives up the group's part; the last group takes the Service away. */
  async withdraw(group: EndpointGroup): Promise<void> {
    this.#noteFormer(group);
    await this.leaveFormer(group);
    await this.#leave(group, endpointNameOf(group));
  }

  /** To be called once the Service of the present name leads to the workers. */
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
            detail: `Service ${name} exists and is not of an EndpointGroup; delete it, or set endpointName.`,
          };
        case 'refused':
          return {
            type: 'problem',
            reason: 'NameTaken',
            detail: `Service ${name} is shared and has other ports than the template of this group; give all its groups the same ports.`,
          };
      }
    } catch (error) {
      if (!isKubeError(error, 'forbidden', 'invalid')) throw error;
      return notPermitted(desired, error);
    }
  }
}

/** What adds the group to the owners and gives the Service its ports; refused if other owners declare other ports. */
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
