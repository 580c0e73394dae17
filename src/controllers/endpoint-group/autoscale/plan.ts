import type { MicroDollars } from '../../../lib/money.ts';
import { byDrop, coldOf, hotOf } from './cover.ts';
import type { ScalingWorker } from './scaling-worker.ts';

/** Maximum number of cold workers in their first boot at one time. */
export const MAX_SURGE = 2;

export interface ChooseInput {
  readonly workers: readonly ScalingWorker[];
  /** Desired numbers of the tick. */
  readonly hot: number;
  readonly total: number;
  /** Capacity that the hot workers must cover; 0 if only their number counts. */
  readonly hotCapacity: number;
  readonly maxWorkers: number;
  readonly ceiling: MicroDollars | undefined;
  /** Price limit of a new worker by template and account; undefined without a limit. */
  readonly priceOfNew: MicroDollars | undefined;
  /**
   * Minimum remaining room for a new worker if the template has an offer without a price. The worker's price is then
   * limited to the room, whatever the account allows later.
   */
  readonly usualPrice?: MicroDollars | undefined;
  readonly pause: { readonly scaleUp: boolean; readonly scaleDown: boolean };
  /** Workers that may be unavailable in a rollout; undefined if outdated workers stay. */
  readonly maxUnavailable: number | undefined;
}

export type Change =
  /** Makes a cold worker hot. */
  | { readonly type: 'wake'; readonly name: string }
  /** Creates a worker; `Cold` boots once and is then stopped. */
  | {
      readonly type: 'rent';
      readonly desiredRole: 'Hot' | 'Cold';
      /** Price limit from the ceiling if the template has none. */
      readonly maxPricePerHour?: MicroDollars;
    }
  /** Makes a hot worker cold after it has drained. */
  | { readonly type: 'park'; readonly name: string }
  /** Destroys a worker after it has drained. */
  | {
      readonly type: 'destroy';
      readonly name: string;
      readonly why:
        | 'BeyondCeiling'
        | 'Broken'
        | 'Ended'
        | 'OldPrice'
        | 'Surplus'
        | 'OldTemplate'
        | 'WakeTimedOut';
    };

export interface Choice {
  readonly changes: readonly Change[];
  /** Workers that the ceiling prevented from a wake or a rental. */
  readonly cutByCeiling: number;
}

/** Changes so far, and the workers after them. */
export interface Plan {
  readonly changes: readonly Change[];
  /** True if the ceiling prevented a wake or a rental. */
  readonly isCut: boolean;
  readonly workers: readonly ScalingWorker[];
  /** Workers rented in this plan; they count as booting. */
  readonly rentedHot: number;
  readonly rentedCold: number;
  /** Surplus hot workers that are removed later, when others serve in their place. */
  readonly deferred: number;
  readonly spend: MicroDollars;
}

export function emptyPlan(workers: readonly ScalingWorker[]): Plan {
  return {
    workers,
    changes: [],
    isCut: false,
    rentedHot: 0,
    rentedCold: 0,
    deferred: 0,
    spend: workers.reduce((sum, worker) => sum + priceNow(worker) + (worker.unconfirmedPerHour ?? 0), 0),
  };
}

/** Returns the present price per hour. */
export function priceNow(worker: ScalingWorker): MicroDollars {
  return worker.isRunning ? worker.pricePerHour : worker.coldPricePerHour;
}

export function changed(
  plan: Plan,
  change: Change & { readonly name: string },
  role: ScalingWorker['role'],
): Plan {
  const workers = plan.workers.map((worker) => (worker.name === change.name ? { ...worker, role } : worker));
  return { ...plan, workers, changes: [...plan.changes, change] };
}

export function hotNow(plan: Plan): number {
  return hotOf(plan.workers).length + plan.rentedHot;
}

export function presentNow(plan: Plan): number {
  return hotNow(plan) + coldOf(plan.workers).length + plan.rentedCold;
}

export function isAffordable(plan: Plan, extra: MicroDollars, { ceiling }: ChooseInput): boolean {
  return ceiling === undefined || extra <= 0 || plan.spend + extra <= ceiling;
}

export function cut(plan: Plan): Plan {
  return { ...plan, isCut: true };
}

/** Returns the plan with one more surplus hot worker that is removed later. */
export function deferred(plan: Plan): Plan {
  return { ...plan, deferred: plan.deferred + 1 };
}

export function woken(plan: Plan, name: string, extra: MicroDollars): Plan {
  return { ...changed(plan, { type: 'wake', name }, 'hot'), spend: plan.spend + extra };
}

export function rentOne(plan: Plan, input: ChooseInput, desiredRole: 'Hot' | 'Cold'): Plan {
  const billing = plan.workers.length + plan.rentedHot + plan.rentedCold;
  if (billing >= input.maxWorkers) return plan;
  // While no price is known, only the first worker may rent, which reveals the price.
  if (input.usualPrice === Number.POSITIVE_INFINITY) return plan;
  const price = priceOfNext(plan.spend, input);
  if (!isAffordable(plan, price, input)) return cut(plan);
  const isLimited = input.ceiling !== undefined && input.usualPrice !== undefined;
  return {
    ...plan,
    changes: [...plan.changes, { type: 'rent', desiredRole, ...(isLimited && { maxPricePerHour: price }) }],
    rentedHot: plan.rentedHot + (desiredRole === 'Hot' ? 1 : 0),
    rentedCold: plan.rentedCold + (desiredRole === 'Cold' ? 1 : 0),
    spend: plan.spend + price,
  };
}

/**
 * Returns the maximum price of the next worker beside this spend: the limit of template and account, and if the
 * template has none, also the room below the ceiling. Infinity if that is unknown or too little; 0 without a ceiling.
 */
export function priceOfNext(
  spend: MicroDollars,
  { ceiling, priceOfNew = Number.POSITIVE_INFINITY, usualPrice }: ChooseInput,
): MicroDollars {
  if (ceiling === undefined) return 0;
  if (usualPrice === undefined) return priceOfNew;
  const room = Math.min(priceOfNew, ceiling - spend);
  return room > 0 && room >= Math.min(usualPrice, priceOfNew) ? room : Number.POSITIVE_INFINITY;
}

/** Returns the workers without a change in this plan. */
export function undecided({ workers, changes }: Plan): readonly ScalingWorker[] {
  const decided = new Set(changes.map((change) => (change.type === 'rent' ? undefined : change.name)));
  return workers.filter(({ name }) => !decided.has(name));
}

export function firstBoots(plan: Plan): number {
  return coldOf(plan.workers).filter((worker) => !worker.wasEverReady).length + plan.rentedCold;
}

/**
 * Destroys outdated workers: useless ones immediately, hot ones within `maxUnavailable`, and cold ones if others may
 * boot in their place. Each one goes only if the ceiling allows its replacement. None goes while the group is paused,
 * since its place would stay empty, or scaling down is not allowed.
 */
export function replaceOld(plan: Plan, input: ChooseInput): Plan {
  const { maxUnavailable, pause } = input;
  if (maxUnavailable === undefined || pause.scaleUp || pause.scaleDown) return plan;
  const old = undecided(plan)
    .filter((worker) => !worker.isCurrentTemplate && !worker.isOnHold && !worker.isUpdateExempt)
    .filter((worker) => worker.isWithoutSubstitute !== true)
    .sort(byDrop);
  const hot = hotOf(old);
  const withoutUseless = hot.filter(isUseless).reduce(gone, plan);
  const hotGoing = replaceableHot(plan, hot, { hot: input.hot, maxUnavailable });
  const withoutHot = goneIfPaidFor(withoutUseless, hotGoing, { ...input, places: hotPlaces });
  return goneIfPaidFor(withoutHot, replaceableCold(plan, coldOf(old), input), {
    ...input,
    places: allPlaces,
  });
}

/**
 * Returns the hot workers to replace. A worker that is briefly unready is already missing, so it may be the missing
 * one.
 */
function replaceableHot(
  { workers }: Plan,
  old: readonly ScalingWorker[],
  { hot, maxUnavailable }: { readonly hot: number; readonly maxUnavailable: number },
): readonly ScalingWorker[] {
  const ready = hotOf(workers).filter((worker) => worker.isReady).length;
  const missing = Math.max(0, hot - ready);
  const away = old.filter((worker) => !worker.isReady && !isUseless(worker));
  const serving = old.filter((worker) => worker.isReady);
  return [
    ...away.slice(0, Math.max(0, maxUnavailable - Math.max(0, missing - away.length))),
    ...serving.slice(0, Math.max(0, maxUnavailable - missing)),
  ];
}

/** Returns true if the worker never served, has been away for longer than a boot, or is unreachable. */
function isUseless({ isReady, hasRun, isOverdue, isUnreachable }: ScalingWorker): boolean {
  return !isReady && (!hasRun || isOverdue || isUnreachable);
}

/**
 * Returns the cold workers to replace, within the maximum of first boots less those still to come: the pool is never
 * emptied at once.
 */
function replaceableCold(
  plan: Plan,
  old: readonly ScalingWorker[],
  input: ChooseInput,
): readonly ScalingWorker[] {
  const toCome = Math.max(0, allPlaces(plan, input));
  return old.slice(0, Math.max(0, MAX_SURGE - firstBoots(plan) - toCome));
}

type Wants = Pick<ChooseInput, 'hot' | 'total'>;

/** Returns the number of free places in the whole pool. */
function allPlaces(plan: Plan, { hot, total }: Wants): number {
  return Math.max(hot, total) - presentNow(plan);
}

/** Returns the free places of leaving hot workers. Places that the ceiling keeps empty stay empty. */
function hotPlaces(plan: Plan, { hot }: Wants): number {
  return Math.min(hot - hotNow(plan), leavingOf(plan).length);
}

interface PaidFor extends ChooseInput {
  readonly places: (plan: Plan, wants: Wants) => number;
}

/** Destroys workers whose places the ceiling allows to fill again. Others stay. */
function goneIfPaidFor(plan: Plan, going: readonly ScalingWorker[], input: PaidFor): Plan {
  const { ceiling = Number.POSITIVE_INFINITY, places } = input;
  return going.reduce((before, worker) => {
    const after = gone(before, worker);
    const toRent = Math.max(0, places(after, input));
    const left = leavingOf(after).reduce((spend, one) => spend - priceNow(one), after.spend);
    return toRent === 0 || left + toRent * priceOfOne(left, input) <= ceiling ? after : cut(before);
  }, plan);
}

/** Returns the price of a replacement: the usual one if only the ceiling limits it. */
function priceOfOne(spend: number, input: PaidFor): number {
  const price = priceOfNext(spend, input);
  return Math.min(price, input.usualPrice || price);
}

function leavingOf({ workers }: Plan): readonly ScalingWorker[] {
  return workers.filter(({ role }) => role === 'leaving');
}

function gone(plan: Plan, { name }: ScalingWorker): Plan {
  return changed(plan, { type: 'destroy', name, why: 'OldTemplate' }, 'leaving');
}
