import { isObject, type JsonObject, listAt, metadataOf, objectAt } from '../memory-kube/json.ts';
import { statusAt } from '../status-at.ts';
import { intentOf } from './purchase.ts';
import { nameOf, type Scene } from './scene.ts';

/** Reasons of `Reconciling` for a machine that is to be destroyed for another one. */
const ENDING: ReadonlySet<unknown> = new Set(['Replacing', 'OldMachineNotGone', 'DestroyFailing']);
/** Ends of machines that the operator did not destroy. */
const BY_ITSELF: ReadonlySet<unknown> = new Set(['Vanished', 'EndedItself']);
/** Machines that were given up because another was requested or their run was over, not because they were lost. */
const CHOSEN: ReadonlySet<unknown> = new Set([
  'SpecChanged',
  'ReplaceRequested',
  'PriceRaised',
  'LimitReached',
  'Idle',
  'Completed',
  'RunFailed',
  'BackoffLimit',
  'DeadlineExceeded',
  'Cancelled',
]);

/**
 * Checks that the spec of a person delays the end of a machine, and the purchase of the next: `hold`, `paused`,
 * `replacement.policy`, `updateStrategy` and `onVanish`. Both are recorded on the very version that was evaluated, so
 * no tolerance is needed.
 */
export class RestraintWatch {
  readonly #scene: Scene;
  /** Machines whose end was recorded once: a process that lagged may record it again of one that is gone. */
  readonly #givenUp = new Set<string>();

  constructor(scene: Scene) {
    this.#scene = scene;
  }

  rewritten(before: JsonObject, after: JsonObject): void {
    if (metadataOf(after)['deletionTimestamp'] !== undefined) return;
    if (isEnding(after) && !isEnding(before) && !isListedAgain(before, after)) this.#checkEnd(after);
    if (attemptOf(after) > attemptOf(before)) this.#checkPurchase(after);
  }

  #checkEnd(object: JsonObject): void {
    const id = Number(statusAt(object)['instanceId']);
    const key = `end of ${id} for ${nameOf(object)}`;
    if (this.#givenUp.has(key) && this.#scene.contracts()[id] === undefined) return;
    this.#givenUp.add(key);
    const why = reasonAt(object, 'Ready');
    const restraint = restraintOf(object, why);
    if (restraint === undefined) return;
    this.#scene.broken(
      'I4',
      `the machine of ${nameOf(object)} is given up (${String(why)}) although it ${restraint}`,
    );
  }

  #checkPurchase(object: JsonObject): void {
    const last = listAt(statusAt(object), 'history').at(-1);
    const why = isObject(last) ? last['reason'] : undefined;
    const { onVanish } = objectAt(object, 'spec');
    const isFinal =
      why !== undefined && ((BY_ITSELF.has(why) && onVanish === 'Hold') || mayNotReplace(object, why));
    if (!isFinal) return;
    this.#scene.broken(
      'I5',
      `${nameOf(object)} rents another machine although the last one ended for good (${String(why)})`,
    );
  }
}

function restraintOf(object: JsonObject, why: unknown): string | undefined {
  const { paused, updateStrategy } = objectAt(object, 'spec');
  const isOnHold = objectAt(metadataOf(object), 'annotations')['gpurental.dev/hold'] !== undefined;
  if (isOnHold && why !== 'LimitReached') return 'is held';
  if (paused === true && why !== 'LimitReached') return 'is paused';
  if (mayNotReplace(object, why)) return 'may not be replaced';
  const isOnDelete = isObject(updateStrategy) && updateStrategy['type'] === 'OnDelete';
  return isOnDelete && why === 'SpecChanged' ? 'is updated on deletion only' : undefined;
}

/**
 * Returns true if the object may not replace: a lost machine stays lost; one that was given up on purpose is always
 * replaced.
 */
function mayNotReplace(object: JsonObject, why: unknown): boolean {
  const { policy } = objectAt(objectAt(object, 'spec'), 'replacement');
  return policy === 'Never' && !CHOSEN.has(why);
}

/** Returns true for a machine that was given up before: an object without one loses nothing by its end. */
function isListedAgain(before: JsonObject, after: JsonObject): boolean {
  const restraint = statusAt(before)['instanceId'];
  return restraint === undefined && reasonAt(after, 'Reconciling') === 'OldMachineNotGone';
}

const isEnding = (object: JsonObject): boolean => ENDING.has(reasonAt(object, 'Reconciling'));

function reasonAt(object: JsonObject, type: string): unknown {
  const found = listAt(statusAt(object), 'conditions').find((one) => isObject(one) && one['type'] === type);
  return isObject(found) ? found['reason'] : undefined;
}

const attemptOf = (object: JsonObject): number => Number(intentOf(object)?.['attempt'] ?? 0);
