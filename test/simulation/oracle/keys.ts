import type { TransportRequest } from '../../../src/lib/transport.ts';
import { idAt, isObject, type JsonObject, metadataOf, objectAt, textAt } from '../memory-kube/json.ts';
import type { Commit } from '../memory-kube/store.ts';
import { statusAt } from '../status-at.ts';
import { accountKeyOf } from './accounts.ts';
import { isLate, readPurchase } from './purchase.ts';
import type { Scene } from './scene.ts';

const WRITE_PATH = /^\/api\/v0\/(asks|instances)\/([1-9]\d*)\/$/;
const KEPT_KEY = /^gpuacct-(.+)$/;

/**
 * Every write reaches the marketplace with a key of the account in whose name it is made: that of the object that the
 * machine is rented for, or, for a machine that no object claims or that was rented late, one whose policy says that it goes.
 */
export class KeyWatch {
  readonly #scene: Scene;
  /** Values that stand or stood in a Secret, by namespace/name. */
  readonly #values = new Map<string, Set<string>>();
  /** Uid and Secret of each account that stands or stood, by namespace/name. */
  readonly #accounts = new Map<string, { readonly uid: string; readonly secret: string }>();
  /**
   * The account of each object, also a former one; no key is a uid, which the test searches in the memory of processes.
   */
  readonly #accountOf = new Map<string, string>();

  constructor(scene: Scene) {
    this.#scene = scene;
  }

  committed({ kind, object }: Commit): void {
    const { namespace, name, uid } = metadataOf(object);
    const key = `${String(namespace)}/${String(name)}`;
    if (kind.plural === 'secrets') this.#learn(key, objectAt(object, 'data'));
    if (kind.plural === 'gpuinstances') this.#accountOf.set(`rents ${String(uid)}`, accountKeyOf(object));
    if (kind.plural !== 'marketplaceaccounts') return;
    const secret = textAt(objectAt(objectAt(object, 'spec'), 'apiKeySecretRef'), 'name');
    this.#accounts.set(key, { uid: String(uid), secret: `${String(namespace)}/${secret ?? ''}` });
  }

  /** Records a call sent to the marketplace. */
  sent({ method, path, headers, body = '' }: TransportRequest): void {
    const [, what, id] = WRITE_PATH.exec(path.split('?')[0] ?? '') ?? [];
    const [, secret = ''] = (headers['authorization'] ?? '').split(' ');
    if (what === undefined || method === 'GET' || secret === '') return;
    const names = what === 'asks' ? this.#renters(body) : this.#keepers(Number(id));
    const holders = [...this.#accounts.keys()].filter((account) => this.#mayShow(account, secret));
    if (names.length === 0 || holders.length === 0) return;
    if (names.some((name) => holders.includes(name))) return;
    const text = `${method} ${path} is made for ${names.join(' or ')}, and carries the key of ${holders.join(' or ')}`;
    this.#scene.broken('Keys', text);
  }

  #learn(key: string, data: JsonObject): void {
    const values = this.#values.get(key) ?? new Set();
    for (const value of Object.values(data))
      if (typeof value === 'string') values.add(Buffer.from(value, 'base64').toString().trim());
    this.#values.set(key, values);
  }

  /** Returns true if that key is or was in the account's own Secret, or in its kept one. */
  #mayShow(account: string, apiKey: string): boolean {
    const { uid, secret } = this.#accounts.get(account) ?? {};
    return [...this.#values].some(([name, values]) => {
      const kept = KEPT_KEY.exec(name.slice(name.indexOf('/') + 1))?.[1];
      return (name === secret || kept === uid) && values.has(apiKey);
    });
  }

  #renters(body: string): readonly string[] {
    const parsed: unknown = body === '' ? {} : JSON.parse(body);
    const label = isObject(parsed as JsonObject) ? (textAt(parsed as JsonObject, 'label') ?? '') : '';
    return this.#named(readPurchase(label)?.uid);
  }

  #keepers(id: number): readonly string[] {
    const contract = this.#scene.contracts()[id];
    if (!contract) return [];
    const recorder = this.#recorder(id);
    const owner = this.#scene.ownerOf(contract) ?? this.#scene.takerOf(id) ?? recorder;
    // A late one that no object records is an orphan, also beside the machine that the same purchase got in time.
    if (owner && (recorder || !isLate(contract))) return [accountKeyOf(owner)];
    const former = this.#named(this.#scene.purchaseOf(contract)?.uid);
    const sweepers = this.#scene.accounts
      .ofLogin(contract.userId)
      .filter((account) => objectAt(account, 'spec')['orphanPolicy'] === 'Destroy')
      .map((account) => `${String(metadataOf(account)['namespace'])}/${String(metadataOf(account)['name'])}`);
    return [...former, ...sweepers];
  }

  #recorder(id: number): JsonObject | undefined {
    return [...this.#scene.objects.values()].find((object) => idAt(statusAt(object), 'instanceId') === id);
  }

  #named(uid: string | undefined): readonly string[] {
    const account = uid === undefined ? undefined : this.#accountOf.get(`rents ${uid}`);
    return account === undefined ? [] : [account];
  }
}
