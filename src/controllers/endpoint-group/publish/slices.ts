import type { EndpointGroup } from '../../../api/v1alpha1/endpoint-group.ts';
import { labels, OPERATOR_NAME } from '../../../api/v1alpha1/names.ts';
import { sameJson } from '../../../lib/json.ts';
import { type ChildChange, ensureChild } from '../../../runtime/ensure-child.ts';
import { type EndpointSliceObject, endpointSliceResource } from '../../../runtime/kube/core-resources.ts';
import { isKubeError } from '../../../runtime/kube/kube-error.ts';
import { type KubeObject, type ObjectRef, uidOf } from '../../../runtime/kube/kube-object.ts';
import type { Published } from '../types.ts';
import type { Worker } from '../workers/worker.ts';
import type { Endpoint } from './endpoints.ts';
import {
  isFresh,
  notPermitted,
  type PublishPorts,
  samePorts,
  sliceName,
  trialSlice,
  type Written,
  workerSlice,
} from './service.ts';

/** A slice as this process last saw it. */
interface SeenSlice extends Written {
  /** Undefined where there is none. */
  readonly uid: string | undefined;
}

/** A slice as somebody may have left it: the API server shows an empty list as null. */
interface PresentSlice extends KubeObject {
  readonly addressType: EndpointSliceObject['addressType'];
  readonly endpoints:
    | readonly {
        readonly addresses: readonly string[];
        readonly conditions?: {
          readonly ready?: boolean | null;
          readonly serving?: boolean | null;
          readonly terminating?: boolean | null;
        };
      }[]
    | null;
  readonly ports: EndpointSliceObject['ports'] | null;
}

/** Being written, or written without an answer: there may be one. */
const UNSURE: SeenSlice = { text: 'unsure', at: 0, uid: undefined };

/** A slice for each worker that serves. What somebody else made under the name of one stays as it is. */
export class WorkerSlices {
  readonly #ports: PublishPorts;
  readonly #startedAt: number;
  /** By name of the worker; an empty text: there is none of ours. */
  readonly #slices = new Map<string, SeenSlice>();
  /** The slice that could have been written, with `alreadyExists` as a yes. */
  #tried: Written | undefined;

  constructor(ports: PublishPorts) {
    this.#ports = ports;
    this.#startedAt = ports.clock.now();
  }

  /**
   * Leads the Service to a worker. Undefined if that worked, or was done a short while ago; else what prevents it.
   * Rejects with a KubeError other than `forbidden` and `invalid`.
   */
  async ensure(group: EndpointGroup, endpoint: Endpoint): Promise<Published | undefined> {
    const { clock } = this.#ports;
    const { name } = endpoint.worker.metadata;
    const slice = workerSlice(group, endpoint);
    const text = JSON.stringify(slice);
    const known = this.#slices.get(name);
    if (isFresh(known, text, clock.now())) return undefined;
    this.#slices.set(name, UNSURE);
    try {
      const uid = await this.#writeSlice(slice, known?.text === text);
      this.#slices.set(name, { text: uid === undefined ? '' : text, at: clock.now(), uid });
      return uid === undefined ? nameTaken(slice) : undefined;
    } catch (error) {
      if (isKubeError(error, 'forbidden', 'invalid')) return notPermitted(slice, error);
      throw error;
    }
  }

  /**
   * Asks the API server, before a first worker is rented, whether a slice of the group could be written. Undefined if it
   * could, or if it was asked before. Stores nothing. Rejects with a KubeError other than `forbidden` and `invalid`.
   */
  async tryOne(group: EndpointGroup): Promise<Published | undefined> {
    const { cluster, clock } = this.#ports;
    const slice = trialSlice(group);
    if (slice === undefined || this.#slices.size > 0) return undefined;
    const text = JSON.stringify(slice);
    if (isFresh(this.#tried, text, clock.now())) return undefined;
    try {
      await cluster.create(endpointSliceResource, slice, { dryRun: true });
    } catch (error) {
      if (isKubeError(error, 'forbidden', 'invalid')) return { ...notPermitted(slice, error), forAll: true };
      // Rights and quota come before the name, which no worker has.
      if (!isKubeError(error, 'alreadyExists')) throw error;
    }
    this.#tried = { text, at: clock.now() };
    return undefined;
  }

  /** Leads it there no more. What this process did not see written it looks at first, once. */
  async takeBack(worker: Worker): Promise<void> {
    const known = this.#slices.get(worker.name);
    const isNew = worker.createdAt >= this.#startedAt;
    if (known?.text === '' || (!known && isNew)) return;
    const { cluster, clock } = this.#ports;
    const ref = { namespace: worker.object.metadata.namespace, name: sliceName(worker.name) };
    const uid = known?.uid ?? (await this.#uidOfOwned(worker, ref));
    // Where the delete is refused, as for another one under the name, the next pass looks.
    this.#slices.set(worker.name, UNSURE);
    if (uid !== undefined) await cluster.delete(endpointSliceResource, ref, { uid });
    this.#slices.set(worker.name, { text: '', at: clock.now(), uid: undefined });
  }

  async #uidOfOwned(worker: Worker, ref: ObjectRef): Promise<string | undefined> {
    const present = await this.#ports.cluster.get<KubeObject>(endpointSliceResource, ref);
    return present && isOwned(present, worker.object.metadata.uid) ? uidOf(present) : undefined;
  }

  /**
   * Forgets all workers but these, and leads to none of the others any more: a person may have released one that
   * serves, and who has its address next would get the traffic.
   */
  async keepOnly(group: EndpointGroup, workers: readonly Worker[]): Promise<void> {
    const existing = new Set(workers.map(({ name }) => name));
    const former = [...this.#slices].filter(([name]) => !existing.has(name));
    await Promise.all(former.map(([name, known]) => this.#forget(group, name, known)));
  }

  /** Looks before it deletes: the worker may be another group's by now, and that slice leads to it there. */
  async #forget(group: EndpointGroup, worker: string, known: SeenSlice): Promise<void> {
    const { cluster } = this.#ports;
    const ref = { namespace: group.metadata.namespace, name: sliceName(worker) };
    const present = known.text === '' ? undefined : await cluster.get<KubeObject>(endpointSliceResource, ref);
    try {
      if (present && isOfGroup(present, group, known.uid)) {
        const { uid, resourceVersion } = present.metadata;
        await cluster.delete(endpointSliceResource, ref, { uid, resourceVersion });
      }
      this.#slices.delete(worker);
    } catch (error) {
      // Somebody wrote it just then; the next pass looks at what it is now.
      if (!isKubeError(error, 'conflict')) throw error;
    }
  }

  /** The uid of what stands there now; undefined where it is somebody else's. */
  async #writeSlice(slice: EndpointSliceObject, mayExist: boolean): Promise<string | undefined> {
    const outcome = await ensureChild<EndpointSliceObject, PresentSlice>({
      client: this.#ports.cluster,
      resource: endpointSliceResource,
      child: slice,
      mayExist,
      isOwned: (present) => isOwned(present, ownerOf(slice)),
      change: (present) => changeOf(present, slice),
    });
    return outcome.type === 'done' ? uidOf(outcome.object) : undefined;
  }
}

/** The type of the addresses cannot be changed: such a slice is made anew. */
function changeOf(present: PresentSlice, slice: EndpointSliceObject): ChildChange {
  if (isSameSlice(present, slice)) return { type: 'none' };
  if (present.addressType !== slice.addressType) return { type: 'recreate' };
  const { endpoints, ports, metadata } = slice;
  const { labels: marks, annotations, ownerReferences } = metadata;
  return {
    type: 'patch',
    body: { metadata: { labels: marks, annotations, ownerReferences }, endpoints, ports },
  };
}

const ownerOf = ({ metadata }: KubeObject): string | undefined => metadata.ownerReferences?.[0]?.uid;

/** Whether groups made it, for this worker or for one before it under the name; a person may have taken its labels off. */
function isOwned(present: KubeObject, worker: string | undefined): boolean {
  const isLabelled = present.metadata.labels?.[labels.managedBy] === OPERATOR_NAME;
  return isLabelled || (worker !== undefined && ownerOf(present) === worker);
}

/** Whether a group of this name wrote it last; `written` is the uid of the slice as this process wrote it. */
function isOfGroup(present: KubeObject, { metadata }: EndpointGroup, written: string | undefined): boolean {
  const isKnown = uidOf(present) === written;
  const named = present.metadata.labels?.[labels.endpointGroup];
  if (named === undefined) return isKnown;
  return named === metadata.name && (isKnown || isOwned(present, undefined));
}

function nameTaken({ metadata }: KubeObject): Published {
  const detail = `EndpointSlice ${metadata.name} exists and is not of an EndpointGroup; delete it, so that the Service can lead to that worker.`;
  return { type: 'problem', reason: 'NameTaken', detail };
}

/** The Service that a slice belongs to stands in a label, the price in an annotation. Others may add their own. */
function hasAll(
  present: Readonly<Record<string, string>> = {},
  desired: Readonly<Record<string, string>> = {},
): boolean {
  return Object.entries(desired).every(([name, value]) => present[name] === value);
}

/** What the API server fills in does not matter, nor does what is left out: one that is ready serves, and none terminates. */
function plainEndpoints({ endpoints }: PresentSlice): unknown {
  return endpoints?.map(({ addresses, conditions: { ready, serving, terminating } = {} }) => ({
    ...{ addresses, ready, serving: serving ?? ready, terminating: terminating ?? false },
  }));
}

function isSameSlice(present: PresentSlice, desired: EndpointSliceObject): boolean {
  return (
    present.addressType === desired.addressType &&
    ownerOf(present) === ownerOf(desired) &&
    hasAll(present.metadata.labels, desired.metadata.labels) &&
    hasAll(present.metadata.annotations, desired.metadata.annotations) &&
    sameJson(plainEndpoints(present), plainEndpoints(desired)) &&
    samePorts(present.ports, desired.ports)
  );
}
