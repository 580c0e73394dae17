import { isKubeError } from '../../runtime/kube/kube-error.ts';
import { actionKey, deedOf } from './actions.ts';
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
