import type { MarketFacts } from '../../market/market.ts';
import type { Login } from '../../ownership/login.ts';
import { isKubeError, type KubeError } from '../../runtime/kube/kube-error.ts';
import type { Deps } from './deps.ts';
import { fuseLifeMs } from './fuse.ts';
import { tryChildren } from './publish.ts';
import { readInputs } from './rental-inputs.ts';
import { rentalNonce } from './sent-start.ts';
import type { InputsView, Observed } from './types.ts';

type PreflightPorts = Pick<Deps, 'cluster' | 'issueIdentity' | 'memory' | 'reportUrl' | 'steady'> & {
  readonly session: { readonly login: Login; readonly market: { readonly about: MarketFacts } } | undefined;
};

/** The API server may answer again at any moment. */
const UNANSWERED_RETRY_MS = 10_000;
const MAX_DETAIL = 512;

/**
 * Reads from the cluster everything that an object needs before it costs money. That is its Secrets, and whether its
 * children can be written under their names, with the operator's permissions and within the quota. A failed check is
 * a problem, too. Children of one generation are tried once in some minutes. Rejects with a `conflict` if a trimmed
 * copy is of another generation.
 */
export async function readPreflight(
  observed: Observed,
  { cluster, issueIdentity, memory, reportUrl, steady, session }: PreflightPorts,
): Promise<InputsView> {
  const { object, purchase } = observed;
  if (!session) return NO_SESSION;
  try {
    const inputs = await readInputs(object, cluster, {
      market: session.market.about,
      url: session.login.url,
      lifeMs: fuseLifeMs(observed),
      nonce: rentalNonce(observed),
      issueIdentity,
      reportUrl,
    });
    const { generation } = object.metadata;
    if (inputs.type === 'problem' || memory.areChildrenTried(generation, steady.now())) return inputs;
    const problem = await tryChildren(object, { cluster, keys: purchase.identity.keys });
    if (problem) {
      const reason = problem.type === 'nameTaken' ? 'NameTaken' : 'NotPermitted';
      return { type: 'problem', reason, detail: problem.detail };
    }
    memory.childrenTried(generation, steady.now());
    return inputs;
  } catch (error) {
    if (!isKubeError(error) || error.kind === 'conflict') throw error;
    return unanswered(error);
  }
}

/** The account lost its session after the rule requested the read: the next reconcile handles that. */
const NO_SESSION: InputsView = {
  type: 'problem',
  reason: 'AccountNotReady',
  detail: 'The MarketplaceAccount has no session.',
  retryAfterMs: UNANSWERED_RETRY_MS,
};

function unanswered({ message }: KubeError): InputsView {
  return {
    type: 'problem',
    reason: 'ReconcileError',
    detail: `Kubernetes did not answer the checks before a rental: ${message}`.slice(0, MAX_DETAIL),
    retryAfterMs: UNANSWERED_RETRY_MS,
  };
}
