import type { Change } from './autoscale/plan.ts';
import type { Action } from './types.ts';

/** For people. */
export function describeAction(action: Action): string {
  switch (action.type) {
    case 'create':
      return 'Making a worker';
    case 'order':
      return `${action.order.desiredRole === 'Hot' ? 'Waking' : 'Stopping'} worker ${action.worker.name}`;
    case 'update':
      return `Updating worker ${action.worker.name} to the template`;
    case 'delete':
    case 'reportHostFailure':
      return `Deleting worker ${action.worker.name}`;
    case 'adopt':
      return `Taking in ${action.object.metadata.name}`;
    case 'release':
      return 'Releasing the group';
  }
}

/** The same for the same deed in a later pass. */
export function actionKey(action: Action): string {
  switch (action.type) {
    case 'create':
      return `create ${action.ordinal}`;
    case 'order': {
      const { desiredRole, powerState } = action.order;
      return `order ${action.worker.name} ${desiredRole} ${powerState}`;
    }
    case 'update':
      return `update ${action.worker.name}`;
    // A host is blamed for the worker that is deleted.
    case 'delete':
    case 'reportHostFailure':
      return `delete ${action.worker.name}`;
    case 'adopt':
      return `adopt ${action.object.metadata.name}`;
    case 'release':
      return 'release';
  }
}

/** What ends costs comes first, and what begins new ones last. */
export function cheapestFirst(actions: readonly Action[]): readonly Action[] {
  return [...actions].sort((a, b) => rankOf(a) - rankOf(b));
}

function rankOf(action: Action): number {
  switch (action.type) {
    case 'reportHostFailure':
    case 'delete':
    case 'release':
      return 0;
    case 'order':
      return action.order.desiredRole === 'Hot' ? 2 : 0;
    case 'adopt':
    case 'update':
      return 1;
    case 'create':
      return 3;
  }
}

/** Of the changes that were decided those that these actions brought about. */
export function changesBy(done: readonly Action[], changes: readonly Change[]): readonly Change[] {
  const changed = new Set(
    done.flatMap((action) =>
      action.type === 'order' || action.type === 'delete' ? [action.worker.name] : [],
    ),
  );
  const made = (desiredRole: 'Hot' | 'Cold') =>
    done.filter((action) => action.type === 'create' && action.desiredRole === desiredRole).length;
  const left = { Hot: made('Hot'), Cold: made('Cold') };
  return changes.filter((change) =>
    change.type === 'rent' ? left[change.desiredRole]-- > 0 : changed.has(change.name),
  );
}
