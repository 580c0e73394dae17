import { type Effect, GroupQueue, type QueueSettings } from '../../../src/gateway/group-queue.ts';
import { seededRandom } from '../../../src/lib/random.ts';
import { Chance } from '../chance.ts';
import { BrokenPromise } from './watched-queue.ts';

const STEPS = 200;
const KIB = 1024;
/** From the headers of a request to the part of its body that is read. */
const BODY_DEADLINE_MS = 30_000;
const UNLIMITED = 1_000_000;

/** A request in the books of this world. */
interface Asked {
  readonly id: string;
  readonly caller: string;
  readonly bytes: number;
  readonly since: number;
  /** True while its body has not been read. */
  isReading: boolean;
}

/**
 * Group whose callers exceed its limits: many requests, large ones, and bodies that never arrive. Separate books
 * check the queue after each event: no limit is exceeded, a caller with less than others keeps its place, and a
 * request counts before its body is read.
 */
class BoundedWorld {
  readonly #chance: Chance;
  readonly #settings: QueueSettings;
  readonly #queue: GroupQueue;
  readonly #held = new Map<string, Asked>();
  readonly #running: string[] = [];
  #workers = 0;
  #now = 0;
  #count = 0;

  constructor(seed: number) {
    this.#chance = new Chance(seededRandom(seed));
    this.#settings = {
      holdMs: this.#chance.oneOf([20_000, 600_000]),
      maxHeld: this.#chance.oneOf([4, 12, UNLIMITED]),
      maxHeldPerClient: this.#chance.oneOf([undefined, undefined, 1, 3]),
      maxHeldBytes: this.#chance.oneOf([200, 700, 2_000]) * KIB,
      maxQueueTimeMs: 2_000,
      expectedPerf: 1,
    };
    this.#queue = new GroupQueue(this.#settings);
  }

  play(): void {
    for (let step = 0; step < STEPS; step += 1) {
      this.#chance.doOneOf([
        [10, () => this.#arrive()],
        [2, () => this.#flood()],
        [5, () => this.#read()],
        [2, () => this.#leave()],
        [3, () => this.#finish()],
        [1, () => this.#setWorkers(this.#chance.below(3))],
        [0.5, () => this.#shed()],
      ]);
      if (this.#chance.isWithin(0.4)) this.#pass(this.#chance.oneOf([10, 3_000, 12_000]));
    }
  }

  /** Adds a request. The first caller sends most of them, and large ones. */
  #arrive(caller = this.#chance.below(4)): void {
    this.#count += 1;
    const id = `r${this.#count}`;
    const isReading = this.#chance.isWithin(caller === 0 ? 0.7 : 0.3);
    const bytes = this.#chance.oneOf(caller === 0 ? [192, 192, 64] : [64, 65, 100]) * KIB;
    const one = { id, caller: `c${caller}`, bytes, since: this.#now, isReading };
    this.#held.set(id, one);
    const work = isReading ? undefined : 1;
    this.#judge(this.#queue.arrive({ id, work, bytes, caller: one.caller }, this.#now), id);
  }

  #flood(): void {
    for (let count = this.#chance.upTo(12); count > 0; count -= 1) this.#arrive(0);
  }

  #read(): void {
    const one = this.#any([...this.#held.values()].filter(({ isReading }) => isReading));
    if (!one) return;
    one.isReading = false;
    this.#judge(this.#queue.count(one.id, this.#chance.upTo(3), this.#now));
  }

  #leave(): void {
    const one = this.#any([...this.#held.values()]);
    if (!one) return;
    this.#held.delete(one.id);
    this.#queue.leave(one.id);
    this.#check();
  }

  #finish(): void {
    const id = this.#running.shift();
    if (id === undefined) return;
    this.#judge(this.#queue.end(id, { worker: undefined, failed: false }, this.#now));
  }

  #setWorkers(count: number): void {
    this.#workers = count;
    const workers = Array.from({ length: count }, (_, index) => ({ name: `w${index}`, ready: true }));
    this.#judge(this.#queue.setWorkers(workers, this.#now));
  }

  /** Sheds one request, as the picker does if all groups together exceed the limit. */
  #shed(): void {
    const before = this.#held.size;
    this.#judge(this.#queue.shed('too much'), undefined, 'bytes');
    this.#demand('bytesHeld', before === 0 || this.#held.size < before, 'nothing was shed');
  }

  #pass(ms: number): void {
    const until = this.#now + ms;
    for (;;) {
      const due = this.#queue.nextAt();
      if (due === undefined || due > until) break;
      this.#now = Math.max(due, this.#now);
      const before = this.#held.size;
      this.#judge(this.#queue.tick(this.#now));
      if (before === this.#held.size && this.#queue.nextAt() === due)
        throw new BrokenPromise('dueTime', `nothing is done at ${due}`);
    }
    this.#now = until;
    this.#check();
  }

  #judge(effects: readonly Effect[], arrived?: string, shed?: 'bytes'): void {
    for (const effect of effects) {
      if (effect.type === 'wake') {
        const isNeeded = [...this.#held.values()].some(({ isReading }) => !isReading);
        this.#demand('neededWake', isNeeded, 'only bodies are read, and they may never end');
        continue;
      }
      const one = this.#held.get(effect.id);
      if (!one) throw new BrokenPromise('answerToHeld', `${effect.id} does not wait`);
      if (effect.type === 'pick') {
        this.#demand('readFirst', !one.isReading, `${one.id} was picked for before its body was read`);
        this.#running.push(one.id);
      } else if (effect.refusal.code === 'body_timeout') {
        const age = this.#now - one.since;
        this.#demand('bodyDeadline', one.isReading && age >= BODY_DEADLINE_MS, `${one.id} after ${age} ms`);
      } else if (effect.refusal.code === 'queue_full') this.#judgeFull(one, arrived, shed);
      this.#held.delete(one.id);
    }
    this.#check();
  }

  /**
   * Checks that a caller was evicted only if it exceeds its own limit, or if no other caller uses more of what is
   * full.
   */
  #judgeFull(one: Asked, arrived: string | undefined, shed: 'bytes' | undefined): void {
    const { maxHeldPerClient: own = UNLIMITED, maxHeld, maxHeldBytes } = this.#settings;
    if (shed === undefined && this.#of(one.caller).length > own) {
      this.#demand('starved', this.#held.get(arrived ?? '')?.caller === one.caller, `${one.id} gives way`);
      return;
    }
    const byCount = shed === undefined && this.#held.size > maxHeld;
    this.#demand(
      'refusedForNothing',
      shed !== undefined || byCount || this.#bytes() > maxHeldBytes,
      `${one.id} is refused with ${this.#held.size} held, ${this.#bytes()} bytes`,
    );
    const amount = (caller: string): number =>
      byCount ? this.#of(caller).length : this.#bytes(this.#of(caller));
    const callers = [...new Set([...this.#held.values()].map(({ caller }) => caller))];
    const most = Math.max(...callers.map(amount));
    this.#demand('starved', amount(one.caller) === most, `${one.caller} gives way, and has not the most`);
  }

  /** Bounds that hold between events. */
  #check(): void {
    const { maxHeld, maxHeldPerClient = UNLIMITED, maxHeldBytes } = this.#settings;
    const all = [...this.#held.values()];
    this.#demand('bytesHeld', this.#bytes() <= maxHeldBytes, `${this.#bytes()} of ${maxHeldBytes}`);
    this.#demand(
      'bytesHeld',
      this.#queue.heldBytes() === this.#bytes(),
      `${this.#queue.heldBytes()} counted`,
    );
    this.#demand('maxHeld', all.length <= maxHeld, `${all.length} of ${maxHeld}`);
    for (const { caller } of all)
      this.#demand('clientHeld', this.#of(caller).length <= maxHeldPerClient, `${caller} is over its limit`);
    this.#demand('countedFirst', this.#queue.heldRequests() === all.length, `${all.length} are held`);
    const late = all.find(({ isReading, since }) => isReading && this.#now - since >= BODY_DEADLINE_MS);
    this.#demand('bodyDeadline', late === undefined, `${late?.id} waits for its body after the deadline`);
  }

  #bytes(all: readonly Asked[] = [...this.#held.values()]): number {
    return all.reduce((sum, { bytes }) => sum + bytes, 0);
  }

  #of(caller: string): readonly Asked[] {
    return [...this.#held.values()].filter((each) => each.caller === caller);
  }

  #any<T>(items: readonly T[]): T | undefined {
    return items[this.#chance.below(items.length)];
  }

  #demand(invariant: string, holds: boolean, detail: string): void {
    if (!holds) throw new BrokenPromise(invariant, `${detail} (${this.#workers} workers)`);
  }
}

/** Plays the bounded world of a seed; see `playGateway`. */
export function playBounded(seed: number): void {
  new BoundedWorld(seed).play();
}
