import {
  BIRTHS_AT_ONCE,
  births,
  type ChoosableWorker,
  type ChooseInput,
  changed,
  type Plan,
  presentNow,
  priceNow,
  undecided,
} from './plan.ts';
import { byDrop, coldOf, hotOf } from './worker-counts.ts';

/**
 * Old ones of use to nobody go at once, the other hot ones only as far as no more than `maxUnavailable` are missing
 * then, and cold ones as far as others may come in their place. None goes while the group is paused: its place would
 * stay empty, or it may not go at all.
 */
export function replaceOld(plan: Plan, input: ChooseInput): Plan {
  const { maxUnavailable, pause } = input;
  if (maxUnavailable === undefined || pause.scaleUp || pause.scaleDown) return plan;
  const old = undecided(plan)
    .filter((worker) => !worker.isCurrentTemplate && !worker.isHeld && !worker.isSpared)
    .sort(byDrop);
  const going = [
    ...replaceableHot(plan, hotOf(old), { hot: input.hot, maxUnavailable }),
    ...replaceableCold(plan, coldOf(old), input),
  ];
  return going.reduce(
    (next, { name }) => changed(next, { type: 'destroy', name, why: 'OldTemplate' }, 'leaving'),
    plan,
  );
}

/** One that is away for a moment is missing already: it may be the one that is missing, and no more than that. */
function replaceableHot(
  { workers }: Plan,
  old: readonly ChoosableWorker[],
  { hot, maxUnavailable }: { readonly hot: number; readonly maxUnavailable: number },
): readonly ChoosableWorker[] {
  const ready = hotOf(workers).filter((worker) => worker.isReady).length;
  const missing = Math.max(0, hot - ready);
  const useless = old.filter(isUseless);
  const away = old.filter((worker) => !worker.isReady && !isUseless(worker));
  const serving = old.filter((worker) => worker.isReady);
  return [
    ...useless,
    ...away.slice(0, Math.max(0, maxUnavailable - Math.max(0, missing - away.length))),
    ...serving.slice(0, Math.max(0, maxUnavailable - missing)),
  ];
}

/** Never served, has not come back for longer than a boot takes, or serves where nobody can be led to. */
function isUseless({ isReady, hasRun, isOverdue, isUnreachable }: ChoosableWorker): boolean {
  return !isReady && (!hasRun || isOverdue || isUnreachable);
}

/** Those whose places can be paid for anew: a pool that the ceiling lets nobody into keeps what it has. */
function replaceableCold(
  plan: Plan,
  old: readonly ChoosableWorker[],
  { hot, total, ceiling, priceOfNew }: ChooseInput,
): readonly ChoosableWorker[] {
  const next = old.slice(0, Math.max(0, BIRTHS_AT_ONCE - births(plan)));
  if (ceiling === undefined) return next;
  const missing = Math.max(hot, total) - presentNow(plan);
  const price = priceOfNew ?? Number.POSITIVE_INFINITY;
  return next.filter((_, index) => {
    const going = next.slice(0, index + 1);
    const left = going.reduce((spend, worker) => spend - priceNow(worker), plan.spend);
    const coming = missing + going.length;
    return coming <= 0 || left + coming * price <= ceiling;
  });
}
