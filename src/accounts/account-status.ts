import type { MarketplaceAccount } from '../api/v1alpha1/marketplace-account.ts';
import { rentalTimes } from '../instance/rentals.ts';
import { parseDuration } from '../lib/duration.ts';
import { parseDollars } from '../lib/money.ts';
import type { AvoidEntry } from './avoid-list.ts';
import type { DepartedSums } from './tickets/spend-brake.ts';
import type { BreakerState } from './watch/breaker.ts';

/** Milliseconds between two polls of an account: what it asks for, not below the operator's floor. */
export function pollIntervalOf(account: MarketplaceAccount, floorMs: number): number {
  return Math.max(floorMs, parseDuration(account.spec.pollInterval) ?? 10_000);
}

/** The avoid list that a status remembers. */
export function avoidOf(account: MarketplaceAccount): readonly AvoidEntry[] {
  return (account.status?.avoid ?? []).map(({ kind, id, until, failures, reason, namespace }) => ({
    target: { type: kind === 'Host' ? 'host' : 'machine', id },
    until: Date.parse(until),
    failures,
    reason,
    ...(namespace !== undefined && { namespace }),
  }));
}

/** The breaker that a status remembers: what a process that has just started goes by. */
export function breakerOf(account: MarketplaceAccount): BreakerState {
  const { breaker } = account.status ?? {};
  const isOpen = breaker?.open === true;
  if (!breaker || (!isOpen && breaker.releasedAt === undefined)) return { type: 'closed' };
  const { unhealthy = 0 } = breaker;
  const since = Date.parse(breaker.since);
  if (breaker.releasedAt === undefined) {
    const message = 'The breaker is open in the status of the account; nothing is replaced or swept.';
    return { type: 'open', since, cause: 'massFailure', unhealthy, message };
  }
  const message =
    'The breaker is released in the status of the account; machines are replaced one at a time.';
  const releasedBy = isOpen ? 'hold' : 'person';
  const releasedAt = Date.parse(breaker.releasedAt);
  return { type: 'slow', since, releasedAt, releasedBy, unhealthy, message, turn: undefined };
}

/** What deleted objects left. */
export function departedOf(account: MarketplaceAccount): DepartedSums | undefined {
  const departed = account.status?.deletedObjects;
  if (!departed) return undefined;
  return { month: departed.month, spent: parseDollars(departed.spent) ?? 0, rentals: rentalTimes(departed) };
}
