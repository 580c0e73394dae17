/** A connection by its names in Envoy. */
export interface Connection {
  /** `ip:port` of the client. */
  readonly place: string;
  /**
   * Start in seconds since the epoch. It distinguishes a connection from an earlier one of the same place, whose end
   * may be logged after it.
   */
  readonly start: string;
}

/**
 * Connections of Envoy by client. A client may have as many connections as remain for all others: a single client
 * gets half of `max`, two get a third each, so some always remain free for new clients.
 */
export class ClientConnections {
  readonly #max: number;
  /** Open connections by place. */
  readonly #open = new Map<string, { readonly start: string; readonly client: string }>();
  readonly #counts = new Map<string, number>();

  /** `max`: connections of all clients. */
  constructor(max: number) {
    this.#max = max;
  }

  /**
   * Counts a connection; an earlier one of the same place has ended. Returns false, without counting it, if the client
   * has used its share.
   */
  open({ place, start }: Connection, client: string): boolean {
    this.#forget(place);
    const own = this.of(client);
    if (own >= this.#max - this.#open.size) return false;
    this.#open.set(place, { start, client });
    this.#counts.set(client, own + 1);
    return true;
  }

  /** Removes a connection; one that is not counted is ignored. */
  close({ place, start }: Connection): void {
    if (this.#open.get(place)?.start === start) this.#forget(place);
  }

  #forget(place: string): void {
    const client = this.#open.get(place)?.client;
    if (client === undefined) return;
    this.#open.delete(place);
    const left = this.of(client) - 1;
    if (left > 0) this.#counts.set(client, left);
    else this.#counts.delete(client);
  }

  /** Removes all connections. */
  clear(): void {
    this.#open.clear();
    this.#counts.clear();
  }

  of(client: string): number {
    return this.#counts.get(client) ?? 0;
  }
}
