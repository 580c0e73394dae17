import type { EndpointGroup } from '../../api/v1alpha1/endpoint-group.ts';
import type { Clock } from '../../lib/clock.ts';
import { parseTime } from '../../lib/time.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { uidOf } from '../../runtime/kube/kube-object.ts';
import type { LoadMaximum, LoadStore } from './load/state.ts';
import { Publisher } from './publish/publisher.ts';
import type { MemoryFields, Refusal } from './types.ts';

/** Asked for until a pass that saw it is on record. What is asked while a pass is under way is for the next one. */
export class PendingRequest {
  #asked = 0;
  #seen = 0;
  #answered = 0;

  ask(): void {
    this.#asked += 1;
  }

  /** Whether it is asked for now. The pass that looks answers this and no more. */
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
  /** Of the object that the last tick judged: another one is judged at once. */
  #judged = '';

  constructor(publisher: Publisher) {
    this.publisher = publisher;
  }

  /** Whether load is to be read and decided about now: a tick is due, or the group is another than was judged. */
  isDue(group: EndpointGroup, now: number, tickMs: number): boolean {
    return !this.fields || isTickDue(this.fields, now, tickMs) || judgedPart(group) !== this.#judged;
  }

  /** A pass is on record. One that ends before that has judged and answered nothing. */
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

  /** A group that is new here goes on from the load in its status. */
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

/** What a decision is made anew for at once: the spec, and what people note. */
function judgedPart({ metadata }: EndpointGroup): string {
  return JSON.stringify([metadata.generation, metadata.annotations]);
}

/** A tick that lies further ahead than one tick was set before the clock was set back. */
function isTickDue({ nextTickAt }: MemoryFields, now: number, tickMs: number): boolean {
  return now >= nextTickAt || nextTickAt > now + tickMs;
}

/**
 * What the status remembers of the load. A steady load writes nothing, so the load of the last write counts as having
 * gone on until now. What a clock that was ahead has written counts as of now: it is forgotten in its time.
 */
export function recordedMaxima({ status }: EndpointGroup, now: number): readonly LoadMaximum[] {
  const recorded = (status?.loadMaxima ?? []).flatMap(({ at, load }) => {
    const time = parseTime(at);
    return time === undefined ? [] : [{ at: Math.min(time, now), load: Number(load) }];
  });
  const last = Number(status?.load ?? 0);
  return last > 0 ? [...recorded, { at: now, load: last }] : recorded;
}
