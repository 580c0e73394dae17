import { changesOf, eventsFor } from '../../src/controllers/endpoint-group/actions.ts';
import { decide } from '../../src/controllers/endpoint-group/decide.ts';
import type { Action, Decision } from '../../src/controllers/endpoint-group/types.ts';
import { goldenTables } from './golden-tables.ts';
import { type GroupSituation, NOW, observedGroup } from './observed-group.ts';

/** Tables of what groups decide: conditions, figures and events are golden text. */
export function groupDecisionTables(name: string) {
  return goldenTables<GroupSituation, readonly string[]>(name, (situation) => {
    const decision = decide(observedGroup(situation));
    return {
      outline: decision.actions.map(inWords),
      text: whole(decision),
      conditions: decision.status.conditions ?? [],
    };
  });
}

function inWords(action: Action): string {
  switch (action.type) {
    case 'create':
      return `create ${action.desiredRole} ${action.ordinal}`;
    case 'order': {
      const { desiredRole, powerState } = action.order;
      return `order ${action.worker.name} ${desiredRole} ${powerState}`;
    }
    case 'update':
      return `update ${action.worker.name}`;
    case 'delete':
    case 'reportHostFailure':
      return `${action.type} ${action.worker.name}`;
    case 'adopt':
      return `adopt ${action.object.metadata.name}`;
    case 'release':
      return 'release';
  }
}

function whole({ status, endpoints, actions, because, memory, ...decision }: Decision): string {
  const { conditions = [], phase, autoscaling, ...figures } = status;
  return [
    `phase ${phase}; looks in ${decision.requeueAfterMs} ms, ticks in ${memory.nextTickAt - NOW} ms`,
    ...conditions.map(({ type, status: is, reason, message }) => `${type} ${is} ${reason}: ${message}`),
    `figures ${described(figures)}`,
    `terms ${described(autoscaling ?? {})}`,
    `remembers panic until ${memory.scaling.panicUntil}, slow since ${memory.slowSince}; finalizer ${decision.needsFinalizer}`,
    ...(endpoints ?? []).map(
      ({ worker, address, addressType, ports }) =>
        `leads to ${worker.metadata.name}: ${addressType} ${address} ${JSON.stringify(ports)}`,
    ),
    ...eventsFor(changesOf(actions), because).map(
      (event) => `event ${event.type} ${event.reason} (${event.action}): ${event.note}`,
    ),
  ].join('\n');
}

function described(figures: object): string {
  return Object.entries(figures)
    .map(([name, value]) => `${name} ${JSON.stringify(value)}`)
    .join(', ');
}
