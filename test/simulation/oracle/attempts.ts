import { type JsonObject, objectAt } from '../memory-kube/json.ts';
import type { Purchase } from './purchase.ts';
import { nameOf, type Scene } from './scene.ts';

/** Attempts are used once and never go back: I6 one rental per attempt, I8 attempts never decrease. */
export class AttemptWatch {
  readonly #scene: Scene;
  readonly #sent = new Map<string, number>();

  constructor(scene: Scene) {
    this.#scene = scene;
  }

  rentSent({ uid, attempt }: Purchase): void {
    const key = `${uid}/${attempt}`;
    const sent = (this.#sent.get(key) ?? 0) + 1;
    this.#sent.set(key, sent);
    if (sent > 1) this.#scene.broken('I6', `attempt ${attempt} of ${uid} was sent ${sent} times`);
  }

  rewritten(before: JsonObject, after: JsonObject): void {
    const from = attemptOf(before);
    const to = attemptOf(after);
    if (to < from) this.#scene.broken('I8', `the attempt of ${nameOf(after)} fell from ${from} to ${to}`);
  }
}

const attemptOf = (object: JsonObject): number => Number(objectAt(object, 'status')['attempt'] ?? 0);
