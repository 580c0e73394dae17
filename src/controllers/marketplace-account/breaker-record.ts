import type { BreakerState } from '../../accounts/breaker.ts';
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
  const failure = incident(observed);
  if (failure) return { breaker: { ...during(observed, failure, word), ...closedBy(before, word) } };
  const closed = closedRecord(observed);
  if (word !== undefined) return { breaker: { ...closed, closedBy: word } };
  return before ? { breaker: closed } : {};
}

function closedBy(
  before: BreakerRecord | undefined,
  word: string | undefined,
): Pick<BreakerRecord, 'closedBy'> {
  const last = word ?? before?.closedBy;
  return last === undefined ? {} : { closedBy: last };
}

/** While more machines are unhealthy than are allowed: open, unless a person has said otherwise. */
function during(observed: Observed, failure: Incident, word: string | undefined): BreakerRecord {
  const before = observed.account.status?.breaker;
  const isSlow = failure.type === 'slow';
  const open = word === undefined && !(isSlow && failure.releasedBy === 'person');
  const releasedAt = isSlow ? failure.releasedAt : word === undefined ? undefined : observed.now;
  return {
    open,
    since: before?.open === open ? before.since : timestampOf(open ? failure.since : observed.now),
    unhealthy: failure.unhealthy,
    ...(releasedAt !== undefined && { releasedAt: before?.releasedAt ?? timestampOf(releasedAt) }),
  };
}

/** Closed since now, unless it was before. */
function closedRecord({ account, now }: Observed): BreakerRecord {
  const { releasedAt: _released, ...before } = account.status?.breaker ?? { open: false };
  const wasClosed = !before.open && 'since' in before;
  return wasClosed ? before : { unhealthy: 0, ...before, open: false, since: timestampOf(now) };
}

type Incident = Extract<BreakerState, { type: 'slow' }> | Extract<BreakerState, { type: 'open' }>;

/** More machines are unhealthy than are allowed. */
function incident({ session }: Observed): Incident | undefined {
  const state = session?.breaker;
  if (state?.type === 'slow') return state;
  return state?.type === 'open' && state.cause === 'massFailure' ? state : undefined;
}
