import type { InstanceSummary } from '../../src/instance/summary.ts';

/** Returns an object of an account that has nothing yet, with the test's changes. */
export function instanceSummary(change: Partial<InstanceSummary> = {}): InstanceSummary {
  return {
    uid: 'u1',
    key: 'team/a',
    deleting: false,
    instanceId: undefined,
    claim: undefined,
    leaving: false,
    wasListed: false,
    isReplaceable: true,
    lastEndedAt: undefined,
    adopted: undefined,
    hasOpenIntent: false,
    hasProvenIntent: false,
    hasDoubtfulIntent: false,
    hasOpenStart: false,
    offerPrice: undefined,
    pricePerHour: 0,
    hasUnknownPrice: false,
    maxPrice: undefined,
    rentals: [],
    spentThisMonth: 0,
    unconfirmedPerHour: 0,
    unconfirmedThisMonth: 0,
    newestRentalAt: undefined,
    ...change,
  };
}
