import { outageCause, outageDuration, outageText } from '../../api/v1alpha1/outage.ts';
import type { EventNote } from '../../runtime/events.ts';
import type { Facts } from './facts.ts';
import type { Decision, Step } from './types.ts';

/**
 * Notes on the object the outage of its account, if that stops it: one event when it begins and one when it is over, once
 * for each outage. A machine that runs and is ready is not stopped by it.
 */
export function withOutage(facts: Pick<Facts, 'object' | 'account' | 'clock'>, step: Step): Step {
  if (step.type !== 'decision' || !step.status) return step;
  const { status } = facts.object;
  const { outage: _before, ...fields } = step.status.fields;
  const outage = outageOf(facts, step.status);
  return {
    ...step,
    status: { ...step.status, fields: { ...fields, ...(outage && { outage }) } },
    events: [...step.events, ...outageEvents(facts, status?.outage, outage)],
  };
}

type Outage = NonNullable<Decision['status']>['fields']['outage'];

/**
 * Returns the outage. An account that is not ready for another reason, as for a moment after each start, proves no end
 * of it.
 */
function outageOf(
  { account, object }: Pick<Facts, 'object' | 'account'>,
  { verdict }: NonNullable<Decision['status']>,
): Outage {
  if (account.state !== 'notReady') return undefined;
  const before = object.status?.outage;
  const now = account.outage ?? before;
  if (verdict.Ready.status === 'True') return before && now;
  return now;
}

function outageEvents(
  { clock: { now } }: Pick<Facts, 'clock'>,
  before: Outage,
  outage: Outage,
): readonly EventNote[] {
  if (outage && outage.since !== before?.since) {
    const note = `${outageText(outage, now)} This object waits for it.`;
    return [{ type: 'Warning', reason: outage.reason, action: 'Waiting', note }];
  }
  if (!before || outage) return [];
  const note = `Service restored after ${outageDuration(before, now)}. Cause: ${outageCause(before)}.`;
  return [{ type: 'Normal', reason: 'ServiceRestored', action: 'Waiting', note }];
}
