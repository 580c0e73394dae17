import { labels, OPERATOR_NAME } from '../../api/v1alpha1/names.ts';
import type { Secret } from '../../lib/secret.ts';
import { secretResource } from '../../runtime/kube/core-resources.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { isKubeError } from '../../runtime/kube/kube-error.ts';
import { keptKeyName } from '../guarded-secrets.ts';
import { keyOf, type SecretObject } from './key-secret.ts';

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

  /** Writes only where there is none yet or another one. */
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
