import type { GpuInstance } from '../../api/v1alpha1/gpu-instance.ts';
import type { MarketplaceAccount } from '../../api/v1alpha1/marketplace-account.ts';
import { annotations } from '../../api/v1alpha1/names.ts';
import { installationNamedBy } from '../../ownership/label.ts';
import { type AccountRegistry, refOf } from '../registry.ts';
import type { RentalTraces } from './installation.ts';

/**
 * Searches for all records of an earlier identity of this cluster. Objects without intent or claim prove that nothing
 * is rented for them. Machines count only for an account whose status names the installation that rented with it.
 * Therefore labels of another cluster, and accounts that are new here, do not delay a first start.
 */
export function rentalTraces(
  instances: readonly GpuInstance[],
  accounts: readonly MarketplaceAccount[],
  registry: Pick<AccountRegistry, 'session' | 'wasTried'>,
): RentalTraces {
  const former = accounts.filter(({ status }) => status?.installation !== undefined);
  const own = new Set(former.flatMap((account) => ownMachinesOf(account, registry)));
  return {
    objectsWithRentals: instances.filter(hasRental).length,
    ownMachines: own.size,
    unlisted: former.filter((account) => isListPending(account, registry)).length,
  };
}

function hasRental({ metadata, status }: GpuInstance): boolean {
  return status?.claim !== undefined || metadata.annotations?.[annotations.rentalIntent] !== undefined;
}

/** Returns the machine ids prefixed with the login: two logins may have a machine of the same id. */
function ownMachinesOf(account: MarketplaceAccount, registry: Pick<AccountRegistry, 'session'>): string[] {
  const session = registry.session(refOf(account));
  const rows = [...(session?.feed.latest()?.rows.values() ?? [])];
  return rows
    .filter(({ label }) => installationNamedBy(label) === account.status?.installation)
    .map(({ id }) => `${session?.login.userId ?? ''}/${id}`);
}

/**
 * Returns true until the first list of the account has arrived or failed. An account whose key is refused, or whose
 * lists fail, reports this itself and delays no other account.
 */
function isListPending(
  account: MarketplaceAccount,
  registry: Pick<AccountRegistry, 'session' | 'wasTried'>,
): boolean {
  const ref = refOf(account);
  const session = registry.session(ref);
  if (!session) return !registry.wasTried(ref);
  return !session.isListed && session.feed.health().consecutiveFailures === 0;
}
