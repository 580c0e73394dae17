import { type Random, seededRandom } from '../../src/lib/random.ts';
import { Chance } from './chance.ts';
import type { Invariants } from './invariants.ts';
import type { Fate } from './network.ts';
import { CALLS } from './stories/stage.ts';
import type { Users } from './users.ts';
import { befall } from './weather.ts';
import type { FateOf, SimulatedWorld } from './world.ts';

type Call = Parameters<FateOf>[0];

/** `Date` headers that are wrong: of single replies, of failed ones for a while, or of one class of calls. */
interface WrongDates {
  readonly of: 'replies' | 'failures' | WronglyDated;
  /** Milliseconds of the schedule. */
  readonly from: number;
  readonly until: number;
  readonly offsetMs: number;
  /** A past date comes from a cache, which says so. */
  readonly isCached: boolean;
}

const WRONGLY_DATED = ['rent', 'destroy', 'read', 'search', 'user', 'list'] as const;
type WronglyDated = (typeof WRONGLY_DATED)[number];

/** Many machines fail together, and come back or do not. */
interface Outage {
  readonly at: number;
  /** Status of the share of machines rented at that time; `mass` affects all hosts. */
  readonly status: 'mass' | 'offline' | 'unknown' | 'exited';
  readonly share: number;
  /** For good if undefined. */
  readonly seconds: number | undefined;
  /** When all processes die, after its begin. */
  readonly deathsAt: readonly number[];
}

/** All objects go in one moment. */
interface Removal {
  readonly at: number;
  /** Their finalizers are removed first. */
  readonly isByForce: boolean;
  /** Objects of the same names are created at once. */
  readonly isUndone: boolean;
}

/** Faults of one schedule that last, or that affect many machines at once. */
export interface LongFaultPlan {
  readonly wrongDates: WrongDates | undefined;
  /** The share of rent calls whose reply is lost and that are carried out minutes later. */
  readonly lateRentals: number;
  readonly outage: Outage | undefined;
  readonly removal: Removal | undefined;
  /** The breaker stays as configured when the faults stop, with a maximum hold of five minutes. */
  readonly keepsBreaker: boolean;
  readonly orphanPolicy: 'Destroy' | 'Report';
}

export interface PlanOptions {
  readonly seed: number;
  /** True without a sweeper, which repairs objects that were removed by force. */
  readonly isStrict: boolean;
}

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const DAY_MINUTES = 1440;
const STORM_MS = 600 * SECOND;
/** A service whose lists agree on another time for longer has that time. */
const MAX_LISTS_MS = 45 * SECOND;
const LATE_MS = { min: 200 * SECOND, max: 600 * SECOND };
/** Late rentals are carried out until so long after the storm began, so that all is well in time. */
const LATE_UNTIL_MS = 720 * SECOND;
const WRONG_SHARE = 0.06;
const FAILING_SHARE = 0.4;
/** Names of additional objects, so that machines fail and end in large numbers. */
export const EXTRA_OBJECTS = ['m-1', 'm-2', 'm-3', 'm-4'] as const;
export const SHORT_HOLD = '5m';
const SHORT_HOLD_MS = 5 * MINUTE;
/** The operator's `--late-orphan-age` where rentals are late. */
export const LATE_ORPHAN_AGE = '4m';
/** Time for one replacement: they run one at a time after the hold, each within ten minutes. */
const TURN_MS = 10 * MINUTE;

/** Draws them from a stream of their own, so that schedules without any are as they would be. */
export function drawLongFaults({ seed, isStrict }: PlanOptions): LongFaultPlan {
  const random = seededRandom(seed * 6007 + (isStrict ? 5 : 3));
  const chance = new Chance(random);
  const isDrawn = {
    wrongDates: chance.isWithin(0.2),
    lateRentals: chance.isWithin(0.12),
    outage: chance.isWithin(0.2),
    removal: chance.isWithin(0.1),
    keepsBreaker: chance.isWithin(0.5),
  };
  const isReported = chance.isWithin(0.4);
  const drawn = {
    wrongDates: drawWrongDates(chance),
    outage: drawOutage(chance),
    removal: drawRemoval(chance),
  };
  const isUnusual = isDrawn.lateRentals || isDrawn.removal;
  return {
    wrongDates: isDrawn.wrongDates ? drawn.wrongDates : undefined,
    lateRentals: isDrawn.lateRentals ? 0.35 : 0,
    outage: isDrawn.outage ? drawn.outage : undefined,
    removal: isDrawn.removal
      ? { ...drawn.removal, isByForce: drawn.removal.isByForce && !isStrict }
      : undefined,
    keepsBreaker: isDrawn.outage && isDrawn.keepsBreaker,
    orphanPolicy: isStrict || (isUnusual && isReported) ? 'Report' : 'Destroy',
  };
}

function drawWrongDates(chance: Chance): WrongDates {
  const of = chance.oneOf(['replies', 'failures', 'class'] as const);
  const drawn = of === 'class' ? chance.oneOf(WRONGLY_DATED) : of;
  const from = 30 * SECOND + chance.below(250 * SECOND);
  const lasts = drawn === 'list' ? 5 * SECOND + chance.below(MAX_LISTS_MS - 5 * SECOND) : STORM_MS;
  // From one minute and a half to three days, each order of magnitude as often.
  const minutes = 1.5 * Math.exp((chance.below(1000) / 1000) * Math.log(2 * DAY_MINUTES));
  const isFuture = chance.isWithin(0.5);
  const isCached = chance.isWithin(0.4);
  return {
    of: drawn,
    from,
    until: from + lasts,
    offsetMs: (isFuture ? 1 : -1) * minutes * MINUTE,
    isCached: isCached && !isFuture,
  };
}

function drawOutage(chance: Chance): Outage {
  const status = chance.oneOf(['mass', 'mass', 'offline', 'unknown', 'exited'] as const);
  const share = chance.oneOf([1, 1, 0.6] as const);
  const length = chance.oneOf(['short', 'long', 'good'] as const);
  const seconds = length === 'short' ? 75 + chance.below(75) : 150 + chance.below(350);
  const deathsAt = [0, 1, 2].filter(() => chance.isWithin(0.25)).map(() => chance.below(seconds * SECOND));
  return {
    at: 150 * SECOND + chance.below(250 * SECOND),
    status,
    share,
    seconds: length === 'good' && status !== 'mass' ? undefined : seconds,
    deathsAt,
  };
}

function drawRemoval(chance: Chance): Removal {
  return {
    at: 220 * SECOND + chance.below(200 * SECOND),
    isByForce: chance.isWithin(0.6),
    isUndone: chance.isWithin(0.5),
  };
}

export interface LongFaultsOptions {
  readonly plan: LongFaultPlan;
  readonly seed: number;
  readonly world: SimulatedWorld;
  readonly users: Users;
  readonly invariants: Invariants;
  /** Returns true if a fault of that kind strikes, and counts it. */
  readonly strikes: (kind: string) => boolean;
}

/** Faults that last longer than a call, or strike many machines or objects in one moment. */
export class LongFaults {
  readonly #options: LongFaultsOptions;
  readonly #random: Random;
  readonly #begin: number;
  #outageEndsAt = 0;

  constructor(options: LongFaultsOptions) {
    this.#options = options;
    this.#random = seededRandom(options.seed * 6007 + 11);
    this.#begin = options.world.now;
  }

  begin(): void {
    const { plan, world, strikes } = this.#options;
    const { outage, removal } = plan;
    if (outage)
      world.scheduler.after(outage.at, () => {
        if (strikes(`outage-${outage.status}`)) this.#fail(outage);
      });
    if (removal)
      world.scheduler.after(removal.at, () => {
        if (strikes(removal.isByForce ? 'removal-by-force' : 'removal')) this.#remove(removal);
      });
  }

  /** Returns the fate of a call, given its fate without these faults. */
  fateOf(call: Call, fate: Fate): Fate {
    if (call.side !== 'market') return fate;
    return this.#lateRental(call) ?? this.#dated(call, fate);
  }

  /** Returns the time until which these faults may keep desired machines from running, by the documented promises. */
  recoversUntil(calmFrom: number, recoveryMs: number): number {
    const { plan, invariants } = this.#options;
    const from = Math.max(calmFrom, this.#outageEndsAt);
    const bad = plan.keepsBreaker ? invariants.badMachines() : 0;
    return from + recoveryMs + (bad === 0 ? 0 : SHORT_HOLD_MS + bad * TURN_MS);
  }

  #lateRental({ machine, request }: Call): Fate | undefined {
    const { plan, world, strikes } = this.#options;
    if (plan.lateRentals === 0 || !CALLS.rent.test(nameOf(request))) return undefined;
    if (this.#random.next() >= plan.lateRentals) return undefined;
    const longest = Math.min(LATE_MS.max, this.#begin + LATE_UNTIL_MS - world.now);
    const lateMs = LATE_MS.min + this.#random.next() * (longest - LATE_MS.min);
    if (longest <= LATE_MS.min || !strikes('late-rental')) return undefined;
    world.note(`${machine.name}: ${nameOf(request)} is carried out ${(lateMs / SECOND).toFixed(0)} s later`);
    return { requestMs: 2, responseMs: 2, lateMs };
  }

  #dated({ machine, request }: Call, fate: Fate): Fate {
    const { world, strikes } = this.#options;
    const { wrongDates: wrong } = this.#options.plan;
    const passed = world.now - this.#begin;
    if (!wrong || passed < wrong.from || passed >= wrong.until) return fate;
    const failing = this.#failing(wrong, fate);
    if (!this.#isWrong(wrong, request, failing) || !strikes(`wrong-date-${wrong.of}`)) return fate;
    const { offsetMs, isCached } = wrong;
    world.note(
      `${machine.name}: the reply to ${nameOf(request)} has a date ${Math.round(offsetMs / SECOND)} s off`,
    );
    return {
      ...failing,
      dateOffMs: offsetMs,
      ...(isCached && { ageSeconds: Math.round(-offsetMs / SECOND) }),
    };
  }

  #isWrong({ of }: WrongDates, request: Call['request'], { refusal }: Fate): boolean {
    if (of === 'replies') return this.#random.next() < WRONG_SHARE;
    if (of === 'failures') return refusal !== undefined;
    return CALLS[of].test(nameOf(request));
  }

  /** Returns a failing fate: wrong dates of failures need failing calls. */
  #failing({ of }: WrongDates, fate: Fate): Fate {
    if (of !== 'failures' || this.#random.next() >= FAILING_SHARE) return fate;
    return { ...fate, refusal: { status: 502, body: 'Bad Gateway' } };
  }

  #fail({ status, share, seconds, deathsAt }: Outage): void {
    const { world } = this.#options;
    world.note(`an outage: ${status}, ${share * 100}%, ${seconds ?? 'for good'} s`);
    this.#outageEndsAt = world.now + (seconds ?? 0) * SECOND;
    const length = seconds === undefined ? {} : { seconds };
    if (status === 'mass')
      befall(world, { name: 'mass-outage', ...length, ...(share < 1 && { probability: share }) });
    else
      for (const id of this.#rented())
        if (this.#random.next() < share) befall(world, { name: status, instance: id, ...length });
    for (const at of deathsAt)
      world.scheduler.after(at, () => {
        for (const { machine } of [...world.processes]) world.crash(machine, 'during the outage');
      });
  }

  #rented(): readonly number[] {
    const { world, invariants } = this.#options;
    const { contracts } = world.market.store.current().tables;
    return Object.keys(contracts)
      .map(Number)
      .filter((id) => !invariants.isForeign(id));
  }

  #remove({ isByForce, isUndone }: Removal): void {
    const { world, users, invariants } = this.#options;
    const names = users.names();
    world.note(`all objects go at once${isByForce ? ', by force' : ''}`);
    invariants.removedInMass(isByForce ? names : []);
    if (!isByForce) users.deleteEverything();
    else
      for (const name of names) {
        users.removeFinalizers(name);
        users.delete(name);
      }
    if (!isUndone) return;
    world.scheduler.after(5 * SECOND, () => {
      for (const name of EXTRA_OBJECTS) users.createInstance(name);
    });
  }
}

const nameOf = ({ method, path }: Call['request']): string => `${method} ${path.split('?')[0]}`;
