import type { OtherPickers, QueueSettings, WorkerView } from '../../../src/gateway/group-queue.ts';
import { seededRandom } from '../../../src/lib/random.ts';
import { Chance } from '../chance.ts';
import { playBounded } from './bounded-world.ts';
import { playHeaders } from './header-world.ts';
import { playServed } from './served-world.ts';
import { BrokenPromise, NO_MORE_LIMITS, WatchedQueue } from './watched-queue.ts';

const STEPS = 120;
/** More than any world needs to come to its end. */
const ROUNDS_TO_END = 1000;

interface Letter {
  readonly at: number;
  readonly picker: WatchedQueue;
  readonly others: OtherPickers;
}

/** Some pickers of one group, its workers and its callers, all drawn from a seed, under a clock of its own. */
class GatewayWorld {
  readonly #chance: Chance;
  readonly #pickers: readonly WatchedQueue[];
  readonly #asked = new Map<WatchedQueue, Set<string>>();
  readonly #left = new Set<string>();
  readonly #callers: number;
  readonly #sessions: number;
  /** The share of requests that may go to some workers only. */
  readonly #subsets: number;
  #settings: QueueSettings;
  #workers: readonly WorkerView[] = [];
  #letters: readonly Letter[] = [];
  #now = 0;
  #count = 0;

  constructor(seed: number) {
    this.#chance = new Chance(seededRandom(seed));
    this.#settings = {
      holdMs: this.#chance.oneOf([2_000, 40_000, 90_000]),
      maxHeld: this.#chance.oneOf([1, 3, 1000]),
      ...NO_MORE_LIMITS,
      maxQueueTimeMs: this.#chance.oneOf([0, 2_000, 10_000]),
      expectedPerf: this.#chance.oneOf([undefined, 1, 4]),
    };
    this.#callers = this.#chance.upTo(4);
    this.#sessions = this.#chance.oneOf([0, 0, 3]);
    this.#subsets = this.#chance.oneOf([0, 0, 0.3, 1]);
    const homes = new Map<string, string>();
    const count = this.#chance.upTo(3);
    this.#pickers = Array.from({ length: count }, () => new WatchedQueue(this.#settings, homes));
    for (const picker of this.#pickers) this.#asked.set(picker, new Set());
  }

  play(): void {
    for (let step = 0; step < STEPS; step += 1) {
      this.#step();
      if (this.#chance.isWithin(0.6)) this.#pass(this.#chance.oneOf([1, 40, 900, 5_000, 20_000]));
    }
    this.#end();
  }

  #step(): void {
    this.#chance.doOneOf([
      [8, () => this.#arrive()],
      [1, () => this.#burst()],
      [7, () => this.#finish()],
      [2, () => this.#leave()],
      [2, () => this.#come()],
      [1, () => this.#drain()],
      [1, () => this.#vanish()],
      [2, () => this.#exchange()],
      [0.5, () => this.#block()],
      [1, () => this.#unblock()],
      [0.5, () => this.#configure()],
      [1, () => this.#picker().tick(this.#now)],
      [1, () => this.#repeat()],
    ]);
  }

  #picker(): WatchedQueue {
    const [first, ...rest] = this.#pickers;
    if (!first) throw new Error('a world has a picker');
    return this.#chance.oneOf([first, ...rest]);
  }

  /** Returns a random item, or undefined if there is none. */
  #any<T>(items: readonly T[]): T | undefined {
    return items[this.#chance.below(items.length)];
  }

  #arrive(picker = this.#picker()): void {
    this.#count += 1;
    const id = `r${this.#count}`;
    this.#asked.get(picker)?.add(id);
    const session = this.#sessions > 0 ? `s${this.#chance.upTo(this.#sessions)}` : undefined;
    // Most requests are of the first caller.
    const caller = `c${this.#chance.upTo(this.#chance.upTo(this.#callers))}`;
    const subset = this.#chance.isWithin(this.#subsets) ? this.#subset() : undefined;
    picker.arrive({ id, work: this.#chance.upTo(6), caller, session, subset }, this.#now);
  }

  /** Returns a random subset of workers; some subsets are empty or contain workers that no longer exist. */
  #subset(): readonly string[] {
    const names = this.#workers.map(({ name }) => name);
    const from = this.#chance.below(names.length + 1);
    return names.slice(from, from + this.#chance.upTo(3));
  }

  #burst(): void {
    const picker = this.#picker();
    for (let count = this.#chance.upTo(8); count > 0; count -= 1) this.#arrive(picker);
  }

  #finish(picker = this.#picker()): void {
    const one = this.#any(picker.running());
    if (!one) return;
    const [first] = one.candidates;
    const worker = this.#chance.oneOf([first, first, first, this.#any(one.candidates), undefined]);
    const work = this.#chance.isWithin(0.5) ? this.#chance.below(12) : undefined;
    const isComplete = this.#chance.isWithin(0.9);
    picker.end(one.id, { worker, failed: this.#chance.isWithin(0.2), work, isComplete }, this.#now);
  }

  #leave(): void {
    const picker = this.#picker();
    const id = this.#any(picker.held());
    if (id === undefined) return;
    this.#left.add(id);
    picker.leave(id, this.#now);
  }

  /** Ends and cancels finished requests again, as a broken connection does. */
  #repeat(): void {
    const picker = this.#picker();
    const running = new Set(picker.running().map(({ id }) => id));
    const id = this.#any(picker.answered().filter((each) => !running.has(each)));
    if (id === undefined) return;
    picker.end(id, { worker: undefined, failed: false, work: 3 }, this.#now);
    picker.leave(id, this.#now);
  }

  #come(): void {
    this.#count += 1;
    const pricePerHour = this.#chance.oneOf([undefined, 400_000, 700_000]);
    const worker = { name: `w${this.#count}`, ready: true, pricePerHour };
    if (this.#workers.length < 6) this.#publish([...this.#workers, worker]);
  }

  #drain(): void {
    const one = this.#any(this.#workers);
    this.#publish(this.#workers.map((each) => (each === one ? { ...each, ready: !each.ready } : each)));
  }

  #vanish(): void {
    const one = this.#any(this.#workers);
    this.#publish(this.#chance.isWithin(0.3) ? [] : this.#workers.filter((each) => each !== one));
  }

  #publish(workers: readonly WorkerView[]): void {
    this.#workers = workers;
    for (const picker of this.#pickers) picker.setWorkers(workers, this.#now);
  }

  /** Sends the current state of the other pickers, which arrives later. */
  #exchange(): void {
    const picker = this.#picker();
    const others = WatchedQueue.sharedBy(this.#pickers.filter((each) => each !== picker));
    const at = this.#now + this.#chance.oneOf([50, 1_000, 6_000]);
    this.#letters = [...this.#letters, { at, picker, others }];
  }

  #block(): void {
    const blocked = { reason: 'NoOffers', message: 'There is none.' };
    for (const picker of this.#pickers) picker.setBlocked(blocked, this.#now);
  }

  #unblock(): void {
    for (const picker of this.#pickers) picker.setBlocked(undefined, this.#now);
  }

  #configure(): void {
    const maxQueueTimeMs = this.#chance.oneOf([0, 2_000, 10_000]);
    const holdMs = this.#chance.oneOf([2_000, 40_000, 90_000]);
    this.#settings = { ...this.#settings, maxQueueTimeMs, holdMs };
    for (const picker of this.#pickers) picker.configure(this.#settings, this.#now);
  }

  /** Advances the clock and runs everything that falls due. */
  #pass(ms: number): void {
    const until = this.#now + ms;
    for (;;) {
      const due = Math.min(
        ...this.#pickers.map((picker) => picker.nextAt() ?? Number.POSITIVE_INFINITY),
        ...this.#letters.map(({ at }) => at),
      );
      if (due > until) break;
      if (due < this.#now) throw new BrokenPromise('dueTime', `${due} is over at ${this.#now}`);
      this.#now = due;
      this.#doWhatIsDue();
    }
    this.#now = until;
  }

  #doWhatIsDue(): void {
    const due = this.#letters.filter(({ at }) => at <= this.#now);
    this.#letters = this.#letters.filter(({ at }) => at > this.#now);
    for (const { picker, others } of due) picker.setOthers(others, this.#now);
    for (const picker of this.#pickers) if (picker.nextAt() === this.#now) picker.tick(this.#now);
  }

  /** Finishes all requests: every one was answered or cancelled. */
  #end(): void {
    for (let round = 0; round < ROUNDS_TO_END; round += 1) {
      const busy = this.#pickers.find((picker) => picker.running().length > 0);
      if (busy) this.#finish(busy);
      else this.#pass(1_000);
      if (this.#pickers.every((picker) => picker.running().length + picker.held().length === 0)) break;
    }
    for (const picker of this.#pickers) {
      const answered = new Set(picker.answered());
      const lost = [...(this.#asked.get(picker) ?? [])].filter(
        (id) => !answered.has(id) && !this.#left.has(id),
      );
      if (lost.length > 0) throw new BrokenPromise('noneLost', lost.join());
    }
  }
}

/** Number of other worlds per served world, which takes as long as many of them. */
const OTHERS_PER_SERVED = 6;

/** Plays the worlds of a seed; the promise that broke in them, if one did. What else is thrown breaks `noError`. */
export function playGateway(seed: number): BrokenPromise | undefined {
  try {
    new GatewayWorld(seed).play();
    playBounded(seed);
    playHeaders(seed);
    if (seed % OTHERS_PER_SERVED === 0) playServed(seed);
    return undefined;
  } catch (error) {
    return error instanceof BrokenPromise ? error : new BrokenPromise('noError', String(error));
  }
}
