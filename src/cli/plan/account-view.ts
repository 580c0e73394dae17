import { avoidedAt } from '../../accounts/avoid-list.ts';
import { type AccountLimits, limitsOf } from '../../accounts/tickets/limits.ts';
import type { GpuInstanceSpec } from '../../api/v1alpha1/gpu-instance.ts';
import type { MarketplaceAccount } from '../../api/v1alpha1/marketplace-account.ts';
import { marketplaceAccountResource } from '../../api/v1alpha1/names.ts';
import type { Exclusions } from '../../controllers/gpu-instance/choose-offer.ts';
import { parseTime } from '../../lib/rfc3339.ts';
import type { ClusterSession } from '../sessions/cluster-session.ts';

/** What of an account narrows the choice. */
export interface AccountView {
  readonly account: MarketplaceAccount | undefined;
  readonly limits: AccountLimits;
  readonly excluded: Exclusions;
  /** What was considered, or why nothing of it was. */
  readonly note: string;
}

const NOTHING: Exclusions = { offers: new Set(), machines: new Set(), hosts: new Set() };

/** Where nothing of an account is known. */
export function withoutAccount(why: string): AccountView {
  const note = `limits of the account are not considered: ${why}`;
  return { account: undefined, limits: {}, excluded: NOTHING, note };
}

/** The account that a spec names, as the cluster has it. */
export async function accountView(
  { kube, namespace }: ClusterSession,
  planned: { readonly spec: GpuInstanceSpec; readonly namespace: string | undefined },
): Promise<AccountView> {
  const { name, namespace: own } = planned.spec.accountRef;
  const ref = { namespace: own ?? planned.namespace ?? namespace, name };
  const account = await kube.get<MarketplaceAccount>(marketplaceAccountResource, ref);
  if (!account) return withoutAccount(`there is no gpuacct/${name} in ${ref.namespace}`);
  const entries = (account.status?.avoid ?? []).map(({ kind, id, until, failures, reason }) => ({
    target: { type: kind === 'Host' ? 'host' : 'machine', id } as const,
    until: parseTime(until) ?? 0,
    failures,
    reason,
  }));
  return {
    account,
    limits: limitsOf(account),
    excluded: avoidedAt(entries, Date.now()),
    note: `limits and avoid list of gpuacct/${name} are considered`,
  };
}
