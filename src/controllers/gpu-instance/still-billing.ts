import { facetsOf } from '../../api/v1alpha1/reasons.ts';
import { billedPerHour, isChargedAsStopped } from '../../instance/cost.ts';
import { isStopped, recordedState } from '../../instance/machine-state.ts';
import type { Added, StatusDecision } from './decision.ts';
import type { Facts } from './facts.ts';
import type { ConditionState, StatusFields } from './types.ts';

/** The figure of an hour, as messages write it. */
const HOURLY = /\$[\d.]+\/h\b/;

/**
 * Returns the status messages that report why the machine does not work or must not work, with the machine's billing,
 * whichever rule wrote them. Messages of a working or booting machine, and messages with the figure, stay unchanged.
 */
export function addedBilling(
  { object }: Pick<Facts, 'object'>,
  {
    status: {
      fields,
      verdict: { Ready, Stalled, Rented },
    },
  }: StatusDecision,
): Added<'Ready' | 'Stalled'> {
  const isRented = Rented.status === 'True' && object.spec.adopt?.policy !== 'Observe';
  const text = isRented && isIdle(Ready) ? billingOf(fields) : undefined;
  if (text === undefined) return {};
  const add = (state: ConditionState): ConditionState =>
    HOURLY.test(state.message) ? state : { ...state, message: `${state.message} ${text}` };
  return { conditions: { Ready: add(Ready), ...(Stalled && { Stalled: add(Stalled) }) } };
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
