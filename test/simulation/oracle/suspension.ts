import { type JsonObject, objectAt } from '../memory-kube/json.ts';
import { accountKeyOf } from './accounts.ts';
import { keyOf, nameOf, type Scene } from './scene.ts';

/** The time within which a process learns of a suspension: a watch lags, ends and begins again. */
const SUSPENSION_IS_KNOWN_MS = 30_000;

/** P5: no rental and no start of an account is sent while `spec.suspend` is true and known. */
export class SuspensionWatch {
  readonly #scene: Scene;
  /** The time of each suspension that stands, by namespace/name of its account. */
  readonly #since = new Map<string, number>();

  constructor(scene: Scene) {
    this.#scene = scene;
  }

  /** Records a written or removed account. */
  committed(account: JsonObject, isThere: boolean): void {
    const key = keyOf(account);
    const isSuspended = isThere && objectAt(account, 'spec')['suspend'] === true;
    if (!isSuspended) this.#since.delete(key);
    else if (!this.#since.has(key)) this.#since.set(key, this.#scene.now);
  }

  /** Records a sent rental or start for an object. */
  spends(object: JsonObject, what: string): void {
    const key = accountKeyOf(object);
    const forMs = this.#scene.now - (this.#since.get(key) ?? this.#scene.now);
    if (forMs < SUSPENSION_IS_KNOWN_MS) return;
    const text = `${nameOf(object)} ${what}, and ${key} has been suspended for ${forMs / 1000} s`;
    this.#scene.broken('Suspended', text);
  }
}
