import type { GpuInstance } from '../../api/v1alpha1/gpu-instance.ts';
import type { MarketplaceAccount } from '../../api/v1alpha1/marketplace-account.ts';
import { accountRefOf } from '../../controllers/gpu-instance/observe.ts';
import { isKubeError } from '../../runtime/kube/kube-error.ts';
import { listInstances } from '../objects/cluster-objects.ts';
import type { ClusterSession } from '../sessions/cluster-session.ts';

/** GpuInstances that an account's limits count. */
export interface CountedInstances {
  readonly instances: readonly GpuInstance[];
  readonly isWhole: boolean;
  /** Limits that could not be considered in full, and why; undefined where there are none. */
  readonly missing: string | undefined;
}

/** Limits that are sums over objects, and so need all of them. */
const SUMS = ['maxInstances', 'maxSpendPerHour', 'maxSpendPerMonth'] as const;

/** The GpuInstances that name an account, as far as the caller may list them. */
export async function countedInstances(
  cluster: ClusterSession,
  account: MarketplaceAccount,
): Promise<CountedInstances> {
  const { namespace, name } = account.metadata;
  const isShared = account.spec.allowedNamespaces.from !== 'Same';
  const [widest, own] = isShared ? [undefined, namespace] : [namespace, namespace];
  const all = await listed(cluster, widest);
  const some = all ?? (isShared ? await listed(cluster, own) : undefined);
  const instances = (some ?? []).filter((instance) => {
    const ref = accountRefOf(instance);
    return ref.namespace === namespace && ref.name === name;
  });
  const isWhole = all !== undefined;
  return { instances, isWhole, missing: isWhole ? undefined : missingOf(account, some !== undefined) };
}

/** Undefined where the caller may not list. */
async function listed(
  cluster: ClusterSession,
  namespace: string | undefined,
): Promise<readonly GpuInstance[] | undefined> {
  try {
    return await listInstances(cluster, namespace);
  } catch (error) {
    if (isKubeError(error, 'forbidden')) return undefined;
    throw error;
  }
}

function missingOf({ spec, metadata }: MarketplaceAccount, countsOwn: boolean): string | undefined {
  const limits = SUMS.filter((limit) => spec.limits[limit] !== undefined).map((limit) => `limits.${limit}`);
  if (limits.length === 0) return undefined;
  const names = limits.join(', ');
  return countsOwn
    ? `${names} count namespace ${metadata.namespace} alone: you may not list gpuinstances of all namespaces`
    : `${names} are not considered: you may not list gpuinstances`;
}
