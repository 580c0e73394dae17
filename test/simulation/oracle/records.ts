import { isObject, type JsonObject, metadataOf, objectAt, textAt } from '../memory-kube/json.ts';
import { nameOf, type Scene } from './scene.ts';

const INTENT = 'gpurental.dev/rental-intent';

/**
 * What is written on an object. I5: an intent is written on the very version that was judged, so never on one that
 * wants no machine. I14: a machine that an object let go of is never recorded again.
 */
export class RecordWatch {
  readonly #scene: Scene;
  readonly #letGo = new Map<string, Set<number>>();

  constructor(scene: Scene) {
    this.#scene = scene;
  }

  rewritten(before: JsonObject, after: JsonObject): void {
    this.#checkIntent(before, after);
    this.#checkMachine(before, after);
  }

  #checkIntent(before: JsonObject, after: JsonObject): void {
    const attempt = intendedBy(after);
    if (attempt === undefined || attempt === intendedBy(before)) return;
    const why = whyNotWanted(after);
    if (why === undefined) return;
    this.#scene.broken('I5', `purchase ${attempt} of ${nameOf(after)} was recorded although it ${why}`);
  }

  #checkMachine(before: JsonObject, after: JsonObject): void {
    const [from, to] = [machineOf(before), machineOf(after)];
    if (from === to) return;
    const key = `let go ${String(metadataOf(after)['uid'])}`;
    const letGo = this.#letGo.get(key) ?? new Set<number>();
    this.#letGo.set(key, letGo);
    if (from !== undefined) letGo.add(from);
    if (to === undefined || !letGo.has(to)) return;
    this.#scene.broken('I14', `${nameOf(after)} records machine ${to} again, which it had let go of`);
  }
}

function intendedBy(object: JsonObject): number | undefined {
  const annotation = textAt(objectAt(metadataOf(object), 'annotations'), INTENT);
  if (annotation === undefined) return undefined;
  const intent: unknown = JSON.parse(annotation);
  return isObject(intent) ? Number(intent['attempt']) : undefined;
}

function whyNotWanted(object: JsonObject): string | undefined {
  const spec = objectAt(object, 'spec');
  if (metadataOf(object)['deletionTimestamp'] !== undefined) return 'is being deleted';
  if (spec['powerState'] === 'Stopped') return 'should be stopped';
  return spec['paused'] === true ? 'is paused' : undefined;
}

function machineOf(object: JsonObject): number | undefined {
  const id = objectAt(object, 'status')['instanceId'];
  return typeof id === 'number' ? id : undefined;
}
