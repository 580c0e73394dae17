import { type Outage, outageCause, outageDuration, outageText } from '../../api/v1alpha1/outage.ts';
import { facetsOf, type Reason } from '../../api/v1alpha1/reasons.ts';
import { formatTime, parseTime } from '../../lib/time.ts';
import type { Failure } from './key-proof.ts';
import type { Observed, ReportedEvent } from './types.ts';

/** Number of consecutive lists that may fail without a condition. */
const TOLERATED_FAILURES = 1;
/** Number of consecutive checks of the key that may stay unanswered while lists arrive. */
const TOLERATED_CHECKS = 1;

/** Returns the reason for a marketplace outage by a failed request. */
export function reasonOf({ kind, badCertificate }: Failure): Reason {
  if (badCertificate) return 'AddressInvalid';
  switch (kind) {
    case 'throttled':
    case 'quotaExceeded':
      return 'Throttled';
    case 'malformedReply':
      return 'Unreachable';
    case 'blockedAddress':
      return 'AddressInvalid';
    case 'forbidden':
      return 'KeyTooNarrow';
    default:
      return 'Unreachable';
  }
}

/** Returns the failure for which no list arrives; undefined while lists arrive, or if only one has failed. */
export function listFailure({ session, proof }: Observed): Failure | undefined {
  if (!session) return proof.type === 'failed' ? proof.failure : undefined;
  const { consecutiveFailures, lastCompleteAt } = session.health;
  const tolerated = lastCompleteAt === undefined ? 0 : TOLERATED_FAILURES;
  return consecutiveFailures > tolerated ? session.failure : undefined;
}

/**
 * Returns the outage of a marketplace that serves no lists, or does not verify the key. Its cause is that of the first
 * failure while the reason stays: replies that change at each poll would write the status each time.
 */
export function marketplaceOutage(observed: Observed): Outage | undefined {
  const { session, proof, now, keyFailingSince = now, keyUnanswered } = observed;
  const failure = listFailure(observed);
  if (failure) return continued(observed, outageOf(failure, session?.health.failingSince ?? keyFailingSince));
  const isUnchecked = proof.type === 'failed' && keyUnanswered > TOLERATED_CHECKS;
  return isUnchecked ? continued(observed, outageOf(proof.failure, keyFailingSince)) : undefined;
}

function outageOf(failure: Failure, since: number): Outage {
  return { reason: reasonOf(failure), since: formatTime(since), ...figuresOf(failure) };
}

/** Status and code of a failure, as far as there are any. */
export function figuresOf({ httpStatus, code }: Failure): Pick<Outage, 'httpStatus' | 'code'> {
  return {
    ...(httpStatus !== undefined && { httpStatus }),
    ...(code !== undefined && code !== '' && { code: code.slice(0, 64) }),
  };
}

/** Returns the continued outage on record, with a new cause and the old start. */
export function continued({ account }: Observed, found: Outage): Outage {
  const before = account.status?.outage;
  if (!before || !isSame(before, found)) return found;
  return before.reason === found.reason ? before : { ...found, since: before.since };
}

function isSame(before: Outage, now: Outage): boolean {
  return (
    before.reason === now.reason ||
    (facetsOf(before.reason).loses === 'marketplace' && facetsOf(now.reason).loses === 'marketplace')
  );
}

/** Returns one event at the start of an outage, unless `reported` names it, and one at its end. */
export function outageEvents(
  { account, now }: Observed,
  outage: Outage | undefined,
  reported: readonly ReportedEvent[],
): readonly ReportedEvent[] {
  const before = account.status?.outage;
  const isNew = outage !== undefined && (!before || !isSame(before, outage));
  const isReported = reported.some(({ reason }) => reason === outage?.reason);
  return [
    ...(before && !outage ? [restored(before, now)] : []),
    ...(isNew && !isReported ? [started(outage, now)] : []),
  ];
}

function started(outage: Outage, now: number): ReportedEvent {
  const figures = eventFigures(outage, now);
  return {
    type: 'Warning',
    reason: outage.reason,
    action: 'CheckAccount',
    note: outageText(outage, now),
    figures,
  };
}

function restored(outage: Outage, now: number): ReportedEvent {
  const note = `Service restored after ${outageDuration(outage, now)}. Cause: ${outageCause(outage)}.`;
  const figures = eventFigures(outage, now);
  return { type: 'Normal', reason: 'ServiceRestored', action: 'CheckAccount', note, figures };
}

/** Returns cause, status, code and duration of an outage, for the log. */
export function eventFigures({ reason, since, httpStatus, code }: Outage, now: number) {
  const seconds = Math.max(0, Math.round((now - (parseTime(since) ?? now)) / 1000));
  return { cause: reason, httpStatus, code, seconds };
}
