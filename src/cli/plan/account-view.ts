import type { Admission } from '../../accounts/admission.ts';
import { avoidedAt, avoidOf } from '../../accounts/avoid-list.ts';
import { type AccountLimits, limitsOf } from '../../accounts/spend-limits.ts';
import type { MarketplaceAccount } from '../../api/v1alpha1/marketplace-account.ts';
import { marketplaceAccountResource } from '../../api/v1alpha1/names.ts';
import type { Exclusions } from '../../controllers/gpu-instance/public.ts';
import { accountRefOf } from '../../instance/account-ref.ts';
import { parseDollars } from '../../lib/money.ts';
import { accountGate, countedInstances } from '../limits.ts';
import { readIdentity } from '../objects/identity-secret.ts';
import type { ClusterSession } from '../sessions/cluster-session.ts';
import type { PlannedObject } from './manifests.ts';

/** What of an account narrows the choice. */
export interface AccountView {
  readonly account: MarketplaceAccount | undefined;
  readonly limits: AccountLimits;
  readonly excluded: Exclusions;
  /** Its sums and the limits on them; undefined if they are not known. */
  readonly gate: Pick<Admission, 'request'> | undefined;
  /** What was considered, or why nothing of it was. */
  readonly note: string;
}

const NOTHING: Exclusions = { offers: new Set(), machines: new Set(), hosts: new Set() };

/** The view if nothing of an account is known. */
export function withoutAccount(why: string): AccountView {
  const note = `limits of the account are not considered: ${why}`;
  return { account: undefined, limits: {}, excluded: NOTHING, gate: undefined, note };
}

/** The account that a spec names, as the cluster has it. Rejects with a KubeError. */
export function accountNamed(
  { kube, namespace }: ClusterSession,
  { spec, namespace: own = namespace }: Pick<PlannedObject, 'spec' | 'namespace'>,
): Promise<MarketplaceAccount | undefined> {
  const ref = accountRefOf({ spec, metadata: { namespace: own } });
  return kube.get<MarketplaceAccount>(marketplaceAccountResource, ref);
}

/**
 * What an account allows, with what it has and spends without these objects: they are planned as if they had no
 * machine. Rejects with a KubeError.
 */
export async function accountView(
  cluster: ClusterSession,
  account: MarketplaceAccount,
  planned: readonly PlannedObject[],
): Promise<AccountView> {
  const [{ instances, missing }, identity] = await Promise.all([
    countedInstances(cluster, account),
    readIdentity(cluster),
  ]);
  const own = new Set(planned.map(({ object, namespace = cluster.namespace }) => `${namespace}/${object}`));
  const facts = {
    account,
    objects: instances.filter(({ metadata }) => !own.has(`${metadata.namespace}/gpui/${metadata.name}`)),
    identity: identity.type === 'identity' ? identity.identity : undefined,
    credit: parseDollars(account.status?.credit),
  };
  const note = `limits and avoid list of gpuacct/${account.metadata.name} are considered`;
  return {
    account,
    limits: limitsOf(account),
    excluded: avoidedAt(avoidOf(account), Date.now()),
    gate: accountGate(facts),
    note: missing === undefined ? note : `${note}, but ${missing}`,
  };
}
