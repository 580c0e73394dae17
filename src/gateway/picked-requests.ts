/** What an entry of Envoy's access log says about whose end it is. */
interface LoggedIds {
  /** Our id; undefined if the request ended before Envoy had our answer. */
  readonly id: string | undefined;
  readonly requestId: string;
}

/**
 * Our ids of the requests that were picked for. A client that leaves at that moment ends its request before Envoy has
 * the answer, and our id with it: then the `x-request-id` of Envoy says which one it was.
 */
export class PickedRequests {
  readonly #requestIds = new Map<string, string>();
  readonly #ids = new Map<string, string>();

  add(id: string, requestId: string): void {
    this.#requestIds.set(id, requestId);
    this.#ids.set(requestId, id);
  }

  /** Our id of the request that ended, once; undefined where none was picked for, or its end is known. */
  take({ id: named, requestId }: LoggedIds): string | undefined {
    const id = named !== undefined && this.#requestIds.has(named) ? named : this.#ids.get(requestId);
    if (id === undefined) return undefined;
    const own = this.#requestIds.get(id) ?? requestId;
    this.#requestIds.delete(id);
    if (this.#ids.get(own) === id) this.#ids.delete(own);
    return id;
  }

  clear(): void {
    this.#requestIds.clear();
    this.#ids.clear();
  }
}
