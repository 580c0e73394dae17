import type { CallOptions } from '../../market/call-options.ts';
import { MarketplaceError, type MarketplaceErrorKind } from '../../market/errors.ts';
import type { MarketplaceId } from '../../market/ids.ts';
import type { MachineRow } from '../../market/machine.ts';
import type { Market } from '../../market/market.ts';
import type { Instance, KnownStatus } from './instances/instance.ts';
import { type InstancesResource, listPages } from './instances/instances.ts';
import { toMachineRow } from './machine-row.ts';

type Reads = Pick<InstancesResource, 'list' | 'page' | 'get'>;

/** Form of the list: `whole` is the specification's; `paged` is served by services that answer 410 to it. */
type Form = 'whole' | 'paged';

/** Answers of a service that does not serve a form of the list. */
const NOT_SERVED: Readonly<Record<Form, ReadonlySet<MarketplaceErrorKind>>> = {
  whole: new Set<MarketplaceErrorKind>(['gone']),
  paged: new Set<MarketplaceErrorKind>(['gone', 'notFound']),
};

/**
 * Reads of machines. The list is whole or paged: the form that the service served last, and the other one if the
 * service no longer serves it. A single wrong answer, such as from a proxy, does not exclude a form permanently.
 */
export function machineReads(instances: Reads): Pick<Market, 'machines' | 'unsettled' | 'machine'> {
  let form: Form = 'whole';
  return {
    async machines(call = {}) {
      try {
        return { machines: await listBy(form, instances, call) };
      } catch (error) {
        if (!(error instanceof MarketplaceError) || !NOT_SERVED[form].has(error.kind)) throw error;
        const other = form === 'paged' ? 'whole' : 'paged';
        const machines = await listBy(other, instances, call);
        form = other;
        return { machines };
      }
    },
    unsettled: (known, call) => (form === 'paged' ? readUnsettled(instances, known, call) : undefined),
    async machine(id, call) {
      const instance = await instances.get(id, call);
      return instance && toMachineRow(instance);
    },
  };
}

async function listBy(form: Form, instances: Reads, call: CallOptions): Promise<readonly MachineRow[]> {
  const rows: readonly Instance[] =
    form === 'paged' ? await listPages(instances, call) : (await instances.list(call)).instances;
  return rows.map(toMachineRow);
}

/** Every status of a starting or ending machine. Only `running` is left out, the status of most machines. */
const UNSETTLED_STATUSES: readonly (KnownStatus | null)[] = [
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
];

/**
 * Maximum number of machines outside the filter that are read individually; more of them wait for the whole list.
 */
const MAX_SINGLE_READS = 5;

/**
 * Reads fresh rows of the machines that are booting, failing or leaving, and of those that were and no longer are, with
 * one filtered list instead of all pages. Rejects with the MarketplaceError of its calls.
 */
async function readUnsettled(
  instances: Reads,
  known: ReadonlyMap<MarketplaceId, MachineRow>,
  call: CallOptions = {},
): Promise<readonly MachineRow[]> {
  const filters = { actual_status: { in: UNSETTLED_STATUSES } };
  const seen = (await listPages(instances, { filters, ...call })).map(toMachineRow);
  const named = new Set(seen.map(({ id }) => id));
  const settled = [...known.values()]
    .filter((row) => row.state !== 'running' && !named.has(row.id))
    .slice(0, MAX_SINGLE_READS);
  const single: MachineRow[] = [];
  for (const { id } of settled) {
    const instance = await instances.get(id, call);
    if (instance) single.push(toMachineRow(instance));
  }
  return [...seen, ...single];
}
