import type { MicroDollars } from '../../lib/money.ts';
import { cheapestCover } from './covering-set.ts';
import { byWorth, coldOf, hotOf, type ScalingWorker, sumOfPerf } from './worker-counts.ts';

/** A worker as the choice among workers needs it. `pricePerHour` is what it costs while it runs. */
export interface ChoosableWorker extends ScalingWorker {
  /** Its machine runs, boots or is asked to: the price of a running one bills. */
  readonly isRunning: boolean;
  /** What it costs in an hour while stopped. */
  readonly coldPricePerHour: MicroDollars;
  readonly isCurrentTemplate: boolean;
  /** A person asked never to stop or destroy it. */
  readonly isHeld: boolean;
  /** It was woken, does not run after `wakeTimeout`, and may be replaced. */
  readonly hasWakeFailed: boolean;
}

export interface ChooseInput {
  readonly workers: readonly ChoosableWorker[];
  /** From the decision of the tick. */
  readonly hot: number;
  readonly total: number;
  /** What the hot ones are to cover; 0 where their number alone counts. */
  readonly hotCapacity: number;
  readonly maxWorkers: number;
  readonly ceiling: MicroDollars | undefined;
  /** What a new worker may cost; undefined while nothing says it. */
  readonly priceOfNew: MicroDollars | undefined;
  readonly pause: { readonly scaleUp: boolean; readonly scaleDown: boolean };
  /** Workers that may be out of service for a new template; undefined where old ones are left alone. */
  readonly maxUnavailable: number | undefined;
}

export type Change =
  /** A cold worker becomes hot. */
  | { readonly type: 'wake'; readonly name: string }
  /** A new worker; `Cold` boots once and is then stopped. */
  | { readonly type: 'rent'; readonly wanted: 'Hot' | 'Cold' }
  /** A hot worker becomes cold, after its work. */
  | { readonly type: 'park'; readonly name: string }
  /** A worker is destroyed, after its work. */
  | {
      readonly type: 'destroy';
      readonly name: string;
      readonly why: 'Surplus' | 'OldTemplate' | 'WakeTimedOut';
    };

export interface Choice {
  readonly changes: readonly Change[];
  /** Workers that the ceiling keeps from being woken or rented. */
  readonly cutByCeiling: number;
}

interface Plan {
  readonly changes: readonly Change[];
  /** The ceiling forbade a wake or a rent. */
  readonly isCut: boolean;
  readonly workers: readonly ChoosableWorker[];
  /** Rented in this plan: they count as workers that boot. */
  readonly rentedHot: number;
  readonly rentedCold: number;
  readonly spend: MicroDollars;
}

type Step = (plan: Plan, input: ChooseInput) => Plan;

/** In this order: what fails goes first, load comes before templates, and cold ones come last. */
const STEPS: readonly Step[] = [giveUpFailedWakes, wake, rentHot, dropHot, replaceOld, rentCold, dropCold];

/** Which workers to wake, rent, stop and destroy so that the wanted numbers come about within maximum and ceiling. */
export function chooseWorkers(input: ChooseInput): Choice {
  const start: Plan = {
    workers: input.workers,
    changes: [],
    isCut: false,
    rentedHot: 0,
    rentedCold: 0,
    spend: input.workers.reduce((sum, worker) => sum + priceNow(worker), 0),
  };
  const plan = STEPS.reduce((before, step) => step(before, input), start);
  return { changes: plan.changes, cutByCeiling: missingBy(plan, input) };
}

/** Where the ceiling forbade any, how many workers are missing in the end: one is refused both as hot and as cold. */
function missingBy(plan: Plan, { hot, total }: ChooseInput): number {
  if (!plan.isCut) return 0;
  return Math.max(1, hot - hotNow(plan), total - presentNow(plan));
}

/** Cold workers that boot for the first time at one time. */
const BIRTHS_AT_ONCE = 2;

function priceNow(worker: ChoosableWorker): MicroDollars {
  return worker.isRunning ? worker.pricePerHour : worker.coldPricePerHour;
}

/** The name of those that go first is at the front: marked, old, unhealthy, newest (by `keepRank`), then dear. */
function byDrop(a: ChoosableWorker, b: ChoosableWorker): number {
  return a.keepRank - b.keepRank || -byWorth(a, b);
}

function changed(
  plan: Plan,
  change: Change & { readonly name: string },
  role: ChoosableWorker['role'],
): Plan {
  const workers = plan.workers.map((worker) => (worker.name === change.name ? { ...worker, role } : worker));
  return { ...plan, workers, changes: [...plan.changes, change] };
}

function hotNow(plan: Plan): number {
  return hotOf(plan.workers).length + plan.rentedHot;
}

function presentNow(plan: Plan): number {
  return hotNow(plan) + coldOf(plan.workers).length + plan.rentedCold;
}

function isAffordable(plan: Plan, extra: MicroDollars, { ceiling }: ChooseInput): boolean {
  return ceiling === undefined || extra <= 0 || plan.spend + extra <= ceiling;
}

function cut(plan: Plan): Plan {
  return { ...plan, isCut: true };
}

function woken(plan: Plan, name: string, extra: MicroDollars): Plan {
  return { ...changed(plan, { type: 'wake', name }, 'hot'), spend: plan.spend + extra };
}

/** A new one in its place, where the load still asks for it. */
function giveUpFailedWakes(plan: Plan, input: ChooseInput): Plan {
  const failed = plan.workers.filter(
    (worker) => worker.role === 'hot' && worker.hasWakeFailed && !worker.isHeld,
  );
  return failed.reduce((next, { name }) => {
    const without = changed(next, { type: 'destroy', name, why: 'WakeTimedOut' }, 'leaving');
    const isMissed = hotNow(without) < input.hot && !input.pause.scaleUp;
    return isMissed ? rentOne(without, input, 'Hot') : without;
  }, plan);
}

/** Running ones first, since they cost nothing more, then the best performance per dollar. */
function wake(plan: Plan, input: ChooseInput): Plan {
  if (input.pause.scaleUp) return plan;
  const candidates = coldOf(plan.workers)
    .filter((worker) => !worker.isRunning || worker.isReady)
    .sort((a, b) => wakeRank(a) - wakeRank(b) || byWorth(a, b));
  return candidates.reduce((next, worker) => {
    if (hotNow(next) >= input.hot) return next;
    const extra = worker.isRunning ? 0 : worker.pricePerHour - worker.coldPricePerHour;
    return isAffordable(next, extra, input) ? woken(next, worker.name, extra) : cut(next);
  }, plan);
}

function wakeRank(worker: ChoosableWorker): number {
  return (worker.isRunning ? 0 : 2) + (worker.isCurrentTemplate ? 0 : 1);
}

function rentHot(plan: Plan, input: ChooseInput): Plan {
  if (input.pause.scaleUp) return plan;
  // One that boots for the pool serves as soon as a new one would, and is paid for already.
  const booting = coldOf(plan.workers).filter(
    (worker) => worker.isRunning && !worker.isReady && worker.isCurrentTemplate,
  );
  let next = booting
    .slice(0, Math.max(0, input.hot - hotNow(plan)))
    .reduce((before, { name }) => changed(before, { type: 'wake', name }, 'hot'), plan);
  for (let missing = input.hot - hotNow(next); missing > 0; missing -= 1) next = rentOne(next, input, 'Hot');
  return next;
}

function rentOne(plan: Plan, input: ChooseInput, wanted: 'Hot' | 'Cold'): Plan {
  const billing = plan.workers.length + plan.rentedHot + plan.rentedCold;
  if (billing >= input.maxWorkers) return plan;
  // With a ceiling and no idea of the price, one worker is rented to learn it.
  if (input.ceiling !== undefined && input.priceOfNew === undefined && billing > 0) return plan;
  const price = input.priceOfNew ?? 0;
  if (!isAffordable(plan, price, input)) return cut(plan);
  return {
    ...plan,
    changes: [...plan.changes, { type: 'rent', wanted }],
    rentedHot: plan.rentedHot + (wanted === 'Hot' ? 1 : 0),
    rentedCold: plan.rentedCold + (wanted === 'Cold' ? 1 : 0),
    spend: plan.spend + price,
  };
}

/** Hot ones beyond the wanted number: the cheapest cover stays, the rest goes cold where the pool has room. */
function dropHot(plan: Plan, input: ChooseInput): Plan {
  if (input.pause.scaleDown) return plan;
  const hot = hotOf(plan.workers);
  const surplus = hot.length + plan.rentedHot - input.hot;
  if (surplus <= 0) return plan;
  const kept = new Set(coverOf(hot, input));
  const leaving = hot
    .filter((worker) => !kept.has(worker.name) && !worker.isHeld)
    .sort(byDrop)
    .slice(0, surplus);
  return leaving.reduce((next, worker) => parkOrDestroy(next, worker, input), plan);
}

function coverOf(hot: readonly ChoosableWorker[], { hotCapacity }: ChooseInput): readonly string[] {
  const held = hot.filter((worker) => worker.isHeld);
  const free = hot.filter((worker) => !worker.isHeld);
  return cheapestCover(free, hotCapacity - sumOfPerf(held)).map((worker) => worker.name);
}

function parkOrDestroy(plan: Plan, worker: ChoosableWorker, input: ChooseInput): Plan {
  const { name } = worker;
  const hasRoom = presentNow(plan) <= input.total;
  if (hasRoom && !worker.isOverdue) return changed(plan, { type: 'park', name }, 'cold');
  return changed(plan, { type: 'destroy', name, why: 'Surplus' }, 'leaving');
}

/** Those that nothing was decided about in this plan. */
function undecided({ workers, changes }: Plan): readonly ChoosableWorker[] {
  const decided = new Set(changes.map((change) => (change.type === 'rent' ? undefined : change.name)));
  return workers.filter(({ name }) => !decided.has(name));
}

/**
 * Old ones that never served go at once, those that serve as far as enough others do. One that wakes is let serve
 * first: it was woken because it is needed now.
 */
function replaceOld(plan: Plan, input: ChooseInput): Plan {
  if (input.maxUnavailable === undefined) return plan;
  const old = undecided(plan)
    .filter((worker) => worker.role !== 'leaving' && !worker.isCurrentTemplate && !worker.isHeld)
    .sort(byDrop);
  const ready = hotOf(plan.workers).filter((worker) => worker.isReady).length;
  const unavailable = Math.max(0, input.hot - ready);
  const idle = old.filter((worker) => worker.role === 'hot' && isIdle(worker));
  const serving = old.filter((worker) => worker.role === 'hot' && worker.isReady);
  const cold = old.filter((worker) => worker.role === 'cold');
  const going = [
    ...idle,
    ...serving.slice(0, Math.max(0, input.maxUnavailable - unavailable)),
    ...cold.slice(0, Math.max(0, BIRTHS_AT_ONCE - births(plan))),
  ];
  return going.reduce(
    (next, { name }) => changed(next, { type: 'destroy', name, why: 'OldTemplate' }, 'leaving'),
    plan,
  );
}

function isIdle({ isReady, wasEverReady, isOverdue }: ChoosableWorker): boolean {
  return !isReady && (!wasEverReady || isOverdue);
}

function births(plan: Plan): number {
  return coldOf(plan.workers).filter((worker) => !worker.wasEverReady).length + plan.rentedCold;
}

function rentCold(plan: Plan, input: ChooseInput): Plan {
  if (input.pause.scaleUp) return plan;
  let next = plan;
  // The places of hot workers that are missing are theirs.
  const missingHot = Math.max(0, input.hot - hotNow(plan));
  for (let missing = input.total - presentNow(plan) - missingHot; missing > 0; missing -= 1) {
    if (births(next) >= BIRTHS_AT_ONCE) return next;
    next = rentOne(next, input, 'Cold');
  }
  return next;
}

function dropCold(plan: Plan, input: ChooseInput): Plan {
  if (input.pause.scaleDown) return plan;
  const surplus = presentNow(plan) - Math.max(input.total, input.hot);
  if (surplus <= 0) return plan;
  const going = coldOf(undecided(plan))
    .filter((worker) => !worker.isHeld)
    .sort(byDrop)
    .slice(0, surplus);
  return going.reduce(
    (next, { name }) => changed(next, { type: 'destroy', name, why: 'Surplus' }, 'leaving'),
    plan,
  );
}
