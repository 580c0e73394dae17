import type { MarketplaceAccount, MarketplaceAccountStatus } from '../../api/v1alpha1/marketplace-account.ts';
import { marketplaceAccountResource } from '../../api/v1alpha1/names.ts';
import { recordStatus } from '../../runtime/writes/record-status.ts';
import { failed, usageError } from '../failures/command-error.ts';
import { parseNumber } from '../options/option-values.ts';
import type { ClusterSession } from '../sessions/cluster-session.ts';
import { getObject } from './cluster-objects.ts';

/** One entry of an account's avoid list. */
export type AvoidEntry = NonNullable<MarketplaceAccountStatus['avoid']>[number];

/** A machine or host, as the command line names it. */
export interface AvoidTarget {
  readonly kind: AvoidEntry['kind'];
  readonly id: number;
}

/** Reads `machine/123` or `host/45`. */
export function parseAvoidTarget(text: string): AvoidTarget {
  const [kind = '', id = ''] = text.split('/');
  const known = { machine: 'Machine', host: 'Host' } as const;
  const found = known[kind.toLowerCase() as keyof typeof known];
  if (!found) throw usageError(`"${text}" is neither machine/id nor host/id.`);
  return { kind: found, id: parseNumber(id, text, { min: 0, whole: true }) };
}

/** The account whose list is meant: `default` unless another is named. */
export function accountNamed(cluster: ClusterSession, name: string | undefined): Promise<MarketplaceAccount> {
  return getObject<MarketplaceAccount>(cluster, marketplaceAccountResource, name ?? 'default');
}

const MOST_TRIES = 5;

/** Changes the list under the object's version; a lost race reads again. */
export async function changeAvoidList(
  cluster: ClusterSession,
  name: string | undefined,
  change: (entries: readonly AvoidEntry[]) => readonly AvoidEntry[],
): Promise<void> {
  for (let tries = 0; tries < MOST_TRIES; tries += 1) {
    const object = await accountNamed(cluster, name);
    const status: MarketplaceAccountStatus = {
      ...object.status,
      avoid: [...change(object.status?.avoid ?? [])],
    };
    const written = await recordStatus<MarketplaceAccountStatus, MarketplaceAccount>({
      client: cluster.kube,
      resource: marketplaceAccountResource,
      object,
      status,
    });
    if (written.type === 'written' || written.type === 'unchanged') return;
  }
  throw failed('The account changes too quickly to be written.', 'Try again.');
}
