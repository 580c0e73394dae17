import type { RequestHead } from './ext-proc.ts';

/** Ids in an entry of Envoy's access log. */
interface LoggedIds {
  /** The picker's id; undefined if the request ended before Envoy had the answer. */
  readonly id: string | undefined;
  readonly requestId: string;
}

/** A request that has a worker. */
export interface PickedRequest {
  /** The `x-request-id` of Envoy. */
  readonly requestId: string;
  /** Time of the pick in milliseconds. */
  readonly at: number;
  /** See `RequestHead`. */
  readonly cut?: RequestHead['cut'];
}

/**
 * The picker's ids of the requests with a worker. If a client disconnects at the moment of the answer, the log entry
 * lacks that id: the `x-request-id` of Envoy then identifies the request.
 */
export class PickedRequests {
  readonly #picked = new Map<string, PickedRequest>();
  readonly #ids = new Map<string, string>();

  add(id: string, picked: PickedRequest): void {
    this.#picked.set(id, picked);
    this.#ids.set(picked.requestId, id);
  }

  /** Returns the request with this id; undefined when its end is known. */
  get(id: string): PickedRequest | undefined {
    return this.#picked.get(id);
  }

  /** Returns the id of the finished request, once; undefined if it had no worker, or its end is known. */
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
