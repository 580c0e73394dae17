import { labels, OPERATOR_NAME } from '../../api/v1alpha1/names.ts';
import type { Logger } from '../../lib/logger.ts';
import type { Random } from '../../lib/random.ts';
import {
  decideIdentity,
  IDENTITY_SECRET,
  type Identity,
  identityFromData,
  identityToData,
  newIdentity,
} from '../../ownership/identity.ts';
import { namespaceResource, secretResource } from '../../runtime/kube/core-resources.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { isKubeError } from '../../runtime/kube/kube-error.ts';
import type { KubeObject } from '../../runtime/kube/kube-object.ts';
import type { SecretObject } from '../api-keys.ts';

/** Evidence for or against a new identity. */
export interface RentalTraces {
  /** Objects of the cluster that carry an intent or a claim. */
  readonly objectsWithRentals: number;
  /**
   * Number of listed machines whose label names the installation with which an account of this cluster rented before.
   */
  readonly ownMachines: number;
  /** Accounts that name such an installation and whose machines are about to be listed. */
  readonly unlisted: number;
}

/** State of this installation's own identity. */
export type InstallationState =
  | { readonly type: 'pending'; readonly why: { readonly reason: string; readonly message: string } }
  | { readonly type: 'lost'; readonly why: { readonly reason: string; readonly message: string } }
  | {
      readonly type: 'known';
      readonly identity: Identity;
      /** Reason why the sweep must not destroy machines, if there is one. */
      readonly sweep: 'allowed' | 'clusterChanged' | 'scopeShrunk';
    };

export interface InstallationOptions {
  readonly client: KubeClient;
  /** The operator's own. */
  readonly namespace: string;
  /** `*`, or the watched namespaces. */
  readonly scope: string;
  readonly random: Random;
  readonly log: Logger;
  /** Called only if no identity is stored. Rejects if the API server does not answer. */
  readonly traces: () => Promise<RentalTraces>;
}

const PENDING: InstallationState = {
  type: 'pending',
  why: {
    reason: 'IdentityPending',
    message: 'The operator is checking if this installation rented machines before.',
  },
};

/** Names no account, because every account shows this text and its readers may not know the others. */
const AWAITING_LISTS: InstallationState = {
  type: 'pending',
  why: {
    reason: 'IdentityPending',
    message:
      'The identity of an earlier installation is missing: its accounts are listed first, which takes about a minute.',
  },
};

const NO_TRACES: RentalTraces = { objectsWithRentals: 0, ownMachines: 0, unlisted: 0 };

/**
 * The identity of this installation: loaded if it is stored, created if nothing was rented before, and otherwise
 * reported as lost.
 */
export class Installation {
  readonly #options: InstallationOptions;
  readonly #listeners = new Set<() => void>();
  #state: InstallationState = PENDING;
  #resolving: Promise<InstallationState> | undefined;

  constructor(options: InstallationOptions) {
    this.#options = options;
  }

  state(): InstallationState {
    return this.#state;
  }

  /** Returns the identity; undefined until it is known. */
  identity(): Identity | undefined {
    return this.#state.type === 'known' ? this.#state.identity : undefined;
  }

  onChange(listener: () => void): void {
    this.#listeners.add(listener);
  }

  /**
   * Reads the identity again, unless it is known already. Concurrent callers share one read. Rejects with a KubeError
   * if the API server does not answer.
   */
  resolve(): Promise<InstallationState> {
    if (this.#state.type === 'known') return Promise.resolve(this.#state);
    this.#resolving ??= this.#readOrCreate().finally(() => {
      this.#resolving = undefined;
    });
    return this.#resolving;
  }

  async #readOrCreate(): Promise<InstallationState> {
    const { client, namespace, scope, traces } = this.#options;
    const stored = await client.get<SecretObject>(secretResource, { namespace, name: IDENTITY_SECRET });
    const { unlisted, ...former } = stored ? NO_TRACES : await traces();
    if (unlisted > 0 && former.objectsWithRentals === 0) return this.#become(AWAITING_LISTS);
    const kubeSystemUid = await readKubeSystemUid(client);
    const decision = decideIdentity({
      stored: stored ? (identityFromData(decode(stored)) ?? 'unreadable') : 'missing',
      ...former,
      kubeSystemUid,
      scope,
    });
    switch (decision.type) {
      case 'lost':
        return this.#become({ type: 'lost', why: { reason: 'IdentityInvalid', message: decision.message } });
      case 'use':
        if (decision.scopeToSave !== undefined) {
          const body = { stringData: { scope: decision.scopeToSave } };
          await client.patch(secretResource, { namespace, name: IDENTITY_SECRET }, { type: 'merge', body });
        }
        return this.#become({ type: 'known', identity: decision.identity, sweep: decision.sweep });
      case 'create':
        return this.#become(await this.#create(kubeSystemUid));
    }
  }

  /** Creates the identity. If another replica created one a moment ago, that one counts. */
  async #create(kubeSystemUid: string | undefined): Promise<InstallationState> {
    const { client, namespace, random, scope, log } = this.#options;
    const bytes = { id: random.bytes(16), key: random.bytes(32) };
    const identity = newIdentity(bytes, { kubeSystemUid, scope });
    const secret: SecretObject = {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: IDENTITY_SECRET, namespace, labels: { [labels.managedBy]: OPERATOR_NAME } },
      type: 'Opaque',
      stringData: identityToData(identity),
    };
    try {
      await client.create(secretResource, secret);
    } catch (error) {
      if (isKubeError(error, 'alreadyExists')) return PENDING;
      throw error;
    }
    log.info('identity created', { installId: identity.installId8, secret: IDENTITY_SECRET });
    return { type: 'known', identity, sweep: 'allowed' };
  }

  #become(state: InstallationState): InstallationState {
    const changed = state.type !== this.#state.type;
    this.#state = state;
    if (changed) for (const listener of this.#listeners) listener();
    return state;
  }
}

/**
 * Returns the uid of namespace kube-system, which distinguishes a cluster from its copies; undefined if the operator
 * may not read it. Rejects with a KubeError if the API server fails in any other way.
 */
export async function readKubeSystemUid(client: KubeClient): Promise<string | undefined> {
  try {
    const found = await client.get<KubeObject>(namespaceResource, { name: 'kube-system' });
    return found?.metadata.uid;
  } catch (error) {
    if (isKubeError(error, 'forbidden')) return undefined;
    throw error;
  }
}

function decode(secret: SecretObject): Readonly<Record<string, string>> {
  const entries = Object.entries(secret.data ?? {});
  return Object.fromEntries(
    entries.map(([name, text]) => [name, Buffer.from(text, 'base64').toString('utf8')]),
  );
}
