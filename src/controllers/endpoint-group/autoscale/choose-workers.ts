import { byDrop, byValue, cheapestCover, coldOf, hotOf, sumOfPerf } from './cover.ts';
import {
  type Choice,
  type ChooseInput,
  changed,
  cut,
  deferred,
  emptyPlan,
  firstBoots,
  hotNow,
  isAffordable,
  MAX_SURGE,
  type Plan,
  presentNow,
  rentOne,
  replaceOld,
  undecided,
  woken,
} from './plan.ts';
import type { ScalingWorker } from './scaling-worker.ts';

type Step = (plan: Plan, input: ChooseInput) => Plan;

/** Steps in order: failures first, load before templates, and cold workers last. */
const STEPS: readonly Step[] = [
  clearEnded,
  withdrawBeyondCeiling,
  giveUpFailedWakes,
  replaceBroken,
  wake,
  rentHot,
  dropHot,
  replaceOld,
  rentCold,
  dropCold,
];

/**
 * Returns the workers to wake, rent, stop and destroy to reach the desired numbers within `maxWorkers` and the
 * ceiling.
 */
export function chooseWorkers(input: ChooseInput): Choice {
  const plan = STEPS.reduce((before, step) => step(before, input), emptyPlan(input.workers));
  return { changes: plan.changes, cutByCeiling: missingBy(plan, input) };
}

/**
 * Returns the number of workers that are missing because of the ceiling; 0 if it prevented none. A worker refused as
 * hot and as cold counts once.
 */
function missingBy(plan: Plan, { hot, total }: ChooseInput): number {
  if (!plan.isCut) return 0;
  return Math.max(1, hot - hotNow(plan), total - presentNow(plan));
}

/** Destroys workers that serve nothing and have no machine to lose. Others replace them if needed. */
function clearEnded(plan: Plan, { pause }: ChooseInput): Plan {
  if (pause.scaleUp || pause.scaleDown) return plan;
  const ended = plan.workers.filter(
    ({ role, hasEnded, hasOldPrice, isOnHold }) =>
      role !== 'leaving' && (hasEnded || hasOldPrice) && !isOnHold,
  );
  return ended.reduce((next, { name, hasEnded }) => {
    const why = hasEnded ? 'Ended' : 'OldPrice';
    return changed(next, { type: 'destroy', name, why }, 'leaving');
  }, plan);
}

/** Destroys workers that wait for a machine beyond the ceiling, since they would still rent it. */
function withdrawBeyondCeiling(plan: Plan, { pause }: ChooseInput): Plan {
  if (pause.scaleDown) return plan;
  const waiting = undecided(plan).filter(
    ({ role, isBeyondCeiling, isOnHold }) => role !== 'leaving' && isBeyondCeiling === true && !isOnHold,
  );
  return waiting.reduce(
    (next, { name }) => cut(changed(next, { type: 'destroy', name, why: 'BeyondCeiling' }, 'leaving')),
    plan,
  );
}

/** Destroys workers that failed to wake, and rents others if the load needs them. */
function giveUpFailedWakes(plan: Plan, input: ChooseInput): Plan {
  if (input.pause.scaleDown) return plan;
  const failed = plan.workers.filter(
    (worker) => worker.role === 'hot' && worker.hasWakeFailed && !worker.isOnHold,
  );
  return failed.reduce((next, { name }) => {
    const without = changed(next, { type: 'destroy', name, why: 'WakeTimedOut' }, 'leaving');
    const isMissed = hotNow(without) < input.hot && !input.pause.scaleUp;
    return isMissed ? rentOne(without, input, 'Hot') : without;
  }, plan);
}

/**
 * Destroys one broken worker at a time, and none while another worker boots or leaves: in a mass failure the next one
 * must first prove that it serves. The load then rents its replacement within `maxWorkers` and the ceiling.
 */
function replaceBroken(plan: Plan, { pause }: ChooseInput): Plan {
  if (pause.scaleUp || pause.scaleDown) return plan;
  // A worker that boots for the cold pool is billed as well, and may never be ready either.
  const staying = [...hotOf(plan.workers), ...coldOf(plan.workers)];
  const isOneComing =
    plan.workers.some(({ role }) => role === 'leaving') ||
    staying.some(
      ({ isReady, isRunning, isBroken, isOverdue }) =>
        isRunning && !isReady && isBroken !== true && !isOverdue,
    );
  const [broken] = staying
    .filter(({ isBroken, isPaced, isOnHold }) => isBroken === true && isPaced !== true && !isOnHold)
    .sort(byDrop);
  if (!broken || isOneComing) return plan;
  return changed(plan, { type: 'destroy', name: broken.name, why: 'Broken' }, 'leaving');
}

/** Wakes running cold workers first, which add no cost, then those with the best performance per dollar. */
function wake(plan: Plan, input: ChooseInput): Plan {
  if (input.pause.scaleUp) return plan;
  const candidates = coldOf(plan.workers)
    .filter((worker) => !worker.isRunning || worker.isReady)
    .sort((a, b) => wakeRank(a) - wakeRank(b) || byValue(a, b));
  return candidates.reduce((next, worker) => {
    if (hotNow(next) >= input.hot) return next;
    const extra = worker.isRunning ? 0 : worker.pricePerHour - worker.coldPricePerHour;
    return isAffordable(next, extra, input) ? woken(next, worker.name, extra) : cut(next);
  }, plan);
}

function wakeRank(worker: ScalingWorker): number {
  return (worker.isRunning ? 0 : 2) + (worker.isCurrentTemplate ? 0 : 1);
}

function rentHot(plan: Plan, input: ChooseInput): Plan {
  if (input.pause.scaleUp) return plan;
  // A worker that boots for the cold pool serves as soon as a new one and is already billed.
  let next = wakeRunning(plan, input, (worker) => worker.isCurrentTemplate);
  for (let missing = input.hot - hotNow(next); missing > 0; missing -= 1) next = rentOne(next, input, 'Hot');
  if (!next.isCut) return next;
  // If the ceiling allows no other, an outdated worker is better than none. If its host is gone, the wake shows that,
  // and the worker is replaced instead of blocking the room.
  return wakeRunning(next, input, (worker) => !worker.isCurrentTemplate);
}

/** Makes running cold workers hot while hot ones are missing; they are already billed. */
function wakeRunning(plan: Plan, { hot }: ChooseInput, applies: (worker: ScalingWorker) => boolean): Plan {
  return coldOf(plan.workers)
    .filter((worker) => worker.isRunning && !worker.isReady && applies(worker))
    .slice(0, Math.max(0, hot - hotNow(plan)))
    .reduce((next, { name }) => changed(next, { type: 'wake', name }, 'hot'), plan);
}

/**
 * Stops or destroys surplus hot workers. The cheapest cover stays unless `maxWorkers` prevents it; the rest becomes
 * cold if the pool has room. Workers that do not serve are removed first, as in a ReplicaSet. Serving workers are
 * removed only if others serve in their place.
 */
function dropHot(plan: Plan, input: ChooseInput): Plan {
  if (input.pause.scaleDown) return plan;
  const hot = hotOf(plan.workers);
  const surplus = hot.length + plan.rentedHot - input.hot;
  if (surplus <= 0) return plan;
  const kept = new Set(coverOf(hot, input));
  const leaving = hot
    .filter((worker) => !kept.has(worker.name) && !worker.isOnHold)
    .sort((a, b) => Number(a.isReady) - Number(b.isReady) || byDrop(a, b))
    .slice(0, surplus);
  return leaving.reduce(
    (next, worker) => (isMissed(next, worker, input) ? deferred(next) : stopOrDestroy(next, worker, input)),
    plan,
  );
}

/** Returns true if the other serving workers would not suffice without this one: the cover may still boot, or fail. */
function isMissed({ workers }: Plan, { name, isReady }: ScalingWorker, input: ChooseInput): boolean {
  const others = hotOf(workers).filter((worker) => worker.isReady && worker.name !== name);
  const isCovered = input.hotCapacity > 0 && sumOfPerf(others) >= input.hotCapacity;
  return isReady && others.length < input.hot && !isCovered;
}

/** Returns the names of the workers that should stay; none if the cover exceeds `maxWorkers`. */
function coverOf(hot: readonly ScalingWorker[], { hotCapacity, maxWorkers }: ChooseInput): readonly string[] {
  const onHold = hot.filter((worker) => worker.isOnHold);
  const free = hot.filter((worker) => !worker.isOnHold);
  const cover = cheapestCover(free, hotCapacity - sumOfPerf(onHold));
  return onHold.length + cover.length > maxWorkers ? [] : cover.map((worker) => worker.name);
}

function stopOrDestroy(plan: Plan, worker: ScalingWorker, input: ChooseInput): Plan {
  const { name } = worker;
  const hasRoom = presentNow(plan) <= input.total;
  if (hasRoom && !worker.isOverdue) return changed(plan, { type: 'park', name }, 'cold');
  return changed(plan, { type: 'destroy', name, why: 'Surplus' }, 'leaving');
}

function rentCold(plan: Plan, input: ChooseInput): Plan {
  if (input.pause.scaleUp) return plan;
  let next = plan;
  // Missing hot workers need their places.
  const missingHot = Math.max(0, input.hot - hotNow(plan));
  for (let missing = input.total - presentNow(plan) - missingHot; missing > 0; missing -= 1) {
    if (firstBoots(next) >= MAX_SURGE) return next;
    next = rentOne(next, input, 'Cold');
  }
  return next;
}

function dropCold(plan: Plan, input: ChooseInput): Plan {
  if (input.pause.scaleDown) return plan;
  const surplus = presentNow(plan) - plan.deferred - Math.max(input.total, input.hot);
  if (surplus <= 0) return plan;
  const going = coldOf(undecided(plan))
    .filter((worker) => !worker.isOnHold)
    .sort(byDrop)
    .slice(0, surplus);
  return going.reduce(
    (next, { name }) => changed(next, { type: 'destroy', name, why: 'Surplus' }, 'leaving'),
    plan,
  );
}
