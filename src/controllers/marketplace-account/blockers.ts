import { type AccountRegistry, refOf } from '../../accounts/registry.ts';
import type { MarketplaceAccount } from '../../api/v1alpha1/marketplace-account.ts';
import type { AccountRef } from '../../instance/account-ref.ts';
import type { InstanceSummary } from '../../instance/summary.ts';

/** Where an account looks before it lets go. */
export interface BlockerSources {
  readonly registry: AccountRegistry;
  /** GpuInstances that name the account, read now, so that every write which was answered before is in them. */
  readonly listObjects: (ref: AccountRef) => Promise<readonly InstanceSummary[]>;
}

/**
 * Objects that keep an account from going, by namespace/name. Where the cache shows none to one that is being deleted, the
 * cache may be behind a purchase: no ticket is given from then on, who has one is waited for, and only then objects are
 * read as they are, which have their intent on record before any money is spent.
 */
export async function blockersOf(
  account: MarketplaceAccount,
  objects: readonly InstanceSummary[],
  { registry, listObjects }: BlockerSources,
): Promise<readonly string[]> {
  const known = blocking(objects);
  if (known.length > 0 || account.metadata.deletionTimestamp === undefined) return known;
  const session = registry.session(refOf(account));
  session?.refuse({ reason: 'AccountNotReady', message: 'The account is being removed.' });
  const renting = session?.admission.rentingFor() ?? [];
  if (renting.length > 0) return renting.map((uid) => keyOf(uid, objects));
  return blocking(registry.counted(account, await listObjects(refOf(account))));
}

function blocking(objects: readonly InstanceSummary[]): readonly string[] {
  return objects.filter(isBlocking).map((object) => object.key);
}

function isBlocking(object: InstanceSummary): boolean {
  return object.instanceId !== undefined || object.hasOpenIntent || object.hasDoubtfulIntent;
}

function keyOf(uid: string, objects: readonly InstanceSummary[]): string {
  return objects.find((object) => object.uid === uid)?.key ?? uid;
}
