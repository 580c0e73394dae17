import { type JsonObject, metadataOf } from '../memory-kube/json.ts';
import type { Commit } from '../memory-kube/store.ts';

/** Maximum age of a process's knowledge of an object when it destroys its machine: the answer to its last read. */
const LAST_READ_MS = 1_000;

/**
 * Start of each fact about GpuInstances: a process that destroys a machine may not have read facts that are newer than
 * a second.
 */
export class HeldSince {
  readonly #name: string;
  readonly #holds: (object: JsonObject) => boolean;
  /** Starts by a key other than the uid, which the test searches in the memory of processes. */
  readonly #since = new Map<string, number>();

  constructor(name: string, holds: (object: JsonObject) => boolean) {
    this.#name = name;
    this.#holds = holds;
  }

  /** Records a written or removed object at `now` (epoch milliseconds). */
  committed({ kind, object, type }: Commit, now: number): void {
    if (kind.plural !== 'gpuinstances') return;
    const key = this.#keyOf(object);
    if (type === 'DELETED' || !this.#holds(object)) this.#since.delete(key);
    else if (!this.#since.has(key)) this.#since.set(key, now);
  }

  /** Returns true if it holds, and every process that acts at `now` must have read so. */
  isKnown(object: JsonObject, now: number): boolean {
    if (!this.#holds(object)) return false;
    return now - (this.#since.get(this.#keyOf(object)) ?? Number.NEGATIVE_INFINITY) >= LAST_READ_MS;
  }

  #keyOf(object: JsonObject): string {
    return `${this.#name} ${String(metadataOf(object)['uid'])}`;
  }
}
