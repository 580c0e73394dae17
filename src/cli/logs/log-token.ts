import type { Credentials } from '../../runtime/kube/credentials.ts';
import { isKubeError } from '../../runtime/kube/kube-error.ts';
import type { KubeObject, Resource } from '../../runtime/kube/kube-object.ts';
import type { CommandOption, OptionValues } from '../command.ts';
import { failed, usageError } from '../command-error.ts';
import { textOption } from '../option-values.ts';
import type { ClusterSession } from '../sessions/cluster-session.ts';

const FLAG = '--log-service-account';

/** Option of the identity at the operator's log server. */
export const LOG_TOKEN_OPTION: CommandOption = {
  flags: `${FLAG} <name>`,
  description:
    'ServiceAccount of the namespace whose token the operator receives, for a kubeconfig without a bearer token. Needs the right to create serviceaccounts/token.',
};

/** Shortest lifetime that API servers accept. The operator reviews a follower's token again until it expires. */
const TOKEN_SECONDS = 3_600;
const NAME = /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/;

interface TokenRequest extends KubeObject {
  readonly spec: { readonly expirationSeconds: number };
  readonly status?: { readonly token?: string };
}

/**
 * Returns the credentials for the operator's log server, which reviews bearer tokens only: those of the kubeconfig, or a
 * token of the ServiceAccount in the option. Rejects if there is no token, and names the field of the kubeconfig.
 */
export async function logCredentials(
  options: OptionValues,
  cluster: Pick<ClusterSession, 'kube' | 'namespace' | 'credentials'>,
): Promise<Credentials> {
  const account = textOption(options, FLAG);
  if (account !== undefined) return tokenOf(account, cluster);
  const { authorization } = await cluster.credentials.headers();
  // A password goes to the API server only.
  if (authorization?.startsWith('Bearer ')) return cluster.credentials;
  throw failed(
    'The user of the kubeconfig has no bearer token (users[].user.token, tokenFile or exec), only a client certificate or a password. The operator reviews bearer tokens for logs.',
    `Give ${FLAG} NAME: a ServiceAccount of namespace ${cluster.namespace} that may get gpuinstances/log. Without --log-url the marketplace key reads the log.`,
  );
}

async function tokenOf(
  account: string,
  { kube, namespace }: Pick<ClusterSession, 'kube' | 'namespace'>,
): Promise<Credentials> {
  if (!NAME.test(account)) throw usageError(`${FLAG}: "${account}" is not the name of a ServiceAccount.`);
  const tokens: Resource = {
    ...{ group: '', version: 'v1', kind: 'TokenRequest', namespaced: true },
    plural: `serviceaccounts/${account}/token`,
  };
  const request: TokenRequest = {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenRequest',
    metadata: { name: account, namespace },
    spec: { expirationSeconds: TOKEN_SECONDS },
  };
  try {
    const { status } = await kube.create<TokenRequest>(tokens, request);
    if (status?.token === undefined) throw failed(`The API server issued no token for ${account}.`);
    const headers = { authorization: `Bearer ${status.token}` };
    return { headers: async () => headers };
  } catch (error) {
    if (isKubeError(error, 'notFound'))
      throw failed(`${FLAG}: namespace ${namespace} has no ServiceAccount ${account}.`, undefined, error);
    if (isKubeError(error, 'forbidden'))
      throw failed(
        `${FLAG}: you may not create a token for ServiceAccount ${account} in namespace ${namespace}.`,
        `Ask for the right to create serviceaccounts/token of ${account}.`,
        error,
      );
    throw error;
  }
}
