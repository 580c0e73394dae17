import { isKubeError } from '../../runtime/kube/kube-error.ts';
import type { Change } from './scaling/plan.ts';
import type { Action, Refusal } from './types.ts';

/** What carrying out goes by. */
export interface CarryOutPorts {
  readonly act: (action: Action) => Promise<void>;
  /** Whether this process may take its next step: it leads, and the group asks for what was decided. */
  readonly mayGoOn: () => boolean;
  /** Whether there is no worker beyond those that were counted; asked before one is made, and before the group goes. */
  readonly isComplete: () => Promise<boolean>;
}

/** What came of the actions of one pass. */
export interface Outcome {
  readonly done: readonly Action[];
  readonly refused: readonly Refusal[];
  /** What else went wrong, in the order in which it did. */
  readonly failures: readonly unknown[];
  /** The rest waits for a new look. */
  readonly isCut: boolean;
}

/**
 * Tries every action, whatever became of those before it: one write that the API server refuses for ever must not keep
 * a machine billing that was to stop. Never rejects.
 */
export async function carryOut(actions: readonly Action[], ports: CarryOutPorts): Promise<Outcome> {
  const done: Action[] = [];
  const refused: Refusal[] = [];
  const failures: unknown[] = [];
  let isComplete: boolean | undefined;
  for (const action of actions) {
    try {
      if (needsAllWorkers(action)) isComplete ??= await ports.isComplete();
      if (isComplete === false || !ports.mayGoOn()) return { done, refused, failures, isCut: true };
      await ports.act(action);
      done.push(action);
    } catch (error) {
      if (isKubeError(error, 'forbidden', 'invalid', 'terminating')) refused.push(refusalOf(action, error));
      else failures.push(error);
    }
  }
  return { done, refused, failures, isCut: false };
}

/** One worker too many is paid for; a group that goes too early says that nothing bills while its last machine does. */
const needsAllWorkers = ({ type }: Action): boolean => type === 'create' || type === 'release';

function refusalOf(action: Action, { message }: Error): Refusal {
  return { action: actionKey(action), detail: `${deedOf(action)} is refused: ${message}`.slice(0, 1024) };
}

function deedOf(action: Action): string {
  switch (action.type) {
    case 'create':
      return 'Making a worker';
    case 'order':
      return `${action.order.wanted === 'Hot' ? 'Waking' : 'Stopping'} worker ${action.worker.name}`;
    case 'update':
      return `Updating worker ${action.worker.name} to the template`;
    case 'delete':
    case 'blame':
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
      const { wanted, powerState } = action.order;
      return `order ${action.worker.name} ${wanted} ${powerState}`;
    }
    case 'update':
      return `update ${action.worker.name}`;
    // A host is blamed for the worker that is deleted.
    case 'delete':
    case 'blame':
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
    case 'blame':
    case 'delete':
    case 'release':
      return 0;
    case 'order':
      return action.order.wanted === 'Hot' ? 2 : 0;
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
  const made = (wanted: 'Hot' | 'Cold') =>
    done.filter((action) => action.type === 'create' && action.wanted === wanted).length;
  const left = { Hot: made('Hot'), Cold: made('Cold') };
  return changes.filter((change) =>
    change.type === 'rent' ? left[change.wanted]-- > 0 : changed.has(change.name),
  );
}
