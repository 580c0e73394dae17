import type { QueueSettings } from '../../../src/gateway/group-queue.ts';
import { seededRandom } from '../../../src/lib/random.ts';
import { Chance } from '../chance.ts';
import { BrokenPromise, NO_MORE_LIMITS, type Running, WatchedQueue } from './watched-queue.ts';

const STEP_MS = 100;
const SECOND = 1000;
const PHASE_MS = 60_000;
const MAX_QUEUE_MS = 4_000;
const MAX_WORK = 4;
/** A server that takes requests one by one, one with small batches, and one that has them all in its batch. */
const SLOTS = [1, 4, Number.POSITIVE_INFINITY] as const;
/**
 * A measured speed is true within these bounds. Eight requests of 1 to 5 units differ from eight others by a fifth, one of
 * two figures counts where a request may have been done before or not, and a step of this world is a tenth of a second.
 */
const TRUE_FROM = 0.6;
const TRUE_TO = 1.4;
/**
 * Behind several pickers, of a worker that has requests wait: it takes one picker's after the other's, so that they have had
 * all of it while they had a part of its work. A measurement lasts for a round of its requests; the rest is chance.
 */
const IN_TURN_TO = 2.2;
/**
 * Minimum share of the true speed that is measured for workers whose single requests take longer than they may wait.
 * Such a worker does 4 units a second with ten requests of 2.5 units. With a limit of 16 expected, it gets 6 to 8
 * requests, which is two thirds of its speed; the short ones finish first, so sometimes half of that is measured.
 * Given less for it, the worker cannot show more, so this is the lowest value.
 */
const SLOW_FROM = 0.25;
/**
 * Work that callers may get more than others: a request, and what those under way are misjudged by. Up to 60 of them are,
 * each by -1, 0 or 1, which is 6 for one deviation together.
 */
const MISJUDGED = 30;
/** Factor by which a worker's limit differs between pickers that measured its speed at different times. */
const SLACK = 1.5;

/** A machine: the requests that it works at go on at the same rate, which is its own speed at most together. */
interface Machine {
  readonly name: string;
  readonly speed: number;
  /** Requests that it works at; others wait in it, in the order of their arrival. */
  readonly slots: number;
  /** The most that one request gets of it. */
  readonly perRequest: number;
  readonly requests: Map<string, Job>;
  /** The highest that a picker has let it have. */
  limit: number;
}

interface Job {
  readonly id: string;
  readonly picker: WatchedQueue;
  readonly caller: string;
  readonly work: number;
  left: number;
}

/**
 * Workers that do their work at a speed of their own, behind pickers that share them. Callers keep more requests waiting
 * than there is room for, then few come, one at a time. At the end all speeds are true, callers got the same, and the work
 * reported is the work done.
 */
class ServedWorld {
  readonly #chance: Chance;
  readonly #settings: QueueSettings;
  readonly #pickers: readonly WatchedQueue[];
  readonly #machines: Machine[] = [];
  readonly #sessions: boolean;
  /** Requests take longer than `maxQueueTime` by themselves. */
  readonly #isSlow: boolean;
  readonly #real = new Map<string, Job>();
  /** Work that callers got by each picker while both had requests waiting. */
  readonly #served = new Map<WatchedQueue, Map<string, number>>();
  #done = 0;
  #now = 0;
  #count = 0;

  constructor(seed: number) {
    this.#chance = new Chance(seededRandom(seed));
    this.#isSlow = this.#chance.isWithin(0.25);
    this.#sessions = this.#chance.isWithin(0.3);
    const expectedPerf = this.#isSlow ? 4 : this.#chance.oneOf([undefined, 1, 4, 8]);
    this.#settings = {
      holdMs: 600_000,
      maxHeld: 1000,
      ...NO_MORE_LIMITS,
      maxQueueTimeMs: MAX_QUEUE_MS,
      expectedPerf,
    };
    const homes = new Map<string, string>();
    this.#pickers = Array.from(
      { length: this.#isSlow ? 1 : this.#chance.upTo(3) },
      () => new WatchedQueue(this.#settings, homes),
    );
    const speed = this.#chance.oneOf([3, 4, 6]);
    for (let count = this.#chance.upTo(3); count > 0; count -= 1) this.#build(count, speed);
  }

  play(): void {
    const isQuietFirst = this.#chance.isWithin(0.5);
    if (isQuietFirst) {
      this.#publish();
      this.#pass(PHASE_MS, () => this.#trickle());
    }
    this.#pass(SECOND, () => this.#crowd());
    this.#publish();
    this.#pass(2 * PHASE_MS, () => this.#crowd());
    this.#judgeShares();
    const isFull = this.#settings.expectedPerf !== undefined;
    // One worker shows first how long requests take while it has little to do.
    const isCompared = isQuietFirst && this.#machines.length === 1;
    this.#judgeSpeeds(this.#pickers.length === 1 && (isFull || isCompared));
    this.#pass(PHASE_MS, () => this.#trickle());
    this.#judgeSpeeds(false);
    this.#judgeWork();
  }

  #build(count: number, speed: number): void {
    this.#machines.push({
      name: `w${count}`,
      // Some are of another kind.
      speed: this.#isSlow ? 4 : this.#chance.oneOf([speed, speed, 2 * speed]),
      slots: this.#isSlow ? Number.POSITIVE_INFINITY : this.#chance.oneOf(SLOTS),
      perRequest: this.#isSlow ? 0.4 : Number.POSITIVE_INFINITY,
      requests: new Map(),
      limit: 0,
    });
  }

  #publish(): void {
    const workers = this.#machines.map(({ name }) => ({ name, ready: true }));
    for (const picker of this.#pickers) picker.setWorkers(workers, this.#now);
    this.#start();
  }

  #pass(ms: number, each: () => void): void {
    for (const until = this.#now + ms; this.#now < until; this.#now += STEP_MS) {
      each();
      this.#start();
      for (const machine of this.#machines) this.#work(machine);
      if (this.#now % SECOND === 0) this.#exchange();
    }
  }

  /** Adds requests of two callers, one with more than the other, each with at least enough to fill all workers. */
  #crowd(): void {
    const room = this.#machines.reduce((sum, { speed }) => sum + (speed * MAX_QUEUE_MS) / SECOND, 0);
    const fitting = Math.ceil(room / this.#pickers.length / 2) + 2;
    for (const picker of this.#pickers) {
      for (const [caller, most] of [
        ['a', 2 * fitting],
        ['b', fitting],
      ] as const) {
        const open = [...this.#real.values()].filter((job) => job.picker === picker && job.caller === caller);
        for (let count = open.length; count < most; count += 1) this.#arrive(picker, caller);
      }
    }
  }

  #trickle(): void {
    if (this.#now % (2 * SECOND) === 0) this.#arrive(this.#any(this.#pickers), 'a');
  }

  #arrive(picker: WatchedQueue, caller: string): void {
    this.#count += 1;
    const id = `r${this.#count}`;
    const estimate = this.#chance.upTo(MAX_WORK);
    const work = Math.max(0, estimate + this.#chance.below(3) - 1);
    this.#real.set(id, { id, picker, caller, work, left: work });
    const session = this.#sessions ? `s${this.#chance.upTo(5)}` : undefined;
    picker.arrive({ id, work: estimate, caller, session }, this.#now);
    this.#start();
  }

  #any<T>(items: readonly T[]): T {
    const [first] = items;
    const one = items[this.#chance.below(items.length)] ?? first;
    if (one === undefined) throw new Error('a world has one');
    return one;
  }

  /** Sends picked requests to their machines. */
  #start(): void {
    for (const picker of this.#pickers)
      for (const running of picker.newlyRunning()) this.#take(picker, running);
  }

  #take(picker: WatchedQueue, { id, candidates: [name] }: Running): void {
    const machine = this.#machines.find((each) => each.name === name);
    const job = this.#real.get(id);
    if (!machine || !job) throw new BrokenPromise('answerToHeld', `${id} for ${name}`);
    machine.requests.set(id, job);
    this.#judgeLimit(machine, picker);
    if (picker.heldByCaller().size < 2) return;
    const served = this.#served.get(picker) ?? new Map<string, number>();
    served.set(job.caller, (served.get(job.caller) ?? 0) + job.work);
    this.#served.set(picker, served);
  }

  /** Checks that a worker exceeds its limit by at most one request of each picker. */
  #judgeLimit(machine: Machine, picker: WatchedQueue): void {
    const limit = ((picker.speed(machine.name) ?? Number.POSITIVE_INFINITY) * MAX_QUEUE_MS) / SECOND;
    machine.limit = Math.max(machine.limit, limit);
    const all = this.#pickers.reduce((sum, each) => sum + (each.workOfWorkers().get(machine.name) ?? 0), 0);
    const isKept = all <= SLACK * machine.limit + this.#pickers.length * MAX_WORK;
    if (!isKept) throw new BrokenPromise('sharedLimit', `${machine.name} has ${all} of ${machine.limit}`);
  }

  #work({ name, requests, speed, slots, perRequest }: Machine): void {
    const served = Math.min(slots, requests.size);
    const each = Math.min(perRequest, speed / Math.max(1, served)) * (STEP_MS / SECOND);
    const worked = [...requests.values()].slice(0, served);
    for (const job of worked) job.left -= each;
    for (const { id, left, picker, work } of worked) {
      if (left > 0) continue;
      requests.delete(id);
      this.#real.delete(id);
      this.#done += work;
      picker.end(id, { worker: name, failed: false, work }, this.#now);
      this.#start();
    }
  }

  /** Shares the current state of all pickers at once. */
  #exchange(): void {
    const shared = this.#pickers.map((picker) => ({
      picker,
      others: WatchedQueue.sharedBy(this.#pickers.filter((other) => other !== picker)),
    }));
    for (const { picker, others } of shared) {
      picker.setOthers(others, this.#now);
      this.#start();
    }
  }

  /** Checks that both callers got the same while both waited, apart from wrongly estimated requests in flight. */
  #judgeShares(): void {
    for (const served of this.#served.values()) {
      const [a, b] = [served.get('a') ?? 0, served.get('b') ?? 0];
      if (Math.abs(a - b) > MISJUDGED) throw new BrokenPromise('fairShare', `a got ${a}, b ${b}`);
    }
  }

  /** Checks the largest of the measured speeds, which the operator and the pickers use. */
  #judgeSpeeds(areMeasured: boolean): void {
    for (const { name, speed, slots } of this.#machines) {
      const most = slots < Number.POSITIVE_INFINITY && this.#pickers.length > 1 ? IN_TURN_TO : TRUE_TO;
      const measured = this.#pickers.flatMap((picker) => picker.speeds().get(name) ?? []);
      if (measured.length === 0) {
        if (areMeasured) throw new BrokenPromise('measured', `${name} was not`);
        continue;
      }
      const share = Math.max(...measured) / speed;
      if (share < (this.#isSlow ? SLOW_FROM : TRUE_FROM) || share > most)
        throw new BrokenPromise('trueSpeed', `${name} does ${speed}, and not ${measured.join()}`);
    }
  }

  #judgeWork(): void {
    this.#pass(3 * PHASE_MS, () => {});
    const left = this.#pickers.reduce(
      (sum, picker) => sum + picker.held().length + picker.running().length,
      0,
    );
    if (left > 0) throw new BrokenPromise('noneLost', `${left} are left`);
    const reported = this.#pickers.reduce((sum, picker) => sum + picker.reportedWork(), 0);
    if (reported !== this.#done) throw new BrokenPromise('sums', `${reported} reported, ${this.#done} done`);
  }
}

/** Plays the served world of a seed; see `playGateway`. */
export function playServed(seed: number): void {
  new ServedWorld(seed).play();
}
