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
 * Old ones that never served go at once, those that serve as far as enough others do, and cold ones as far as others
 * may come in their place. None goes while the group is paused: its place would stay empty, or it may not go at all.
 */
export function replaceOld(plan: Plan, input: ChooseInput): Plan {
  const { maxUnavailable, pause } = input;
  if (maxUnavailable === undefined || pause.scaleUp || pause.scaleDown) return plan;
  const old = undecided(plan)
    .filter((worker) => !worker.isCurrentTemplate && !worker.isHeld)
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

/** One that wakes is let serve first: it was woken because it is needed now. */
function replaceableHot(
  { workers }: Plan,
  old: readonly ChoosableWorker[],
  { hot, maxUnavailable }: { readonly hot: number; readonly maxUnavailable: number },
): readonly ChoosableWorker[] {
  const ready = hotOf(workers).filter((worker) => worker.isReady).length;
  const unavailable = Math.max(0, hot - ready);
  const idle = old.filter(isIdle);
  const serving = old.filter((worker) => worker.isReady);
  return [...idle, ...serving.slice(0, Math.max(0, maxUnavailable - unavailable))];
}

function isIdle({ isReady, wasEverReady, isOverdue }: ChoosableWorker): boolean {
  return !isReady && (!wasEverReady || isOverdue);
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
