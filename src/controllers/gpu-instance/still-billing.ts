import { facetsOf } from '../../api/v1alpha1/reasons.ts';
import { billedPerHour, isChargedAsStopped } from '../../instance/cost.ts';
import { isStopped, recordedState } from '../../instance/machine-state.ts';
import type { Facts } from './facts.ts';
import type { ConditionState, StatusFields, Step, Verdict } from './types.ts';

/** The figure of an hour, as messages write it. */
const HOURLY = /\$[\d.]+\/h\b/;

/**
 * Adds what the machine of the object bills to a status that says why it does not work, or is not to: in each such message,
 * whichever rule wrote it. A machine that works or boots, and a message that has the figure, stay as they are.
 */
export function withBilling({ object }: Pick<Facts, 'object'>, step: Step): Step {
  if (step.type !== 'decision' || !step.status) return step;
  const { fields, verdict } = step.status;
  const { Ready, Stalled } = verdict;
  const isRented = verdict.Rented.status === 'True' && object.spec.adopt?.policy !== 'Observe';
  const text = isRented && isIdle(Ready) ? billingOf(fields) : undefined;
  if (text === undefined) return step;
  const add = (state: ConditionState): ConditionState =>
    HOURLY.test(state.message) ? state : { ...state, message: `${state.message} ${text}` };
  const billing: Verdict = { ...verdict, Ready: add(Ready), ...(Stalled && { Stalled: add(Stalled) }) };
  return { ...step, status: { fields, verdict: billing } };
}

function isIdle({ reason }: ConditionState): boolean {
  const { kind, billsWhileIdle } = facetsOf(reason);
  return kind === 'retryable' || kind === 'terminal' || billsWhileIdle === true;
}

/** Returns the sentence on the present billing of the machine of a status; undefined without a machine. */
function billingOf(fields: StatusFields): string | undefined {
  const { instanceId } = fields;
  if (instanceId === undefined) return undefined;
  const isDisk = isStopped(recordedState(fields)) || isChargedAsStopped(fields);
  const what = isDisk ? `The disk of machine ${instanceId}` : `Machine ${instanceId}`;
  const price = billedPerHour(fields);
  return price === undefined ? `${what} bills.` : `${what} bills $${price}/h.`;
}
