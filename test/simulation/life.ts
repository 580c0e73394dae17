import { seededRandom } from '../../src/lib/random.ts';
import { Invariants } from './invariants.ts';
import type { Machine } from './machine.ts';
import type { Fate } from './network.ts';
import { minding } from './oracle/faults.ts';
import type { Outcome } from './outcome.ts';
import { type Effect, fateOf, isEffect, nameOfCall, type Strike } from './plan.ts';
import { Users } from './users.ts';
import { type FateOf, SimulatedWorld } from './world.ts';

/** Action of a person at a second of an object's life. */
export interface UserAct {
  readonly second: number;
  readonly what: string;
  readonly act: (users: Users) => void;
}

/** Subject of a life: a GpuInstance named `a`, or an EndpointGroup named `group` with its workers. */
export type Subject = 'instance' | 'group';

export interface LifeOptions {
  readonly subject?: Subject;
  /** Strikes by the index of the effect they hit. */
  readonly strikes: ReadonlyMap<number, Strike>;
  readonly acts: readonly UserAct[];
  readonly keepTrace: boolean;
}

export interface LifeResult extends Outcome {
  readonly effects: readonly Effect[];
  /** Indexes of the strikes that found their effect. */
  readonly hit: ReadonlySet<number>;
}

const SECOND = 1000;
const STEP_SECONDS = 10;
/** Second by which everything must be gone: the longest settle time, backoff and cache audit together. */
const MAX_SECONDS = 2400;
const STALE_MS = 30 * SECOND;
const FIRST_LOAD = 150;

/** Plays the life of one object and its children from creation to end, with the given strikes at the given effects. */
export function runLife(options: LifeOptions): Promise<LifeResult> {
  return new Life(options).run();
}

class Life {
  readonly #options: LifeOptions;
  readonly #world: SimulatedWorld;
  readonly #users: Users;
  readonly #invariants: Invariants;
  readonly #effects: Effect[] = [];
  readonly #hit = new Set<number>();
  #hides = 0;
  /** Process whose watch is affected; a process that starts later reads the whole state. */
  #hidesFrom: Machine | undefined;
  #staleUntil = 0;

  constructor(options: LifeOptions) {
    this.#options = options;
    this.#world = new SimulatedWorld({
      seed: 1,
      keepTrace: options.keepTrace,
      fate: (call) => this.#fate(call),
    });
    this.#users = new Users(this.#world, seededRandom(1));
    this.#invariants = new Invariants(this.#world, { strict: true });
  }

  run(): Promise<LifeResult> {
    return minding(this.#invariants, () => this.#run());
  }

  async #run(): Promise<LifeResult> {
    const world = this.#world;
    const begin = world.now;
    this.#users.account.create('Report');
    if (this.#options.subject === 'group') this.#users.groups.create('group', FIRST_LOAD);
    else this.#users.createInstance('a');
    world.startProcess();
    for (const act of this.#options.acts)
      world.scheduler.after(act.second * SECOND, () => this.#userActs(act));
    const lastAct = this.#options.acts.at(-1)?.second ?? 0;
    for (let second = STEP_SECONDS; second <= MAX_SECONDS; second += STEP_SECONDS) {
      await world.scheduler.runUntil(begin + second * SECOND, () => this.#check());
      if (second > lastAct && this.#isOver()) break;
    }
    this.#invariants.checkConverged();
    return {
      effects: this.#effects,
      hit: this.#hit,
      violations: this.#invariants.violations,
      wastedSeconds: [...this.#invariants.wastedMs.values()].map((ms) => ms / SECOND),
      trace: world.trace.lines,
      traceHash: world.trace.digest(),
      virtualSeconds: world.second,
    };
  }

  #check(): boolean {
    this.#invariants.check();
    return this.#invariants.violations.length === 0;
  }

  #isOver(): boolean {
    if (this.#invariants.violations.length > 0) return true;
    const { contracts } = this.#world.market.store.current().tables;
    const left = [...this.#users.names(), ...this.#users.groups.names(), ...Object.keys(contracts)];
    return left.length === 0;
  }

  #fate(call: Parameters<FateOf>[0]): Fate {
    const fate = this.#fateOf(call);
    this.#invariants.sent(call, fate);
    return fate;
  }

  #fateOf({ side, machine, request }: Parameters<FateOf>[0]): Fate {
    if (request.path.includes('watch=true')) return this.#watchFate(machine);
    if (!isEffect(request)) return { requestMs: 2, responseMs: 2 };
    const what = nameOfCall(request);
    const strike = this.#reached({ side, what });
    if (!strike) return { requestMs: 2, responseMs: 2 };
    this.#world.note(`${machine.name}: ${strike} at ${what}`);
    return fateOf(strike, side);
  }

  /** Counts an effect and says what strikes it. */
  #reached(effect: Omit<Effect, 'index'>): Strike | undefined {
    const index = this.#effects.length;
    this.#effects.push({ index, ...effect });
    const strike = this.#options.strikes.get(index);
    if (!strike) return undefined;
    this.#hit.add(index);
    if (strike === 'hide') {
      this.#hides += 1;
      this.#hidesFrom = this.#world.processes[0]?.machine;
    }
    if (strike === 'stale') this.#staleUntil = this.#world.now + STALE_MS;
    return strike;
  }

  #watchFate(machine: Machine): Fate {
    return {
      requestMs: 2,
      responseMs: 2,
      chunkDelayMs: () => Math.max(0, this.#staleUntil - this.#world.now),
      dropChunk: () => {
        if (this.#hides === 0 || machine !== this.#hidesFrom) return false;
        this.#hides -= 1;
        this.#invariants.hindered();
        return true;
      },
    };
  }

  #userActs({ what, act }: UserAct): void {
    const strike = this.#reached({ side: 'user', what });
    if (strike) this.#world.note(`${strike} at ${what}`);
    act(this.#users);
  }
}
