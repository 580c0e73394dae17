import * as z from 'zod';
import type { GpuInstance } from '../api/v1alpha1/gpu-instance.ts';
import { totalCost } from '../instance/cost.ts';
import { formatTime } from '../lib/time.ts';
import { ageText, dollarText, hourlyText, inDollars } from './amounts.ts';
import { machineFigures, statusFigures } from './group-figures.ts';
import type { TextOptions } from './group-text.ts';
import { printableLine } from './printable.ts';
import { type Column, formatTable, NAMESPACE } from './table.ts';

export const instanceFiguresSchema = z.strictObject({
  namespace: z.string(),
  name: z.string(),
  ...machineFigures,
  ready: machineFigures.ready.optional(),
  machine: z.string().optional().describe('Id of its machine at the marketplace.'),
  gpuUtilization: z
    .number()
    .optional()
    .describe('Share of the GPUs in use, from 0 to 1, as the marketplace reports it.'),
  cost: z.number().describe('Dollars, all of its machines together.'),
});

/** A GpuInstance as numbers, at one time. An unknown figure is left out. */
export type InstanceFigures = z.infer<typeof instanceFiguresSchema>;

/** Utilization of machines by id, and the reasons why others have none. */
export interface Utilization {
  readonly byMachine: ReadonlyMap<string, number | undefined>;
  readonly notes: readonly string[];
}

/**
 * Returns the figures of a machine from its object and the marketplace at `now` (epoch milliseconds). `utilizationOf`
 * returns the GPU utilization of a machine by its id.
 */
export function instanceFigures(
  { metadata, status = {} }: GpuInstance,
  utilizationOf: (machine: string) => number | undefined,
  now: number,
): InstanceFigures {
  const { namespace = '', name } = metadata;
  const { cost, instanceId } = status;
  return {
    ...{ namespace, name },
    ...statusFigures({ metadata, status }, now),
    machine: instanceId,
    gpuUtilization: instanceId === undefined ? undefined : utilizationOf(instanceId),
    cost: inDollars(totalCost(cost, now)) ?? 0,
  };
}

/** Figures of machines at one time, for programs. */
export const instanceSnapshotSchema = z.strictObject({
  at: z.string(),
  instances: z.array(instanceFiguresSchema).readonly(),
  notes: z.array(z.string()).readonly().describe('Accounts whose use of GPUs is unknown, and why.'),
});

/** Returns the figures of all machines at `now` (epoch milliseconds). */
export function instanceSnapshot(
  instances: readonly InstanceFigures[],
  notes: readonly string[],
  now: number,
): z.infer<typeof instanceSnapshotSchema> {
  return { at: formatTime(now), instances, notes };
}

/**
 * Returns one line for each machine, the most expensive first, one for their sum if there are several, and the reasons
 * for missing figures.
 */
export function instancesText(
  instances: readonly InstanceFigures[],
  notes: readonly string[],
  options: TextOptions,
): string {
  if (instances.length === 0) return 'No GpuInstances found.\n';
  const rows = instances.toSorted(
    (left, right) =>
      (right.pricePerHour ?? 0) - (left.pricePerHour ?? 0) || left.name.localeCompare(right.name),
  );
  const columns = options.namespaces ? [NAMESPACE, ...COLUMNS] : COLUMNS;
  const table = formatTable(columns, rows.length > 1 ? [...rows, sumOf(rows)] : rows, options);
  return `${table}${notes.map((note) => `\n${printableLine(note)}\n`).join('')}`;
}

const COLUMNS: readonly Column<InstanceFigures>[] = [
  { header: 'Name', text: ({ name }) => name },
  { header: 'Phase', text: ({ phase }) => phase },
  { header: 'Ready', text: ({ ready }) => (ready === undefined ? undefined : ready ? 'yes' : 'no') },
  { header: 'GPU', text: ({ gpu }) => gpu && `${gpu.count} × ${gpu.name}` },
  {
    header: 'GPU used',
    text: ({ gpuUtilization: used }) => (used === undefined ? undefined : `${Math.round(used * 100)} %`),
  },
  { header: '$/h', text: ({ pricePerHour }) => hourlyText(pricePerHour) },
  { header: 'Cost', text: ({ cost }) => dollarText(cost) },
  {
    header: 'Age',
    text: ({ ageSeconds }) => (ageSeconds === undefined ? undefined : ageText(ageSeconds * 1000)),
  },
  { header: 'Machine', text: ({ machine }) => machine, wide: true },
];

function sumOf(rows: readonly InstanceFigures[]): InstanceFigures {
  const sum = (pick: (row: InstanceFigures) => number | undefined) =>
    Math.round(rows.reduce((total, row) => total + (pick(row) ?? 0), 0) * 1e6) / 1e6;
  return {
    ...{ namespace: '', name: 'total' },
    pricePerHour: sum(({ pricePerHour }) => pricePerHour),
    cost: sum(({ cost }) => cost),
  };
}
