import type { MicroDollars } from '../../../lib/money.ts';
import { byDrop, coldOf, hotOf } from './cover.ts';
import type { ScalingWorker } from './scaling-worker.ts';

/** Cold workers that boot for the first time at one time. */
export const MAX_SURGE = 2;

export interface ChooseInput {
  readonly workers: readonly ScalingWorker[];
  /** From the decision of the tick. */
  readonly hot: number;
  readonly total: number;
  /** What the hot ones are to cover; 0 where their number alone counts. */
  readonly hotCapacity: number;
  readonly maxWorkers: number;
  readonly ceiling: MicroDollars | undefined;
  /** The most that a new worker may cost by template and account; undefined if neither says. */
  readonly priceOfNew: MicroDollars | undefined;
  /**
   * If the template leaves a price out: the remaining room from which on a new worker is rented. Its price is then
   * limited to that room, whatever the account allows by the time it is rented.
   */
  readonly usualPrice?: MicroDollars | undefined;
  readonly pause: { readonly scaleUp: boolean; readonly scaleDown: boolean };
  /** Workers that may be out of service for a new template; undefined where old ones are left alone. */
  readonly maxUnavailable: number | undefined;
}

export type Change =
  /** A cold worker becomes hot. */
  | { readonly type: 'wake'; readonly name: string }
  /** A new worker; `Cold` boots once and is then stopped. */
  | {
      readonly type: 'rent';
      readonly desiredRole: 'Hot' | 'Cold';
      /** Where the ceiling limits its price and the template does not. */
      readonly maxPricePerHour?: MicroDollars;
    }
  /** A hot worker becomes cold, after its work. */
  | { readonly type: 'park'; readonly name: string }
  /** A worker is destroyed, after its work. */
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
  /** Workers that the ceiling keeps from being woken or rented. */
  readonly cutByCeiling: number;
}

/** What is decided so far, and the workers as they will be then. */
export interface Plan {
  readonly changes: readonly Change[];
  /** The ceiling forbade a wake or a rent. */
  readonly isCut: boolean;
  readonly workers: readonly ScalingWorker[];
  /** Rented in this plan: they count as workers that boot. */
  readonly rentedHot: number;
  readonly rentedCold: number;
  /** Hot ones too many, which go once others serve in their place. */
  readonly deferred: number;
  readonly spend: MicroDollars;
}

/** The plan in which nothing is decided yet. */
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

/** What it costs in an hour as it is now. */
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

/** One more hot worker goes later than it could. */
export function deferred(plan: Plan): Plan {
  return { ...plan, deferred: plan.deferred + 1 };
}

export function woken(plan: Plan, name: string, extra: MicroDollars): Plan {
  return { ...changed(plan, { type: 'wake', name }, 'hot'), spend: plan.spend + extra };
}

export function rentOne(plan: Plan, input: ChooseInput, desiredRole: 'Hot' | 'Cold'): Plan {
  const billing = plan.workers.length + plan.rentedHot + plan.rentedCold;
  if (billing >= input.maxWorkers) return plan;
  // Without any idea of the price, one worker is rented to learn it.
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
 * What the next worker may cost at most beside that spend, infinity if it cannot be told: the price that template and
 * account name; where the template leaves it out, no more than the ceiling leaves. Without a ceiling nothing asks.
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

/** Those that nothing was decided about in this plan. */
export function undecided({ workers, changes }: Plan): readonly ScalingWorker[] {
  const decided = new Set(changes.map((change) => (change.type === 'rent' ? undefined : change.name)));
  return workers.filter(({ name }) => !decided.has(name));
}

export function firstBoots(plan: Plan): number {
  return coldOf(plan.workers).filter((worker) => !worker.wasEverReady).length + plan.rentedCold;
}

/**
 * Old ones of use to nobody go at once, the other hot ones only as far as no more than `maxUnavailable` are missing
 * then, and cold ones as far as others may come in their place; each of these only where the ceiling lets another come.
 * None goes while the group is paused: its place would stay empty, or it may not go at all.
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

/** One that is away for a moment is missing already: it may be the one that is missing, and no more than that. */
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

/** Never served, has not come back for longer than a boot takes, or serves where nobody can be led to. */
function isUseless({ isReady, hasRun, isOverdue, isUnreachable }: ScalingWorker): boolean {
  return !isReady && (!hasRun || isOverdue || isUnreachable);
}

/** No more than there may be firstBoots, those among them that are still to come: the pool is never emptied at once. */
function replaceableCold(
  plan: Plan,
  old: readonly ScalingWorker[],
  input: ChooseInput,
): readonly ScalingWorker[] {
  const toCome = Math.max(0, allPlaces(plan, input));
  return old.slice(0, Math.max(0, MAX_SURGE - firstBoots(plan) - toCome));
}

type Wants = Pick<ChooseInput, 'hot' | 'total'>;

/** Places in the whole pool that nobody has. */
function allPlaces(plan: Plan, { hot, total }: Wants): number {
  return Math.max(hot, total) - presentNow(plan);
}

/** Places of hot workers that leave. Where the ceiling keeps others empty, they stay so. */
function hotPlaces(plan: Plan, { hot }: Wants): number {
  return Math.min(hot - hotNow(plan), leavingOf(plan).length);
}

interface PaidFor extends ChooseInput {
  readonly places: (plan: Plan, wants: Wants) => number;
}

/** Those whose places can be paid for anew: workers that the ceiling lets nobody relieve stay what they are. */
function goneIfPaidFor(plan: Plan, going: readonly ScalingWorker[], input: PaidFor): Plan {
  const { ceiling = Number.POSITIVE_INFINITY, places } = input;
  return going.reduce((before, worker) => {
    const after = gone(before, worker);
    const toRent = Math.max(0, places(after, input));
    const left = leavingOf(after).reduce((spend, one) => spend - priceNow(one), after.spend);
    return toRent === 0 || left + toRent * priceOfOne(left, input) <= ceiling ? after : cut(before);
  }, plan);
}

/** Of a worker in the place of one that goes: a price that only the ceiling limits is as usual. */
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
