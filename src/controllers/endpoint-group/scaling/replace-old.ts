import {
  BIRTHS_AT_ONCE,
  births,
  type ChoosableWorker,
  type ChooseInput,
  changed,
  cut,
  hotNow,
  type Plan,
  presentNow,
  priceNow,
  priceOfNext,
  undecided,
} from './plan.ts';
import { byDrop, coldOf, hotOf } from './worker-counts.ts';

/**
 * Old ones of use to nobody go at once, the other hot ones only as far as no more than `maxUnavailable` are missing
 * then, and cold ones as far as others may come in their place; each of these only where the ceiling lets another come.
 * None goes while the group is paused: its place would stay empty, or it may not go at all.
 */
export function replaceOld(plan: Plan, input: ChooseInput): Plan {
  const { maxUnavailable, pause } = input;
  if (maxUnavailable === undefined || pause.scaleUp || pause.scaleDown) return plan;
  const old = undecided(plan)
    .filter((worker) => !worker.isCurrentTemplate && !worker.isHeld && !worker.isSpared)
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
  old: readonly ChoosableWorker[],
  { hot, maxUnavailable }: { readonly hot: number; readonly maxUnavailable: number },
): readonly ChoosableWorker[] {
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
function isUseless({ isReady, hasRun, isOverdue, isUnreachable }: ChoosableWorker): boolean {
  return !isReady && (!hasRun || isOverdue || isUnreachable);
}

/** No more than there may be births, those among them that are still to come: the pool is never emptied at once. */
function replaceableCold(
  plan: Plan,
  old: readonly ChoosableWorker[],
  input: ChooseInput,
): readonly ChoosableWorker[] {
  const toCome = Math.max(0, allPlaces(plan, input));
  return old.slice(0, Math.max(0, BIRTHS_AT_ONCE - births(plan) - toCome));
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
function goneIfPaidFor(plan: Plan, going: readonly ChoosableWorker[], input: PaidFor): Plan {
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

function leavingOf({ workers }: Plan): readonly ChoosableWorker[] {
  return workers.filter(({ role }) => role === 'leaving');
}

function gone(plan: Plan, { name }: ChoosableWorker): Plan {
  return changed(plan, { type: 'destroy', name, why: 'OldTemplate' }, 'leaving');
}
