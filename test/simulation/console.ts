import { readText } from '../../src/runtime/kube/json-stream.ts';
import { isObject, type JsonObject } from './memory-kube/json.ts';
import { OTHER_API_KEY, type SimulatedWorld } from './world.ts';

/** Image of machines that people rented by hand. */
export const BY_HAND = 'example/by-hand:1';
/** Image of a machine that a person rented and that an object takes over later. */
export const HANDED_OVER = 'example/work:1';
const LARGEST_REPLY = 1_000_000;

/** Actions of people in the marketplace's console. Faults of the marketplace affect these calls, too. */
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

  /** Rents a machine for an object to take over; undefined if none could be rented or the response was lost. */
  async rentToHandOver(offerId: number): Promise<number | undefined> {
    if (!this.#mayHandle()) return undefined;
    const request = { image: HANDED_OVER, disk: 20 };
    const rented = this.call('PUT', `/api/v0/asks/${offerId}/`, request);
    const body = await rented.then(({ body }) => body).catch(() => undefined);
    const { new_contract: id } = isObject(body) ? body : {};
    this.#world.note(`a user rents offer ${offerId} to hand it over: contract ${String(id)}`);
    return typeof id === 'number' ? id : undefined;
  }

  /** Returns true if a machine was rented for a run: it stops itself whenever it is started, also for another owner. */
  isOfRun(id: number): boolean {
    const { contracts } = this.#world.market.store.current().tables;
    return contracts[id]?.env['GPURENTAL_RUN'] !== undefined;
  }

  /** Labels any machine. Returns the status, or the reason why there is none. */
  async label(id: number, label: string): Promise<string> {
    if (!this.#world.has('labels')) return '404';
    const outcome = await this.#outcome('PUT', `/api/v0/instances/${id}/`, { label }, this.#keyOf(id));
    this.#world.note(`a user labels contract ${id} "${label}" in the console: ${outcome}`);
    return outcome;
  }

  /** Stops any machine. */
  stop(id: number): Promise<void> {
    return this.#setPower(id, { state: 'stopped', verb: 'stops' });
  }

  /** Starts any machine. */
  start(id: number): Promise<void> {
    return this.#setPower(id, { state: 'running', verb: 'starts' });
  }

  async #setPower(
    id: number,
    { state, verb }: { readonly state: string; readonly verb: string },
  ): Promise<void> {
    if (!this.#world.has('stop')) return;
    const outcome = await this.#outcome('PUT', `/api/v0/instances/${id}/`, { state }, this.#keyOf(id));
    this.#world.note(`a user ${verb} contract ${id} in the console: ${outcome}`);
  }

  /** Destroys any machine. */
  async destroy(id: number): Promise<void> {
    const outcome = await this.#outcome('DELETE', `/api/v0/instances/${id}/`, undefined, this.#keyOf(id));
    this.#world.note(`a user destroys contract ${id} in the console: ${outcome}`);
  }

  /**
   * Creates another key for the login of `apiKey`; undefined if a fault prevented its creation or lost the response.
   */
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

  /** Returns the IDs of all rented machines. */
  machines(): readonly number[] {
    return Object.keys(this.#world.market.store.current().tables.contracts).map(Number);
  }

  /**
   * Calls the marketplace with a key (default: of the first login). A response that is not JSON has an undefined
   * body.
   */
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

  /**
   * Returns true if people may change machines. In a market without labels, the operator may by design take a machine
   * that a person rents during a purchase for its own.
   */
  #mayHandle(): boolean {
    return !this.#world.hasHadProcesses || this.#world.has('labels');
  }

  /** Returns the key of the login that rents the machine. */
  #keyOf(id: number): string {
    const { market } = this.#world;
    const { contracts, apiKeys } = market.store.current().tables;
    const login = contracts[id]?.userId;
    const isOther = Object.values(apiKeys).some(
      ({ secret, userId }) => secret === OTHER_API_KEY && userId === login,
    );
    return isOther ? OTHER_API_KEY : market.apiKey;
  }

  /** Returns the status, or the reason why there is none: faults affect calls of people, too. */
  #outcome(method: string, path: string, body?: JsonObject, apiKey?: string): Promise<string> {
    return this.call(method, path, body, apiKey).then(
      ({ status }) => String(status),
      (error: unknown) => String(error),
    );
  }
}

/** Parses a response; undefined if a fault corrupted it. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
