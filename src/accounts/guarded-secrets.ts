import type { MarketplaceAccount } from '../api/v1alpha1/marketplace-account.ts';
import {
  CONNECTION_SECRET_TYPE,
  connectionKeys,
  GROUP,
  labels,
  OPERATOR_NAME,
} from '../api/v1alpha1/names.ts';
import { IDENTITY_SECRET } from '../ownership/identity.ts';
import type { KubeObject } from '../runtime/kube/kube-object.ts';

/** A key of a Secret that an object names. */
export interface SecretUse {
  readonly name: string;
  readonly key: string;
}

type TypedSecret = KubeObject & { readonly type?: string };

const KEPT_KEY_PREFIX = 'gpuacct-';

/** Returns the Secret of the operator's namespace that holds an account's proven key: `gpuacct-<uid>`. */
export function keptKeyName(accountUid: string): string {
  return `${KEPT_KEY_PREFIX}${accountUid}`;
}

/** Types of Secrets that give access to Kubernetes, or that contain every value of an installation. */
const CLUSTER_TYPES: ReadonlySet<string> = new Set([
  'kubernetes.io/service-account-token',
  'bootstrap.kubernetes.io/token',
  'helm.sh/release.v1',
]);
/** Keys of a connection Secret that open its machine, or act for it. */
const CONNECTION_CREDENTIALS: ReadonlySet<string> = new Set([
  connectionKeys.instanceApiKey,
  connectionKeys.workerToken,
]);

/**
 * Returns the reason why no object may send this key of a Secret to a machine or a marketplace, as the end of a
 * sentence; undefined if sending is permitted. Refused: the operator's own secrets, credentials of Kubernetes, and
 * credentials of machines. `secret` is undefined if it does not exist.
 */
export function guardedSecret(use: SecretUse, secret: TypedSecret | undefined): string | undefined {
  if (use.name === IDENTITY_SECRET) return KEPT;
  const type = secret?.type ?? '';
  if (CLUSTER_TYPES.has(type)) return `has the type ${type}, which gives access to this cluster`;
  if (type === CONNECTION_SECRET_TYPE)
    return CONNECTION_CREDENTIALS.has(use.key) ? `holds the ${use.key} of a machine` : undefined;
  return secret?.metadata.labels?.[labels.managedBy] === OPERATOR_NAME ? KEPT : undefined;
}

const KEPT = 'is reserved for the operator';

/**
 * Returns the reason why a machine must not get this key of a Secret. Beyond {@link guardedSecret} it refuses keys of
 * accounts: `accounts` are all accounts of the Secret's namespace. It also refuses a Secret whose type begins with
 * `gpurental.dev/`, even if no account names it any more.
 */
export function guardedFromMachines(
  use: SecretUse,
  secret: TypedSecret | undefined,
  accounts: readonly MarketplaceAccount[],
): string | undefined {
  if (use.name.startsWith(KEPT_KEY_PREFIX)) return KEPT;
  const account = accounts.find(({ spec }) => spec.apiKeySecretRef.name === use.name);
  if (account) return `holds the API key of MarketplaceAccount ${account.metadata.name}`;
  if (secret?.type?.startsWith(`${GROUP}/`)) return `has the type ${secret.type}, which machines never get`;
  return guardedSecret(use, secret);
}
