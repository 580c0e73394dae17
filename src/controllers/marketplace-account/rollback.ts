import { askedWord } from '../../api/v1alpha1/asked-word.ts';
import type { MarketplaceAccountStatus } from '../../api/v1alpha1/marketplace-account.ts';
import { annotations } from '../../api/v1alpha1/names.ts';
import { timestampOf } from '../../runtime/writes/timestamp.ts';
import { goneMachines } from './gone-machines.ts';
import type { Observed } from './types.ts';

export type RollbackRecord = Pick<
  MarketplaceAccountStatus,
  'rolledBack' | 'rollbackConfirmed' | 'rollbackConfirmedAt'
>;

/** One more says nothing new: a single one keeps all that are unclaimed. */
const MOST_IDS = 256;

/**
 * Machines that prove that memory was rolled back stay on record until they are gone, or until a person has looked: by
 * a value of the annotation that was not there yet when they were written down. A restored object may carry an old one.
 * The confirmation is dated by the clock that dates machines, and waits until that is known.
 */
export function rollbackRecord(observed: Observed): RollbackRecord {
  const { account, serviceNow } = observed;
  const word = askedWord(account.metadata, annotations.confirmRollback);
  if (!confirms(account.status, word))
    return { ...idsOf(observed, latched(observed)), ...(word !== undefined && { rollbackConfirmed: word }) };
  if (serviceNow === undefined) return idsOf(observed, latched(observed));
  return {
    ...idsOf(observed, []),
    ...(word !== undefined && { rollbackConfirmed: word }),
    rollbackConfirmedAt: timestampOf(serviceNow),
  };
}

function confirms(status: MarketplaceAccountStatus | undefined, word: string | undefined): boolean {
  const { rolledBack = [], rollbackConfirmed } = status ?? {};
  return rolledBack.length > 0 && word !== undefined && word !== rollbackConfirmed;
}

/** An empty list takes the place of one that is on record. */
function idsOf({ account }: Observed, ids: readonly number[]): Pick<RollbackRecord, 'rolledBack'> {
  return account.status?.rolledBack || ids.length > 0 ? { rolledBack: [...ids] } : {};
}

/** What stands on record and is not gone, and what the latest sweep adds. */
function latched(observed: Observed): readonly number[] {
  const gone = goneMachines(observed);
  const before = (observed.account.status?.rolledBack ?? []).filter((id) => !gone.has(id));
  return [...new Set([...before, ...found(observed)])].sort((a, b) => a - b).slice(0, MOST_IDS);
}

/** A sweep that did not know yet what a person confirmed finds the same machines again. */
function found({ session, account }: Observed): readonly number[] {
  const confirmedAt = Date.parse(account.status?.rollbackConfirmedAt ?? '') || 0;
  return session && session.findings.confirmedAt >= confirmedAt ? session.findings.rolledBack : [];
}
