import type { EndpointGroup } from '../../../api/v1alpha1/endpoint-group.ts';
import { labels, OPERATOR_NAME } from '../../../api/v1alpha1/names.ts';
import { endpointSliceResource } from '../../../runtime/kube/core-resources.ts';
import { isKubeError } from '../../../runtime/kube/kube-error.ts';
import { type KubeObject, refOf } from '../../../runtime/kube/kube-object.ts';
import type { EndpointSliceObject } from '../../../runtime/kube/service-objects.ts';
import type { Published } from '../types.ts';
import type { Worker } from '../workers/worker.ts';
import type { Endpoint } from './endpoints.ts';
import { samePorts, sliceName, workerSlice } from './service.ts';
import { isFresh, notPermitted, type PublishPorts, type Written } from './written.ts';

/** Being written, or written without an answer: there may be one. */
const UNSURE: Written = { text: 'unsure', at: 0 };

/** A slice for each worker that serves. What somebody else made under the name of one stays as it is. */
export class WorkerSlices {
  readonly #ports: PublishPorts;
  readonly #startedAt: number;
  /** By name of the worker; an empty text: there is none. */
  readonly #slices = new Map<string, Written>();

  constructor(ports: PublishPorts) {
    this.#ports = ports;
    this.#startedAt = ports.clock.now();
  }

  /** Leads the Service to a worker. Undefined where that worked, or was done a short while ago; else what keeps it from it. */
  async ensure(group: EndpointGroup, endpoint: Endpoint): Promise<Published | undefined> {
    const { clock } = this.#ports;
    const { name } = endpoint.worker.metadata;
    const slice = workerSlice(group, endpoint);
    const text = JSON.stringify(slice);
    const known = this.#slices.get(name);
    if (isFresh(known, text, clock.now())) return undefined;
    this.#slices.set(name, UNSURE);
    try {
      const problem = await (known?.text === text ? this.#mendSlice(slice) : this.#writeSlice(slice));
      this.#slices.set(name, { text: problem ? '' : text, at: clock.now() });
      return problem;
    } catch (error) {
      if (isKubeError(error, 'forbidden', 'invalid')) return notPermitted(slice, error);
      throw error;
    }
  }

  /** Leads it there no more. What this process did not see written it looks at first, once. */
  async takeBack(worker: Worker): Promise<void> {
    const known = this.#slices.get(worker.name);
    const isNew = worker.createdAt >= this.#startedAt;
    if (known?.text === '' || (!known && isNew)) return;
    const { cluster, clock } = this.#ports;
    const { namespace, uid } = worker.object.metadata;
    const ref = { namespace, name: sliceName(worker.name) };
    const isSeen = known !== undefined && known !== UNSURE;
    const present = isSeen ? undefined : await cluster.get<KubeObject>(endpointSliceResource, ref);
    if (isSeen || (present && isOurs(present, uid)))
      await cluster.delete(endpointSliceResource, ref, { uid: present?.metadata.uid });
    this.#slices.set(worker.name, { text: '', at: clock.now() });
  }

  /** Forgets all workers but these. */
  keepOnly(workers: readonly Worker[]): void {
    const existing = new Set(workers.map(({ name }) => name));
    for (const name of this.#slices.keys()) if (!existing.has(name)) this.#slices.delete(name);
  }

  async #writeSlice(slice: EndpointSliceObject): Promise<Published | undefined> {
    try {
      await this.#ports.cluster.create(endpointSliceResource, slice);
      return undefined;
    } catch (error) {
      if (!isKubeError(error, 'alreadyExists')) throw error;
      return this.#mendSlice(slice);
    }
  }

  /** Looks before it writes. The type of the addresses cannot be changed: such a slice is made anew. */
  async #mendSlice(slice: EndpointSliceObject): Promise<Published | undefined> {
    const { cluster } = this.#ports;
    const present = await cluster.get<EndpointSliceObject>(endpointSliceResource, refOf(slice));
    if (present && isSameSlice(present, slice)) return undefined;
    if (present && !isOurs(present, ownerOf(slice))) return nameTaken(slice);
    if (present?.addressType !== slice.addressType) {
      if (present) await cluster.delete(endpointSliceResource, refOf(slice), { uid: present.metadata.uid });
      await cluster.create(endpointSliceResource, slice);
      return undefined;
    }
    const { endpoints, ports, metadata } = slice;
    const body = {
      metadata: { labels: metadata.labels, ownerReferences: metadata.ownerReferences },
      endpoints,
      ports,
    };
    await cluster.patch(endpointSliceResource, refOf(slice), { type: 'merge', body });
    return undefined;
  }
}

const ownerOf = ({ metadata }: KubeObject): string | undefined => metadata.ownerReferences?.[0]?.uid;

/** Whether groups made it, for this worker or for one before it under the name; a person may have taken its labels off. */
function isOurs(present: KubeObject, worker: string | undefined): boolean {
  const isLabelled = present.metadata.labels?.[labels.managedBy] === OPERATOR_NAME;
  return isLabelled || (worker !== undefined && ownerOf(present) === worker);
}

function nameTaken({ metadata }: KubeObject): Published {
  const detail = `EndpointSlice ${metadata.name} exists and is not of an EndpointGroup; delete it, so that the Service can lead to that worker.`;
  return { type: 'problem', reason: 'NameTaken', detail };
}

/** The Service that a slice belongs to stands in a label. */
function hasLabels({ metadata }: KubeObject, wanted: KubeObject['metadata']['labels'] = {}): boolean {
  return Object.entries(wanted).every(([name, value]) => metadata.labels?.[name] === value);
}

function isSameSlice(present: EndpointSliceObject, wanted: EndpointSliceObject): boolean {
  const addressOf = (slice: EndpointSliceObject) => slice.endpoints[0]?.addresses[0];
  return (
    present.addressType === wanted.addressType &&
    ownerOf(present) === ownerOf(wanted) &&
    addressOf(present) === addressOf(wanted) &&
    hasLabels(present, wanted.metadata.labels) &&
    present.endpoints[0]?.conditions.ready === true &&
    samePorts(present.ports, wanted.ports)
  );
}
