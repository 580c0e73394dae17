import { saysNothing } from './failure.ts';
import { massOrphanRecord } from './mass-orphans.ts';
import { provesPinned } from './pinned-login.ts';
import { rollbackRecord } from './rollback.ts';
import type { Observed } from './types.ts';

/** What becomes of machines of ours that no object claims, when their account is deleted. */
export type LeftBehind =
  | { readonly type: 'none' }
  /** They are swept first, and the account waits. */
  | { readonly type: 'awaited'; readonly message: string }
  /** Nobody sweeps them: they bill on. */
  | { readonly type: 'left'; readonly message: string };

/**
 * Machines that nobody would sweep any more once the account is gone. It waits for them only where its policy is to destroy
 * them and a sweep may do so: what a person would have to mend first holds no account back.
 */
export function leftBehind(observed: Observed): LeftBehind {
  const { account, beside } = observed;
  const machines = account.metadata.deletionTimestamp === undefined ? undefined : unclaimed(observed);
  if (machines === undefined || beside === 'sweeps') return { type: 'none' };
  const found = `${machines} are ours, and no GpuInstance claims them:`;
  return isSwept(observed)
    ? {
        type: 'awaited',
        message: `${found} they are destroyed before the account goes. To let it go without them, set spec.orphanPolicy to Report.`,
      }
    : {
        type: 'left',
        message: `${found} they stay when this account goes, and bill on. Destroy those that you do not need in the marketplace's console.`,
      };
}

const MOST_NAMED = 10;

/** In words; undefined where there are none. Before the first sweep of a process, by what is on record. */
function unclaimed({ session, account }: Observed): string | undefined {
  const ids = session?.unclaimed;
  if (!ids) {
    const count = account.status?.machines?.orphaned ?? 0;
    return count === 0 ? undefined : `${count} machines of the login`;
  }
  if (ids.length === 0) return undefined;
  const named = ids.slice(0, MOST_NAMED).join(', ');
  const more = ids.length > MOST_NAMED ? ` and ${ids.length - MOST_NAMED} more` : '';
  return `Machines ${named}${more}`;
}

function isSwept(observed: Observed): boolean {
  const { account, installation, beside } = observed;
  if (account.spec.orphanPolicy !== 'Destroy' || beside === 'reports') return false;
  const mayBe =
    installation.type === 'pending' || (installation.type === 'known' && installation.sweep === 'allowed');
  const { rolledBack = [] } = rollbackRecord(observed);
  const { massOrphaned = [] } = massOrphanRecord(observed);
  return mayBe && rolledBack.length === 0 && massOrphaned.length === 0 && hasUsableKey(observed);
}

/** One that may destroy, or of which it is only not known yet. */
function hasUsableKey({ proof, account }: Observed): boolean {
  if (provesPinned(proof, account.status?.login)) return proof.mayDestroy;
  return proof.type === 'failed' && saysNothing(proof.failure);
}
