import { readText } from '../../src/runtime/kube/json-stream.ts';
import { isObject, type JsonObject } from './memory-kube/json.ts';
import { OTHER_API_KEY, type SimulatedWorld } from './world.ts';

/** What machines run that people rented themselves. */
export const BY_HAND = 'example/by-hand:1';
/** What a machine runs that a person rented and means to hand over to an object. */
export const HANDED_OVER = 'example/work:1';
const LARGEST_REPLY = 1_000_000;

/** What people do in the marketplace's console, beside the operator. Faults of the marketplace strike these calls, too. */
export class Console {
  readonly #world: SimulatedWorld;

  constructor(world: SimulatedWorld) {
    this.#world = world;
  }

  /** Rents a machine; answers the status, or why there is none. */
  async rent(offerId: number, label: string | undefined): Promise<string> {
    if (!this.#mayHandle()) return '404';
    const request = { image: BY_HAND, disk: 10, ...(label ? { label } : {}) };
    const outcome = await this.#outcome('PUT', `/api/v0/asks/${offerId}/`, request);
    this.#world.note(`a user rents offer ${offerId} by hand with the label ${label ?? 'none'}: ${outcome}`);
    return outcome;
  }

  /** Rents a machine that an object is to take over; undefined where there is none, or its answer was lost. */
  async rentToHandOver(offerId: number): Promise<number | undefined> {
    if (!this.#mayHandle()) return undefined;
    const request = { image: HANDED_OVER, disk: 20 };
    const rented = this.call('PUT', `/api/v0/asks/${offerId}/`, request);
    const body = await rented.then(({ body }) => body).catch(() => undefined);
    const { new_contract: id } = isObject(body) ? body : {};
    this.#world.note(`a user rents offer ${offerId} to hand it over: contract ${String(id)}`);
    return typeof id === 'number' ? id : undefined;
  }

  /** Writes a label on a machine, whoever rented it; answers the status, or why there is none. */
  async label(id: number, label: string): Promise<string> {
    if (!this.#world.has('labels')) return '404';
    const outcome = await this.#outcome('PUT', `/api/v0/instances/${id}/`, { label }, this.#keyOf(id));
    this.#world.note(`a user labels contract ${id} "${label}" in the console: ${outcome}`);
    return outcome;
  }

  /** Stops a machine, whoever rented it. */
  async stop(id: number): Promise<void> {
    if (!this.#world.has('stop')) return;
    const outcome = await this.#outcome(
      'PUT',
      `/api/v0/instances/${id}/`,
      { state: 'stopped' },
      this.#keyOf(id),
    );
    this.#world.note(`a user stops contract ${id} in the console: ${outcome}`);
  }

  /** Destroys a machine, whoever rented it. */
  async destroy(id: number): Promise<void> {
    const outcome = await this.#outcome('DELETE', `/api/v0/instances/${id}/`, undefined, this.#keyOf(id));
    this.#world.note(`a user destroys contract ${id} in the console: ${outcome}`);
  }

  /** Another key of the login that has this one; undefined where a fault kept it from being made, or its reply from being read. */
  async makeKey(apiKey: string): Promise<{ readonly id: number; readonly key: string } | undefined> {
    const made = this.call('POST', '/api/v0/auth/apikeys/', { name: 'rotated' }, apiKey);
    const body = await made.then(({ body }) => body).catch(() => undefined);
    const { id, key } = isObject(body) ? body : {};
    return typeof id === 'number' && typeof key === 'string' ? { id, key } : undefined;
  }

  /** Takes that key from the login that has the other one. */
  async revokeKey(id: number, apiKey: string): Promise<void> {
    const revoked = this.call('DELETE', `/api/v0/auth/apikeys/${id}/`, undefined, apiKey);
    const outcome = await revoked.then(({ status }) => String(status), String);
    this.#world.note(`a user revokes the key ${id}: ${outcome}`);
  }

  /** Ids of all machines that are rented now. */
  machines(): readonly number[] {
    return Object.keys(this.#world.market.store.current().tables.contracts).map(Number);
  }

  /** A call under a key, that of the first login where none is given. A reply that is no JSON has the body undefined. */
  async call(
    method: string,
    path: string,
    body?: JsonObject,
    apiKey = this.#world.market.apiKey,
  ): Promise<{ readonly status: number; readonly body: unknown }> {
    const { market } = this.#world;
    const response = await market.handle({
      ...{ method, path },
      origin: 'http://simulator',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${apiKey}` },
      ...(body && { body: JSON.stringify(body) }),
    });
    return { status: response.status, body: parsed(await readText(response.body, LARGEST_REPLY)) };
  }

  /** Without labels, a machine of a person that begins beside a purchase may be taken for it, by design. */
  #mayHandle(): boolean {
    return this.#world.processes.length === 0 || this.#world.has('labels');
  }

  /** A person looks into the login that rents the machine. */
  #keyOf(id: number): string {
    const { market } = this.#world;
    const { contracts, apiKeys } = market.store.current().tables;
    const login = contracts[id]?.userId;
    const isOther = Object.values(apiKeys).some(
      ({ secret, userId }) => secret === OTHER_API_KEY && userId === login,
    );
    return isOther ? OTHER_API_KEY : market.apiKey;
  }

  /** The status, or why there is none: a fault meets people's calls as well. */
  #outcome(method: string, path: string, body?: JsonObject, apiKey?: string): Promise<string> {
    return this.call(method, path, body, apiKey).then(
      ({ status }) => String(status),
      (error: unknown) => String(error),
    );
  }
}

/** A reply that a fault has spoilt is none. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
