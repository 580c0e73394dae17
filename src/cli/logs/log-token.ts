import { type Clock, systemClock } from '../../lib/clock.ts';
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
/** Part of the lifetime after which a request gets a new token. */
const RENEWAL_SHARE = 0.8;
const NAME = /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/;

interface TokenRequest extends KubeObject {
  /** With the lifetime that the API server chose, in its reply. */
  readonly spec?: { readonly expirationSeconds?: number };
  readonly status?: { readonly token?: string };
}

/** Identity of the caller at the API server. */
interface LogCaller extends Pick<ClusterSession, 'kube' | 'namespace' | 'credentials'> {
  /** Clock of the lifetime of tokens; the system's by default. */
  readonly clock?: Clock | undefined;
}

/**
 * Returns the credentials for the operator's log server, which reviews bearer tokens only: those of the kubeconfig, or a
 * token of the ServiceAccount in the option. Rejects if there is no token, and names the field of the kubeconfig.
 */
export async function logCredentials(options: OptionValues, cluster: LogCaller): Promise<Credentials> {
  const account = textOption(options, FLAG);
  if (account !== undefined) return accountCredentials(account, cluster);
  const { authorization } = await cluster.credentials.headers();
  // A password goes to the API server only.
  if (authorization?.startsWith('Bearer ')) return cluster.credentials;
  throw failed(
    'The user of the kubeconfig has no bearer token (users[].user.token, tokenFile or exec), only a client certificate or a password. The operator reviews bearer tokens for logs.',
    `Give ${FLAG} NAME: a ServiceAccount of namespace ${cluster.namespace} that may get gpuinstances/log. Without --log-url the marketplace key reads the log.`,
  );
}

interface Token {
  readonly headers: Readonly<Record<string, string>>;
  /** Milliseconds since 1970 after which a request gets a new one. */
  readonly renewAt: number;
}

/** Returns credentials that request a new token before the present one expires. Rejects if the first request fails. */
async function accountCredentials(
  account: string,
  { kube, namespace, clock = systemClock }: LogCaller,
): Promise<Credentials> {
  if (!NAME.test(account)) throw usageError(`${FLAG}: "${account}" is not the name of a ServiceAccount.`);
  const issued = async (): Promise<Token> => {
    const askedAt = clock.now();
    const { token, seconds } = await tokenOf(account, { kube, namespace });
    return {
      headers: { authorization: `Bearer ${token}` },
      renewAt: askedAt + seconds * 1_000 * RENEWAL_SHARE,
    };
  };
  let token = await issued();
  return {
    async headers() {
      if (clock.now() >= token.renewAt) token = await issued();
      return token.headers;
    },
  };
}

async function tokenOf(
  account: string,
  { kube, namespace }: Pick<ClusterSession, 'kube' | 'namespace'>,
): Promise<{ readonly token: string; readonly seconds: number }> {
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
    const { spec, status } = await kube.create<TokenRequest>(tokens, request);
    if (status?.token === undefined) throw failed(`The API server issued no token for ${account}.`);
    return { token: status.token, seconds: spec?.expirationSeconds ?? TOKEN_SECONDS };
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
