import { decide } from '../../src/controllers/marketplace-account/decide.ts';
import type { Action, Decision, Observed } from '../../src/controllers/marketplace-account/types.ts';
import { goldenTables } from './golden-tables.ts';
import { observed } from './observed-account.ts';

/** Tables of what accounts decide: conditions, fields and events are golden text. */
export function accountDecisionTables(name: string) {
  return goldenTables<Partial<Observed>, readonly string[]>(name, (situation) => {
    const decision = decide(observed(situation));
    return {
      outline: [...decision.actions.map(inWords), ...decision.events.map(({ reason }) => `event ${reason}`)],
      text: whole(decision),
      conditions: decision.status.conditions ?? [],
    };
  });
}

function inWords(action: Action): string {
  if (action.type === 'setReadiness') return `ready ${action.why?.reason ?? 'for rentals'}`;
  return action.type;
}

function whole({ status, actions, events, needsFinalizer, requeueAfterMs }: Decision): string {
  const { conditions = [], ...fields } = status;
  return [
    `looks in ${requeueAfterMs} ms; finalizer ${needsFinalizer}`,
    ...conditions.map(
      ({ type, status: is, reason, message, lastTransitionTime }) =>
        `${type} ${is} ${reason} since ${lastTransitionTime}: ${message}`,
    ),
    ...Object.entries(fields).map(([name, value]) => `field ${name}: ${JSON.stringify(value)}`),
    ...actions.map((action) => `act ${JSON.stringify(action)}`),
    ...events.map(({ type, reason, note }) => `event ${type} ${reason}: ${note}`),
  ].join('\n');
}
