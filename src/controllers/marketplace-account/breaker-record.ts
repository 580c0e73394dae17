import type { BreakerState } from '../../accounts/watch/breaker.ts';
import { askedWord } from '../../api/v1alpha1/asked-word.ts';
import type { MarketplaceAccount, MarketplaceAccountStatus } from '../../api/v1alpha1/marketplace-account.ts';
import { annotations } from '../../api/v1alpha1/names.ts';
import { timestampOf } from '../../runtime/writes/timestamp.ts';
import type { Observed } from './types.ts';

/** The value of the annotation by which a person wants the breaker closed now; undefined where it was handled before. */
export function closingWord({ metadata, status }: MarketplaceAccount): string | undefined {
  const word = askedWord(metadata, annotations.closeBreaker);
  return word === status?.breaker?.closedBy ? undefined : word;
}

type BreakerRecord = NonNullable<MarketplaceAccountStatus['breaker']>;

/**
 * Only a mass failure is worth remembering: a failed list closes by itself. A person's word is handled as soon as it is
 * seen, whether or not there is anything to close: it never closes a failure that comes later.
 */
export function breakerRecord(observed: Observed): Pick<MarketplaceAccountStatus, 'breaker'> {
  const before = observed.account.status?.breaker;
  const word = closingWord(observed.account);
  const failure = massFailure(observed);
  if (failure && word === undefined) return { breaker: openRecord(failure, before) };
  const closed = closedRecord(observed, failure?.newlyBad);
  if (word !== undefined) return { breaker: { ...closed, closedBy: word } };
  return before ? { breaker: closed } : {};
}

function openRecord({ since, newlyBad }: MassFailure, before: BreakerRecord | undefined): BreakerRecord {
  return { ...before, open: true, since: before?.open ? before.since : timestampOf(since), newlyBad };
}

/** Closed since now, unless it was before. `newlyBad`: of the failure that ends with it. */
function closedRecord({ account, now }: Observed, newlyBad: number | undefined): BreakerRecord {
  const before = account.status?.breaker;
  if (before && !before.open && newlyBad === undefined) return before;
  return { ...before, open: false, since: timestampOf(now), newlyBad: newlyBad ?? before?.newlyBad ?? 0 };
}

type MassFailure = Extract<BreakerState, { type: 'open' }>;

function massFailure({ session }: Observed): MassFailure | undefined {
  const state = session?.breaker;
  return state?.type === 'open' && state.cause === 'massFailure' ? state : undefined;
}
