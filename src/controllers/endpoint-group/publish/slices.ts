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

/** Slice at the last observation by this process. */
interface SeenSlice extends Written {
  /** Undefined if there is none. */
  readonly uid: string | undefined;
}

/** Slice as the API server returns it, possibly after a manual change. An empty list is null. */
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

/** State of a slice during a write, or after a write without an answer: it may exist. */
const UNSURE: SeenSlice = { text: 'unsure', at: 0, uid: undefined };

/** Slices of serving workers. It never changes a slice of another owner. */
export class WorkerSlices {
  readonly #ports: PublishPorts;
  readonly #startedAt: number;
  /** Slices by name of the worker. An empty text means that the operator has no slice there. */
  readonly #slices = new Map<string, SeenSlice>();
  /** Last trial slice that the API server would accept. */
  #accepted: Written | undefined;

  constructor(ports: PublishPorts) {
    this.#ports = ports;
    this.#startedAt = ports.clock.now();
  }

  /**
   * Writes the slice of a worker. Resolves with undefined if it succeeds or was checked recently, or with the
   * problem. Rejects with a KubeError other than `forbidden` and `invalid`.
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
   * Checks by a dry run, before the first rental, whether the API server accepts a slice of the group. Resolves with
   * undefined if it does, or did recently. Stores nothing. Rejects with a KubeError other than `forbidden` and
   * `invalid`.
   */
  async dryRun(group: EndpointGroup): Promise<Published | undefined> {
    const { cluster, clock } = this.#ports;
    const slice = trialSlice(group);
    if (slice === undefined || this.#slices.size > 0) return undefined;
    const text = JSON.stringify(slice);
    if (isFresh(this.#accepted, text, clock.now())) return undefined;
    try {
      await cluster.create(endpointSliceResource, slice, { dryRun: true });
    } catch (error) {
      if (isKubeError(error, 'forbidden', 'invalid')) return { ...notPermitted(slice, error), forAll: true };
      // The API server checks permissions and quota before the name, so the trial passed.
      if (!isKubeError(error, 'alreadyExists')) throw error;
    }
    this.#accepted = { text, at: clock.now() };
    return undefined;
  }

  /** Deletes the slice of a worker. It first reads a slice that this process did not write. */
  async unpublish(worker: Worker): Promise<void> {
    const known = this.#slices.get(worker.name);
    const isNew = worker.createdAt >= this.#startedAt;
    if (known?.text === '' || (!known && isNew)) return;
    const { cluster, clock } = this.#ports;
    const ref = { namespace: worker.object.metadata.namespace, name: sliceName(worker.name) };
    const uid = known?.uid ?? (await this.#uidOfOwned(worker, ref));
    // If the API server rejects the delete, such as for another uid, the next reconcile reads the slice.
    this.#slices.set(worker.name, UNSURE);
    if (uid !== undefined) await cluster.delete(endpointSliceResource, ref, { uid });
    this.#slices.set(worker.name, { text: '', at: clock.now(), uid: undefined });
  }

  async #uidOfOwned(worker: Worker, ref: ObjectRef): Promise<string | undefined> {
    const present = await this.#ports.cluster.get<KubeObject>(endpointSliceResource, ref);
    return present && isOwned(present, worker.object.metadata.uid) ? uidOf(present) : undefined;
  }

  /**
   * Deletes the slices of all other workers and forgets them. A person may have released a serving worker, and the
   * next tenant of its address must not get its traffic.
   */
  async keepOnly(group: EndpointGroup, workers: readonly Worker[]): Promise<void> {
    const existing = new Set(workers.map(({ name }) => name));
    const former = [...this.#slices].filter(([name]) => !existing.has(name));
    await Promise.all(former.map(([name, known]) => this.#forget(group, name, known)));
  }

  /** Deletes the slice of a former worker after a read: another group may own the worker and its slice by now. */
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
      // Another client wrote it in between: the next reconcile reads it.
      if (!isKubeError(error, 'conflict')) throw error;
    }
  }

  /** Writes a slice and resolves with its uid; undefined if another owner has the name. */
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

/** Returns the change for a slice. The API server does not change an address type: such a slice is created again. */
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

/**
 * Returns true if the slice belongs to this worker, or to EndpointGroups by its label. The owner counts if a person
 * removed the label.
 */
function isOwned(present: KubeObject, worker: string | undefined): boolean {
  const isLabelled = present.metadata.labels?.[labels.managedBy] === OPERATOR_NAME;
  return isLabelled || (worker !== undefined && ownerOf(present) === worker);
}

/**
 * Returns true if a group of this name wrote the slice last. `written` is the uid of the slice that this process
 * wrote.
 */
function isOfGroup(present: KubeObject, { metadata }: EndpointGroup, written: string | undefined): boolean {
  const isKnown = uidOf(present) === written;
  const named = present.metadata.labels?.[labels.endpointGroup];
  if (named === undefined) return isKnown;
  return named === metadata.name && (isKnown || isOwned(present, undefined));
}

function nameTaken({ metadata }: KubeObject): Published {
  const detail = `EndpointSlice ${metadata.name} does not belong to an EndpointGroup; delete it so that the Service can reach the worker.`;
  return { type: 'problem', reason: 'NameTaken', detail };
}

/**
 * Returns true if the desired labels or annotations are present: the Service and the price. Others may exist beside
 * them.
 */
function hasAll(
  present: Readonly<Record<string, string>> = {},
  desired: Readonly<Record<string, string>> = {},
): boolean {
  return Object.entries(desired).every(([name, value]) => present[name] === value);
}

/**
 * Returns the endpoints for comparison, with the defaults of the API server: a ready endpoint serves and does not
 * terminate.
 */
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
