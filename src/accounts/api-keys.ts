import { labels, OPERATOR_NAME } from '../api/v1alpha1/names.ts';
import { ownValue } from '../lib/json.ts';
import { Secret } from '../lib/secret.ts';
import { TransportError } from '../lib/transport.ts';
import type { CallPurpose, MarketKeySource } from '../market/call-options.ts';
import { NoUsableKey } from '../market/errors.ts';
import { secretResource } from '../runtime/kube/core-resources.ts';
import type { KubeClient } from '../runtime/kube/kube-client.ts';
import { isKubeError } from '../runtime/kube/kube-error.ts';
import type { KubeObject, ObjectRef } from '../runtime/kube/kube-object.ts';
import { guardedSecret, keptKeyName } from './guarded-secrets.ts';

/** A Secret as the API server gives it. */
export interface SecretObject extends KubeObject {
  readonly type?: string;
  /** base64. */
  readonly data?: Readonly<Record<string, string>>;
  readonly stringData?: Readonly<Record<string, string>>;
}

/** Content of the Secret that an account names. */
export type KeyReading =
  | { readonly type: 'key'; readonly key: Secret }
  | { readonly type: 'secretMissing'; readonly secret: string }
  | {
      readonly type: 'keyMissing';
      readonly secret: string;
      readonly key: string;
      readonly present: readonly string[];
    }
  | { readonly type: 'invalid'; readonly secret: string; readonly key: string; readonly problem: string }
  | { readonly type: 'forbidden'; readonly secret: string };

/**
 * Reads the key of an account from the account's namespace. The operator sends the key to the marketplace, so some
 * Secrets are invalid: the operator's own, credentials of Kubernetes and credentials of machines. Throws failures
 * that are unrelated to the Secret, such as an unreachable API server.
 */
export async function readKeySecret(
  client: KubeClient,
  ref: ObjectRef,
  keyName: string,
): Promise<KeyReading> {
  try {
    const secret = await client.get<SecretObject>(secretResource, ref);
    const guarded = guardedSecret({ name: ref.name, key: keyName }, secret);
    if (guarded !== undefined)
      return { type: 'invalid', secret: ref.name, key: keyName, problem: `it ${guarded}` };
    return keyOf(secret, ref.name, keyName);
  } catch (error) {
    if (isKubeError(error, 'forbidden')) return { type: 'forbidden', secret: ref.name };
    throw error;
  }
}

/** Returns the key in a Secret's data, without surrounding white space such as a final newline. */
export function keyOf(secret: SecretObject | undefined, name: string, keyName: string): KeyReading {
  if (!secret) return { type: 'secretMissing', secret: name };
  const encoded = ownValue(secret.data, keyName);
  if (encoded === undefined) {
    return { type: 'keyMissing', secret: name, key: keyName, present: Object.keys(secret.data ?? {}).sort() };
  }
  const text = Buffer.from(encoded, 'base64').toString('utf8').trim();
  const problem = problemOf(text);
  if (problem !== undefined) return { type: 'invalid', secret: name, key: keyName, problem };
  return { type: 'key', key: new Secret(text) };
}

const MAX_KEY_LENGTH = 4096;

function problemOf(text: string): string | undefined {
  if (text === '') return 'it is empty';
  if (text.length > MAX_KEY_LENGTH) return `it is longer than ${MAX_KEY_LENGTH} characters`;
  if (!/^[\x21-\x7e]+$/.test(text)) return 'it contains spaces, line breaks or characters outside ASCII';
  return undefined;
}

const DATA_KEY = 'api-key';

/**
 * The last proven key of each account, in the operator's own namespace: for listing and destroying while the
 * user's Secret is gone.
 */
export class KeptKeys {
  readonly #client: KubeClient;
  readonly #namespace: string;

  constructor(client: KubeClient, operatorNamespace: string) {
    this.#client = client;
    this.#namespace = operatorNamespace;
  }

  async read(accountUid: string): Promise<Secret | undefined> {
    const name = keptKeyName(accountUid);
    const secret = await this.#client.get<SecretObject>(secretResource, { namespace: this.#namespace, name });
    const reading = keyOf(secret, name, DATA_KEY);
    return reading.type === 'key' ? reading.key : undefined;
  }

  /** Writes the key unless it is stored already. Rejects with a KubeError. */
  async save(accountUid: string, key: Secret): Promise<void> {
    const kept = await this.read(accountUid);
    if (kept?.equals(key)) return;
    const object = this.#object(accountUid, key);
    try {
      await this.#client.create(secretResource, object);
    } catch (error) {
      if (!isKubeError(error, 'alreadyExists')) throw error;
      const body = { stringData: object.stringData };
      const ref = { namespace: this.#namespace, name: keptKeyName(accountUid) };
      await this.#client.patch(secretResource, ref, { type: 'merge', body });
    }
  }

  async remove(accountUid: string): Promise<void> {
    await this.#client.delete(secretResource, { namespace: this.#namespace, name: keptKeyName(accountUid) });
  }

  #object(accountUid: string, key: Secret): SecretObject {
    return {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: {
        name: keptKeyName(accountUid),
        namespace: this.#namespace,
        labels: { [labels.managedBy]: OPERATOR_NAME },
      },
      type: 'Opaque',
      stringData: { [DATA_KEY]: key.reveal() },
    };
  }
}

/** Permitted use of a key. `teardown`: the user's Secret is gone, so the key may only read and destroy. */
export type KeyUse = 'full' | 'teardown';

interface LoginKey {
  readonly key: Secret;
  readonly use: KeyUse;
  /** False for a narrow key: it proves its login and may read, but it may not destroy. */
  readonly mayDestroy: boolean;
}

/**
 * The proven keys of one login, by account. Accounts of a login share reads only: a read uses the most capable of
 * these keys, a write only the key of its own account. The key is chosen when the request is sent. Without a suitable
 * key the request is certainly not sent.
 */
export class LoginKeys {
  readonly #byAccount = new Map<string, LoginKey>();

  set(accountUid: string, key: LoginKey): void {
    this.#byAccount.set(accountUid, key);
  }

  remove(accountUid: string): void {
    this.#byAccount.delete(accountUid);
  }

  /** Key source for shared reads; throws for any write. */
  readonly forReads: MarketKeySource = (purpose) => {
    if (purpose !== 'read')
      throw noKey('a write needs the key of one account, and accounts share reads only');
    const best = [...this.#byAccount.values()].toSorted((a, b) => readRank(a) - readRank(b))[0];
    if (!best) throw new TransportError('no proven key is in force for this login', { sent: false });
    return best.key;
  };

  /** Returns the keys of one account: its reads are shared by the login, its writes use its own key or are not sent. */
  of(accountUid: string): MarketKeySource {
    return (purpose) => (purpose === 'read' ? this.forReads(purpose) : this.#ownKey(accountUid, purpose));
  }

  #ownKey(accountUid: string, purpose: Exclude<CallPurpose, 'read'>): Secret {
    const own = this.#byAccount.get(accountUid);
    if (!own) throw noKey('no proven key of this account is in force');
    if (!own.mayDestroy) throw noKey('the key of this account may not write');
    if (own.use === 'teardown' && purpose !== 'destroy')
      throw noKey('a kept key is for listing and destroying only');
    return own.key;
  }
}

/** Returns the rank of a key for reads: a kept key of a login reads more than a narrow key of the user. */
function readRank({ use, mayDestroy }: LoginKey): number {
  if (!mayDestroy) return 2;
  return use === 'full' ? 0 : 1;
}

const noKey = (message: string): TransportError =>
  new TransportError(message, { sent: false, cause: new NoUsableKey(message) });
