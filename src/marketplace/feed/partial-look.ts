import type { Instance } from '../instances/instance.ts';
import type { InstancesResource } from '../instances/instances.ts';
import { listPages } from '../instances/paged-list.ts';

/** Every state that a machine passes through or ends in; only `running`, where most of them are, is left out. */
const UNSETTLED_STATUSES = [
  null,
  'created',
  'loading',
  'rebooting',
  'stopped',
  'frozen',
  'exited',
  'unknown',
  'offline',
  'destroyed',
] as const;

/** A machine that left the filter is read by itself; more of them than this wait for the whole list. */
const MAX_SINGLE_READS = 5;

/**
 * Fresh views of the machines that are booting, ailing or leaving, and of those that were and no longer are:
 * one filtered list instead of all pages.
 */
export async function lookAtUnsettled(
  instances: InstancesResource,
  known: ReadonlyMap<number, Instance>,
  signal: AbortSignal,
): Promise<readonly Instance[]> {
  const filters = { actual_status: { in: UNSETTLED_STATUSES } };
  const seen = await listPages(instances, { filters, signal });
  const named = new Set(seen.map(({ id }) => id));
  const settled = [...known.values()]
    .filter((row) => row.actualStatus !== 'running' && !named.has(row.id))
    .slice(0, MAX_SINGLE_READS);
  const single: Instance[] = [];
  for (const { id } of settled) {
    const row = await instances.get(id, { signal });
    if (row) single.push(row);
  }
  return [...seen, ...single];
}
