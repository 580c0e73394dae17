import type { GpuInstance } from '../../api/v1alpha1/gpu-instance.ts';
import type { MarketplaceAccount } from '../../api/v1alpha1/marketplace-account.ts';
import { annotations } from '../../api/v1alpha1/names.ts';
import { hasOperatorPrefix } from '../../ownership/label.ts';
import { type AccountRegistry, keyOf, refOf } from '../account-registry.ts';
import type { RentalTraces } from './installation.ts';

/** Looks for everything that a former identity of this installation could have left. */
export function rentalTraces(
  instances: readonly GpuInstance[],
  accounts: readonly MarketplaceAccount[],
  registry: AccountRegistry,
): RentalTraces {
  const sessions = accounts.map((account) => registry.session(refOf(account)));
  const rows = sessions.flatMap((session) => [...(session?.feed.latest()?.rows.values() ?? [])]);
  const labelled = new Set(rows.filter((row) => hasOperatorPrefix(row.label)).map((row) => row.id));
  return {
    objectsWithRentals: instances.filter(hasRental).length,
    labelledMachines: labelled.size,
    unlisted: accounts
      .filter((account) => !isListed(account, registry))
      .map((account) => keyOf(refOf(account))),
  };
}

function hasRental({ metadata, status }: GpuInstance): boolean {
  return status?.claim !== undefined || metadata.annotations?.[annotations.rentalIntent] !== undefined;
}

/** An account whose key was tried in vain and that never had a login has no machines to list. */
function isListed(account: MarketplaceAccount, registry: AccountRegistry): boolean {
  const ref = refOf(account);
  if (registry.session(ref)?.connected()) return true;
  return account.status?.login === undefined && registry.wasTried(ref);
}
