import type { EndpointGroup } from '../../api/v1alpha1/endpoint-group.ts';
import type { Clock } from '../../lib/clock.ts';
import { parseTime } from '../../lib/time.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { uidOf } from '../../runtime/kube/kube-object.ts';
import type { LoadMaximum, LoadStore } from './load/state.ts';
import { Publisher } from './publish/publisher.ts';
import type { MemoryFields, Refusal } from './types.ts';

/** Request that stays open until a reconcile that saw it is recorded. A request during a reconcile waits for the next. */
export class PendingRequest {
  #asked = 0;
  #seen = 0;
  #answered = 0;

  ask(): void {
    this.#asked += 1;
  }

  /** Returns true if the request is open. The calling reconcile answers all requests until now. */
  see(): boolean {
    this.#seen = this.#asked;
    return this.#seen > this.#answered;
  }

  answer(): void {
    this.#answered = this.#seen;
  }
}

/** Memory of this process about one group. If it is lost, workers stay longer and nothing is rented. */
export class GroupMemory {
  /** Writes the Service of the group, and remembers what it wrote. */
  readonly publisher: Publisher;
  /** Input of the next decision, which replaces it; undefined before the first. */
  fields: MemoryFields | undefined;
  /** Writes whose last attempt the API server rejected. */
  refused: readonly Refusal[] = [];
  /** Request for a worker by a report or a command. */
  readonly wake = new PendingRequest();
  /** Request for a decision by figures that arrived after the decision of their tick. */
  readonly lateFigures = new PendingRequest();
  /** Generation and annotations of the last tick; a change makes a tick due. */
  #judged = '';

  constructor(publisher: Publisher) {
    this.publisher = publisher;
  }

  /** Returns true if a tick is due: by time, or after a change of the group. */
  isDue(group: EndpointGroup, now: number, tickMs: number): boolean {
    return !this.fields || isTickDue(this.fields, now, tickMs) || judgedPart(group) !== this.#judged;
  }

  /** Stores a recorded decision. A reconcile that fails before its record changes no memory. */
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

  /** Returns the memory of a group. A new one continues from the load in the status. */
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

/** Returns the parts of a group whose change makes a tick due: spec and annotations. */
function judgedPart({ metadata }: EndpointGroup): string {
  return JSON.stringify([metadata.generation, metadata.annotations]);
}

/** Returns true at the time of the tick, or if the clock was set back, so that the tick is over one interval ahead. */
function isTickDue({ nextTickAt }: MemoryFields, now: number, tickMs: number): boolean {
  return now >= nextTickAt || nextTickAt > now + tickMs;
}

/**
 * Returns the load maxima of the status. A constant load causes no write, so the load of the last write counts until
 * now. Times in the future count as now, so that they expire.
 */
export function recordedMaxima({ status }: EndpointGroup, now: number): readonly LoadMaximum[] {
  const recorded = (status?.loadMaxima ?? []).flatMap(({ at, load }) => {
    const time = parseTime(at);
    return time === undefined ? [] : [{ at: Math.min(time, now), load: Number(load) }];
  });
  const last = Number(status?.load ?? 0);
  return last > 0 ? [...recorded, { at: now, load: last }] : recorded;
}
