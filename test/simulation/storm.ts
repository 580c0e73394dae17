import type { Random } from '../../src/lib/random.ts';
import type { Installer } from './installer.ts';
import type { Invariants } from './invariants.ts';
import { type LongFaultPlan, LongFaults } from './long-faults.ts';
import type { Machine } from './machine.ts';
import type { Fate } from './network.ts';
import type { RunWhims } from './run-whims.ts';
import { payIn } from './stories/acts.ts';
import type { Users } from './users.ts';
import { type Climate, causeFault, clearFaults, drawMarketFault, fateIn } from './weather.ts';
import type { Whims } from './whims.ts';
import type { FateOf, SimulatedWorld } from './world.ts';
import { WrongFacts } from './wrong-facts.ts';

type Call = Parameters<FateOf>[0];

/** Fault of a schedule: its sequence number and kind. */
export interface Fault {
  readonly index: number;
  readonly kind: string;
}

export interface StormOptions {
  readonly world: SimulatedWorld;
  readonly climate: Climate;
  readonly random: Random;
  readonly invariants: Invariants;
  readonly whims: Whims;
  readonly installer: Installer;
  readonly users: Users;
  readonly seed: number;
  /** Without a sweeper. */
  readonly isStrict: boolean;
  /** Replies have wrong facts. */
  readonly hasWrongFacts: boolean;
  readonly plan: LongFaultPlan;
  /** Runs and their faults; undefined in a schedule without any. */
  readonly runs: RunWhims | undefined;
  /** Filters the faults that may strike (default: all). */
  readonly allow?: ((fault: Fault) => boolean) | undefined;
}

const SECOND = 1000;
/** For how long an account may be without credit. */
const NO_CREDIT_MS = 200 * SECOND;
/** Mean seconds between two actions on runs. */
const RUN_EVERY = 18;

/** Source of all faults of a schedule, drawn from one seed: calls, processes, clocks, hosts and people. */
export class Storm {
  readonly #options: StormOptions;
  readonly #world: SimulatedWorld;
  readonly #random: Random;
  readonly #invariants: Invariants;
  readonly #longFaults: LongFaults;
  readonly #wrongFacts: WrongFacts;
  #lasts = true;
  #drawn = 0;
  readonly #faults: Fault[] = [];

  constructor(options: StormOptions) {
    this.#options = options;
    this.#world = options.world;
    this.#random = options.random;
    this.#invariants = options.invariants;
    const strikes = (kind: string) => this.#lasts && this.#strikes(kind);
    this.#longFaults = new LongFaults({ ...options, strikes });
    this.#wrongFacts = new WrongFacts({ ...options, strikes, lasts: () => this.#lasts });
  }

  /** The faults that struck, in order. */
  get faults(): readonly Fault[] {
    return this.#faults;
  }

  begin(): void {
    this.#longFaults.begin();
    if (this.#options.hasWrongFacts) this.#wrongFacts.begin();
    const {
      marketFaultEvery,
      killEvery,
      freezeEvery,
      clockJumpEvery,
      compactEvery,
      userEvery,
      installEvery,
    } = this.#options.climate;
    this.#every(marketFaultEvery, 'marketFault', () => this.#marketFault());
    this.#every(killEvery, 'kill', () => this.#kill());
    this.#every(freezeEvery, 'freeze', () => this.#freeze());
    this.#every(clockJumpEvery, 'clockJump', () => this.#jumpClock());
    this.#every(compactEvery, 'compact', () => this.#world.forgetHistory());
    this.#every(userEvery, 'user', () => this.#options.whims.act());
    this.#every(installEvery, 'install', () => this.#options.installer.act());
    const { runs } = this.#options;
    if (runs) this.#every(RUN_EVERY, 'run', () => runs.act());
  }

  /** Ends all faults for good. */
  end(): void {
    this.#lasts = false;
    this.#world.note('the faults stop');
    clearFaults(this.#world);
    this.#options.whims.settle();
    this.#options.runs?.settle();
    this.#options.installer.settle();
    for (const { machine } of this.#world.processes) {
      if (machine.wallSkewMs !== 0) this.#invariants.clockJumped();
      machine.wallSkewMs = 0;
    }
  }

  /** Returns the time by which everything must be converged, given the recovery time after the last fault. */
  recoversUntil(calmFrom: number, recoveryMs: number): number {
    return this.#longFaults.recoversUntil(calmFrom, recoveryMs);
  }

  /** Returns the fate of a call. */
  fateOf(call: Call): Fate {
    const met = this.#lasts ? this.#options.runs?.fateOf(call) : undefined;
    if (met) return met;
    return this.#lasts
      ? this.#longFaults.fateOf(call, this.#climateOf(call))
      : { requestMs: 2, responseMs: 2 };
  }

  #climateOf(call: Call): Fate {
    const quiet = { requestMs: 2, responseMs: 2 };
    const { fate, name } = fateIn(this.#options.climate, this.#random, call);
    if (name === undefined) return fate;
    if (!this.#strikes(name)) return quiet;
    // A second machine of one request is known by its label alone.
    if (fate.duplicateAfterMs !== undefined && call.side === 'market' && !this.#world.has('labels'))
      return quiet;
    const path = call.request.path.split('?')[0];
    this.#world.note(
      `${call.machine.name}: ${name} at ${call.request.method} ${path} (fault ${this.#drawn})`,
    );
    return this.#whileItLasts(fate, call);
  }

  /** Limits chunk faults to the storm: a stream outlives it. */
  #whileItLasts(fate: Fate, { machine, request }: Call): Fate {
    const { chunkDelayMs, dropChunk } = fate;
    return {
      ...fate,
      ...(chunkDelayMs ? { chunkDelayMs: () => (this.#lasts ? chunkDelayMs() : 0) } : {}),
      ...(dropChunk && {
        // An API server never leaves out an object of a list, so none of the initial state is lost.
        dropChunk: (isInitial) => !isInitial && this.#lasts && this.#drops(dropChunk, machine, request),
      }),
    };
  }

  #drops(dropChunk: NonNullable<Fate['dropChunk']>, machine: Machine, { path }: Call['request']): boolean {
    const isDropped = dropChunk(false);
    if (isDropped) this.#invariants.missedEvent(machine, path);
    return isDropped;
  }

  #every(meanSeconds: number, kind: string, act: () => void): void {
    if (meanSeconds === 0) return;
    const wait = -Math.log(1 - this.#random.next()) * meanSeconds * SECOND;
    this.#world.scheduler.after(wait, () => {
      if (!this.#lasts) return;
      if (this.#strikes(kind)) act();
      this.#every(meanSeconds, kind, act);
    });
  }

  #marketFault(): void {
    const { contracts } = this.#world.market.store.current().tables;
    const ids = Object.keys(contracts)
      .map(Number)
      .filter((id) => !this.#invariants.isForeign(id));
    const fault = drawMarketFault(ids, this.#random);
    if (fault['name'] === 'destroyed-elsewhere')
      this.#invariants.destroyedElsewhere(Number(fault['instance']));
    if (fault['name'] === 'credit-out')
      this.#world.scheduler.after(this.#random.next() * NO_CREDIT_MS, () => payIn(this.#world));
    void causeFault(this.#world, fault);
  }

  #anyProcess() {
    const { processes } = this.#world;
    return processes[Math.floor(this.#random.next() * processes.length)];
  }

  #kill(): void {
    const process = this.#anyProcess();
    if (process) this.#world.crash(process.machine, 'by SIGKILL');
  }

  #freeze(): void {
    const process = this.#anyProcess();
    if (!process) return;
    const seconds = 5 + this.#random.next() * 60;
    this.#world.note(`${process.machine.name} freezes for ${seconds.toFixed(0)} s`);
    process.machine.freeze(seconds * SECOND);
    this.#world.scheduler.after(seconds * SECOND, () => this.#invariants.hindered());
  }

  #jumpClock(): void {
    const process = this.#anyProcess();
    if (!process) return;
    const hours = this.#random.next() < 0.5 ? 1 : -1;
    process.machine.wallSkewMs += hours * 3_600_000;
    this.#invariants.clockJumped();
    this.#world.note(`the clock of ${process.machine.name} jumps by ${hours} h`);
  }

  /** Returns true if the next fault strikes. Faults are numbered, so that a shrinking run can skip some. */
  #strikes(kind: string): boolean {
    this.#drawn += 1;
    const fault = { index: this.#drawn, kind };
    if (this.#options.allow?.(fault) === false) return false;
    this.#faults.push(fault);
    return true;
  }
}
