import { type Outage, outageCause, outageDuration, outageText } from '../../api/v1alpha1/outage.ts';
import type { EventNote } from '../../runtime/events.ts';
import type { Added, StatusDecision } from './decision.ts';
import type { Facts } from './facts.ts';

/**
 * Returns the outage of the account, if that stops the object: one event when it begins and one when it is over, once
 * for each outage. A machine that runs and is ready is not stopped by it.
 */
export function addedOutage(
  facts: Pick<Facts, 'object' | 'account' | 'clock'>,
  { status }: StatusDecision,
): Added {
  const { outage: _before, ...fields } = status.fields;
  const outage = outageOf(facts, status);
  return {
    fields: { ...fields, ...(outage && { outage }) },
    events: outageEvents(facts, facts.object.status?.outage, outage),
  };
}

/**
 * Returns the outage. An account that is not ready for another reason, such as just after a start, does not prove
 * that the outage has ended.
 */
function outageOf(
  { account, object }: Pick<Facts, 'object' | 'account'>,
  { verdict }: StatusDecision['status'],
): Outage | undefined {
  if (account.state !== 'notReady') return undefined;
  const before = object.status?.outage;
  const now = account.outage ?? before;
  if (verdict.Ready.status === 'True') return before && now;
  return now;
}

function outageEvents(
  { clock: { now } }: Pick<Facts, 'clock'>,
  before: Outage | undefined,
  outage: Outage | undefined,
): readonly EventNote[] {
  if (outage && outage.since !== before?.since) {
    const note = `${outageText(outage, now)} This object waits for it.`;
    return [{ type: 'Warning', reason: outage.reason, action: 'Waiting', note }];
  }
  if (!before || outage) return [];
  const note = `Service restored after ${outageDuration(before, now)}. Cause: ${outageCause(before)}.`;
  return [{ type: 'Normal', reason: 'ServiceRestored', action: 'Waiting', note }];
}
