import type { RequestHead } from './ext-proc.ts';

/** What an entry of Envoy's access log says about whose end it is. */
interface LoggedIds {
  /** Our id; undefined if the request ended before Envoy had our answer. */
  readonly id: string | undefined;
  readonly requestId: string;
}

/** A request that was given a worker. */
export interface PickedRequest {
  /** The `x-request-id` of Envoy. */
  readonly requestId: string;
  /** When, in milliseconds. */
  readonly at: number;
  /** See `RequestHead`. */
  readonly cut?: RequestHead['cut'];
}

/**
 * Our ids of the requests that were picked for. A client that leaves at that moment ends its request before Envoy has
 * the answer, and our id with it: then the `x-request-id` of Envoy says which one it was.
 */
export class PickedRequests {
  readonly #picked = new Map<string, PickedRequest>();
  readonly #ids = new Map<string, string>();

  add(id: string, picked: PickedRequest): void {
    this.#picked.set(id, picked);
    this.#ids.set(picked.requestId, id);
  }

  /** By our id; undefined once its end is known. */
  get(id: string): PickedRequest | undefined {
    return this.#picked.get(id);
  }

  /** Our id of the request that ended, once; undefined where none was picked for, or its end is known. */
  take({ id: named, requestId }: LoggedIds): string | undefined {
    const id = named !== undefined && this.#picked.has(named) ? named : this.#ids.get(requestId);
    if (id === undefined) return undefined;
    const own = this.#picked.get(id)?.requestId ?? requestId;
    this.#picked.delete(id);
    if (this.#ids.get(own) === id) this.#ids.delete(own);
    return id;
  }

  clear(): void {
    this.#picked.clear();
    this.#ids.clear();
  }
}
