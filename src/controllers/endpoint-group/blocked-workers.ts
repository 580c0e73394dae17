import { type Reason, reasons } from '../../api/v1alpha1/reasons.ts';
import { findCondition } from '../../runtime/conditions.ts';
import type { Worker } from './workers/worker.ts';

/**
 * Why workers that are wanted hot, or cold, have no machine, as far as they tell more than that the operator is at work on it: the reason of the
 * first by name, how many share it, and that one's name. Undefined where none of them waits for anything.
 */
export function blockedWorkers(workers: readonly Worker[], desiredRole: 'Hot' | 'Cold'): string | undefined {
  const waiting = workers
    .filter((worker) => !worker.isDeleting && worker.desiredRole === desiredRole && !worker.isRented)
    .flatMap(({ name, object }) => {
      const rented = findCondition(object.status?.conditions, 'Rented');
      return rented?.status === 'False' && isObstacle(rented.reason) ? [{ name, reason: rented.reason }] : [];
    })
    .toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const [first] = waiting;
  if (!first) return undefined;
  const count = waiting.filter(({ reason }) => reason === first.reason).length;
  return `${count === 1 ? '1 has' : `${count} have`} no machine (${first.reason}): look at the conditions of worker ${first.name}.`;
}

function isObstacle(reason: string): boolean {
  if (!Object.hasOwn(reasons, reason)) return false;
  const { kind } = reasons[reason as Reason];
  return kind === 'retryable' || kind === 'terminal';
}
