import type { Console } from './console.ts';
import type { Kubectl } from './kubectl.ts';
import type { Address } from './memory-kube/address.ts';
import { type JsonObject, objectAt } from './memory-kube/json.ts';
import { statusAt } from './status-at.ts';
import type { SimulatedWorld } from './world.ts';

export interface AccountOwnerOptions {
  readonly kubectl: Kubectl;
  readonly console: Console;
  /** Name of the account. */
  readonly name: string;
  /** Name of the Secret that contains the API key. */
  readonly secret: string;
}

/** Person who owns an account and its API key. */
export class AccountOwner {
  readonly #world: SimulatedWorld;
  readonly #kubectl: Kubectl;
  readonly #console: Console;
  readonly #name: string;
  readonly #secretName: string;
  /** The first key of the login, which people keep. */
  #apiKey: string;
  /** ID of the key that the operator uses, once the key was rotated. */
  #key: number | undefined;
  #removed: JsonObject | undefined;

  constructor(world: SimulatedWorld, { kubectl, console, name, secret }: AccountOwnerOptions) {
    this.#world = world;
    this.#kubectl = kubectl;
    this.#console = console;
    this.#name = name;
    this.#secretName = secret;
    this.#apiKey = world.market.apiKey;
  }

  /** Makes it, of the first login of the marketplace or of the one that has that key. */
  create(orphanPolicy: 'Destroy' | 'Report', apiKey = this.#apiKey): void {
    this.#apiKey = apiKey;
    this.#kubectl.create('secrets', this.#secretName, { data: dataOf({ 'api-key': apiKey }) });
    this.#kubectl.create('marketplaceaccounts', this.#name, {
      apiVersion: 'gpurental.dev/v1alpha1',
      kind: 'MarketplaceAccount',
      spec: { apiKeySecretRef: { name: this.#secretName, key: 'api-key' }, orphanPolicy },
    });
  }

  isThere(): boolean {
    return this.#world.kube.writes.read(this.#account) !== undefined;
  }

  /** Sets fields of the account's spec, such as `pollInterval` or `limits`. */
  set(spec: JsonObject): void {
    this.#kubectl.edit(this.#account, {
      what: `sets ${JSON.stringify(spec)} of the account ${this.#name}`,
      change: (current) => ({ ...current, spec: { ...objectAt(current, 'spec'), ...spec } }),
    });
  }

  /** Stops every rental and start of the account. */
  suspend(): void {
    this.set({ suspend: true });
  }

  resume(): void {
    this.set({ suspend: false });
  }

  delete(): void {
    this.#kubectl.delete(this.#account, `deletes the account ${this.#name}`);
  }

  /** Gives the operator another key of the same login, and revokes the one it had from this. */
  async rotateKey(): Promise<void> {
    const made = await this.#console.makeKey(this.#apiKey);
    if (!made) return;
    const data = dataOf({ 'api-key': made.key });
    this.#setKey(data, 'rotates the key');
    if (this.#removed) this.#removed = { ...this.#removed, data };
    const former = this.#key;
    this.#key = made.id;
    if (former !== undefined) await this.#console.revokeKey(former, this.#apiKey);
  }

  /** Deletes the Secret that holds the key. */
  removeKey(): void {
    this.#removed ??= this.#world.kube.writes.read(this.#secret);
    this.#kubectl.delete(this.#secret, 'deletes the Secret of the key');
  }

  /** Writes something into the Secret of the key that is none. */
  spoilKey(values: Readonly<Record<string, string>>): void {
    this.#removed ??= this.#world.kube.writes.read(this.#secret);
    this.#setKey(dataOf(values), 'spoils the Secret of the key');
  }

  /** Gives the operator a key that may only read. */
  narrowKey(): void {
    this.spoilKey({ 'api-key': this.#world.addKey(['user_read', 'instance_read'], this.#apiKey) });
  }

  /** Gives it one that may not even list machines. */
  blindKey(): void {
    this.spoilKey({ 'api-key': this.#world.addKey(['user_read'], this.#apiKey) });
  }

  /** Puts the key back that was deleted or spoilt, where it was. */
  bringKeyBack(): void {
    const data = this.#removed && objectAt(this.#removed, 'data');
    this.#removed = undefined;
    if (!data) return;
    if (this.#world.kube.writes.read(this.#secret)) this.#setKey(data, 'puts the key back');
    else this.#kubectl.create('secrets', this.#secretName, { data });
  }

  /** Returns true if the account reports that its state may have been rolled back. */
  seesRollback(): boolean {
    return this.#isAskedFor(CONFIRM_ROLLBACK);
  }

  /** Confirms the machines that `OrphansHeld` names. Objects removed by force look like a restored cluster. */
  confirmRollback(): void {
    this.#annotate('confirms that memory may have been rolled back', CONFIRM_ROLLBACK);
  }

  /** Returns true if the account reports that many machines lost their objects at once. */
  seesMassOrphans(): boolean {
    return this.#isAskedFor(CONFIRM_ORPHANS);
  }

  /** Confirms that the machines that `OrphansHeld` names may be destroyed. */
  confirmOrphans(): void {
    this.#annotate('confirms the orphans', CONFIRM_ORPHANS);
  }

  /** Returns true if a condition of the account names the annotation. */
  #isAskedFor(annotation: string): boolean {
    const account = this.#world.kube.writes.read(this.#account) ?? {};
    return JSON.stringify(statusAt(account)).includes(annotation);
  }

  closeBreaker(): void {
    this.#annotate('closes the breaker', 'gpurental.dev/close-breaker');
  }

  /** Sets an annotation to a value that it did not have before. */
  #annotate(what: string, annotation: string): void {
    this.#kubectl.annotate(this.#account, what, { [annotation]: String(this.#world.second) });
  }

  #setKey(data: JsonObject, what: string): void {
    this.#kubectl.edit(this.#secret, { what, change: (current) => ({ ...current, data }) });
  }

  get #account(): Address {
    return this.#kubectl.address('marketplaceaccounts', this.#name);
  }

  get #secret(): Address {
    return this.#kubectl.address('secrets', this.#secretName);
  }
}

const CONFIRM_ROLLBACK = 'gpurental.dev/confirm-rollback';
const CONFIRM_ORPHANS = 'gpurental.dev/confirm-orphans';

/** Returns the base64 `data` of a Secret. */
function dataOf(values: Readonly<Record<string, string>>): JsonObject {
  const encoded = Object.entries(values).map(([key, value]) => [key, Buffer.from(value).toString('base64')]);
  return Object.fromEntries(encoded);
}
