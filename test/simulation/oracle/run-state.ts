import { isObject, type JsonObject, objectAt } from '../memory-kube/json.ts';
import { statusAt } from '../status-at.ts';

/** Results that the exit code of a program gives. */
export const BY_EXIT_CODE: ReadonlySet<unknown> = new Set(['Completed', 'RunFailed', 'BackoffLimit']);
/** Results by an exit code or by choice: no machine was lost. */
const BY_PROOF: ReadonlySet<unknown> = new Set([...BY_EXIT_CODE, 'Cancelled', 'DeadlineExceeded']);

/** Returns `spec.completion`; undefined for an object that is no run. */
export function completionOf(object: JsonObject | undefined): JsonObject | undefined {
  const completion = object && objectAt(object, 'spec')['completion'];
  return isObject(completion) ? completion : undefined;
}

/** Returns `status.run`; empty without one. */
export function runOf(object: JsonObject): JsonObject {
  return objectAt(statusAt(object), 'run');
}

/** Returns the last settled machine of a run; empty without one. */
export function settledOf(object: JsonObject): JsonObject {
  return objectAt(runOf(object), 'settled');
}

/** Returns true if the object is a run. */
export const isRun = (object: JsonObject): boolean => completionOf(object) !== undefined;

/** Returns true if the work of the present machine of a run is over: by its exit code, a cancellation or a limit. */
export function hasEndedWork(object: JsonObject): boolean {
  const { attempt } = statusAt(object);
  const { outcome } = runOf(object);
  const settled = settledOf(object);
  return BY_PROOF.has(outcome) || (settled['attempt'] === attempt && BY_PROOF.has(settled['reason']));
}

/** Returns true if the end of a run destroys its machine. */
export function isToDestroy(object: JsonObject): boolean {
  const { onSuccess, onFailure } = completionOf(object) ?? {};
  switch (runOf(object)['outcome']) {
    case 'Completed':
      return onSuccess === 'Destroy';
    case 'BackoffLimit':
    case 'LostLimit':
      return onFailure === 'Destroy';
    case 'DeadlineExceeded':
      return objectAt(object, 'spec')['deletionPolicy'] === 'Destroy';
    default:
      return true;
  }
}
