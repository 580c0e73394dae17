import type { EndpointGroup } from '../../api/v1alpha1/endpoint-group.ts';
import type { Clock } from '../../lib/clock.ts';
import { parseTime } from '../../lib/time.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { uidOf } from '../../runtime/kube/kube-object.ts';
import type { LoadMaximum, LoadStore } from './load/state.ts';
import { Publisher } from './publish/publisher.ts';
import type { MemoryFields, Refusal } from './types.ts';

/** A request that stays open until a reconcile that saw it is recorded. A request during a reconcile is for the next. */
export class PendingRequest {
  #asked = 0;
  #seen = 0;
  #answered = 0;

  ask(): void {
    this.#asked += 1;
  }

  /** True if the request is open. The reconcile that calls this answers the requests until now. */
  see(): boolean {
    this.#seen = this.#asked;
    return this.#seen > this.#answered;
  }

  answer(): void {
    this.#answered = this.#seen;
  }
}

/** Memory of this process about one group. All of it may be lost: workers then stay longer, and nothing is spent. */
export class GroupMemory {
  /** Writes the Service of the group, and remembers what it wrote. */
  readonly publisher: Publisher;
  /** Fields that a decision sees and replaces; undefined before the first. */
  fields: MemoryFields | undefined;
  /** Writes that the API server refused when they were last tried. */
  refused: readonly Refusal[] = [];
  /** A report or command wants a worker now. */
  readonly wake = new PendingRequest();
  /** Figures came after the decision of the tick they belong to. */
  readonly lateFigures = new PendingRequest();
  /** Generation and annotations that the last tick decided on; other ones make a tick due. */
  #judged = '';

  constructor(publisher: Publisher) {
    this.publisher = publisher;
  }

  /** True if a tick is due: its time has come, or the group changed. */
  isDue(group: EndpointGroup, now: number, tickMs: number): boolean {
    return !this.fields || isTickDue(this.fields, now, tickMs) || judgedPart(group) !== this.#judged;
  }

  /** Notes a recorded decision. A reconcile that ends before its record changes no memory. */
  recorded(group: EndpointGroup, fields: MemoryFields): void {
    this.fields = fields;
    this.#judged = judgedPart(group);
    this.wake.answer();
    this.lateFigures.answer();
  }
}

/** The memories of all groups, by uid. */
export class Memories {
  readonly #options: MemoriesOptions;
  readonly #byUid = new Map<string, GroupMemory>();

  constructor(options: MemoriesOptions) {
    this.#options = options;
  }

  /** Memory of a group. A group without one continues from the load in its status. */
  of(group: EndpointGroup): GroupMemory {
    const uid = uidOf(group);
    const known = this.#byUid.get(uid);
    if (known) return known;
    const { cluster, clock, loadStore } = this.#options;
    loadStore.open(uid, recordedMaxima(group, clock.now()));
    const fresh = new GroupMemory(new Publisher({ cluster, clock }));
    this.#byUid.set(uid, fresh);
    return fresh;
  }

  forget(groupUid: string): void {
    this.#byUid.delete(groupUid);
  }
}

interface MemoriesOptions {
  readonly cluster: KubeClient;
  readonly clock: Clock;
  readonly loadStore: LoadStore;
}

/** The parts of a group whose change makes a tick due at once: spec and annotations. */
function judgedPart({ metadata }: EndpointGroup): string {
  return JSON.stringify([metadata.generation, metadata.annotations]);
}

/** True at the time of the tick, and if the clock was set back: then the tick is more than one interval away. */
function isTickDue({ nextTickAt }: MemoryFields, now: number, tickMs: number): boolean {
  return now >= nextTickAt || nextTickAt > now + tickMs;
}

/**
 * Load maxima in the status. A steady load writes nothing, so the load of the last write counts until now. Times ahead of
 * the clock count as now, so that they expire.
 */
export function recordedMaxima({ status }: EndpointGroup, now: number): readonly LoadMaximum[] {
  const recorded = (status?.loadMaxima ?? []).flatMap(({ at, load }) => {
    const time = parseTime(at);
    return time === undefined ? [] : [{ at: Math.min(time, now), load: Number(load) }];
  });
  const last = Number(status?.load ?? 0);
  return last > 0 ? [...recorded, { at: now, load: last }] : recorded;
}
