import type { Console } from './console.ts';
import type { Kubectl } from './kubectl.ts';
import type { Address } from './memory-kube/address.ts';
import { type JsonObject, objectAt } from './memory-kube/json.ts';
import { statusAt } from './status-at.ts';
import type { SimulatedWorld } from './world.ts';

export interface AccountOwnerOptions {
  readonly kubectl: Kubectl;
  readonly console: Console;
  /** Of the account. */
  readonly name: string;
  /** Of the Secret that holds its key. */
  readonly secret: string;
}

/** Who has an account and its key. */
export class AccountOwner {
  readonly #world: SimulatedWorld;
  readonly #kubectl: Kubectl;
  readonly #console: Console;
  readonly #name: string;
  readonly #secretName: string;
  /** The first key of the login, which people keep. */
  #apiKey: string;
  /** Of the key that the operator has, where it was rotated. */
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

  /** Such as `pollInterval` or `limits`. */
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

  /** Whether the account says that memory may have been rolled back. */
  seesRollback(): boolean {
    const account = this.#world.kube.writes.read(this.#account) ?? {};
    return JSON.stringify(statusAt(account)).includes('OrphansHeld');
  }

  /** A person has looked at the machines that `OrphansHeld` names: objects removed by force look like a restore. */
  confirmRollback(): void {
    this.#annotate('confirms that memory may have been rolled back', 'gpurental.dev/confirm-rollback');
  }

  /** Whether the account says that many machines lost their objects at once. */
  seesMassOrphans(): boolean {
    const account = this.#world.kube.writes.read(this.#account) ?? {};
    return JSON.stringify(statusAt(account)).includes('OrphansHeld');
  }

  /** A person has looked at the machines that `OrphansHeld` names, and wants them destroyed. */
  confirmOrphans(): void {
    this.#annotate('confirms the orphans', 'gpurental.dev/confirm-orphans');
  }

  closeBreaker(): void {
    this.#annotate('closes the breaker', 'gpurental.dev/close-breaker');
  }

  /** Each time with a value that it has not had. */
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

/** Of a Secret. */
function dataOf(values: Readonly<Record<string, string>>): JsonObject {
  const encoded = Object.entries(values).map(([key, value]) => [key, Buffer.from(value).toString('base64')]);
  return Object.fromEntries(encoded);
}
