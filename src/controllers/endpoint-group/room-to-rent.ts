import { isRefusedIn } from './refusals.ts';
import type { Change, Choice } from './scaling/plan.ts';
import type { Observed } from './types.ts';
import type { Worker } from './workers/worker.ts';

/** What of the choice is done in this pass: the rest is chosen again in a later one. */
export function doneNow(choice: Choice, observed: Observed): readonly Change[] {
  let room = roomToRent(observed);
  return choice.changes.filter((change) => change.type !== 'rent' || room-- > 0);
}

/**
 * Workers that are taken in count from the next pass on, and may be all that is needed; one that cannot be taken in has
 * its place all the same, since it may bill. Where workers are to stand apart, each is rented before the next is made,
 * since it must know where they are; one that can rent none, or has found none for longer than a boot may take, is not
 * waited for.
 */
function roomToRent({ group, workers, orphans, refused }: Observed): number {
  const lost = orphans.filter((object) => isRefusedIn(refused, { type: 'adopt', object }));
  if (lost.length < orphans.length) return 0;
  const places = group.spec.maxWorkers - workers.length - lost.length;
  if (group.spec.spreadBy === 'None') return places;
  return workers.some(isRenting) ? 0 : Math.min(1, places);
}

function isRenting({ isRented, isStopped, isDeleting, isStalled, isOverdue }: Worker): boolean {
  return !isRented && !isStopped && !isDeleting && !isStalled && !isOverdue;
}
