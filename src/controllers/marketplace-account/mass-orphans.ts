import { askedWord } from '../../api/v1alpha1/asked-word.ts';
import type { MarketplaceAccountStatus } from '../../api/v1alpha1/marketplace-account.ts';
import { annotations } from '../../api/v1alpha1/names.ts';
import { goneMachines } from './gone-machines.ts';
import type { Observed } from './types.ts';

export type MassOrphanRecord = Pick<
  MarketplaceAccountStatus,
  'massOrphaned' | 'orphansConfirmed' | 'orphansConfirmedBy'
>;

/** One more says nothing new: a single one keeps all that are unclaimed. */
const MAX_IDS = 256;

/**
 * Machines that lost their objects together stay on record until they are gone, or until a person confirms by a value of
 * the annotation that was not there yet when they were written down. Those confirmed are remembered, so that the next
 * sweep does not report them again.
 */
export function massOrphanRecord(observed: Observed): MassOrphanRecord {
  const { account, session } = observed;
  const { massOrphaned = [], orphansConfirmed = [], orphansConfirmedBy } = account.status ?? {};
  const word = askedWord(account.metadata, annotations.confirmOrphans);
  const gone = goneMachines(observed);
  const isThere = (id: number) => !gone.has(id);
  const found = (session?.findings.massOrphaned ?? []).filter((id) => !orphansConfirmed.includes(id));
  const latched = [...new Set([...massOrphaned, ...found])].filter(isThere).sort((a, b) => a - b);
  const confirms = massOrphaned.length > 0 && word !== undefined && word !== orphansConfirmedBy;
  const confirmed = [...orphansConfirmed, ...(confirms ? latched : [])].filter(isThere);
  return {
    ...idsOf('massOrphaned', confirms ? [] : latched, account.status),
    ...idsOf('orphansConfirmed', confirmed, account.status),
    ...(word !== undefined && { orphansConfirmedBy: word }),
  };
}

/** An empty list takes the place of one that is on record. */
function idsOf(
  name: 'massOrphaned' | 'orphansConfirmed',
  ids: readonly number[],
  status: MarketplaceAccountStatus | undefined,
): MassOrphanRecord {
  return status?.[name] || ids.length > 0 ? { [name]: ids.slice(0, MAX_IDS) } : {};
}
