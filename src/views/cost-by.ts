import * as z from 'zod';
import type { Charge } from '../ledger/cost-sums.ts';
import { machineKey } from '../ledger/entry.ts';
import { ownValue } from '../lib/json.ts';
import { dollarText, inDollars, roundedDollars } from './amounts.ts';
import type { View } from './table.ts';

const costByRowSchema = z.strictObject({
  by: z.string().describe('`namespace`, `account`, `group`, `gpu` or `label=KEY`.'),
  key: z.string().describe('Value of it; empty for costs without one.'),
  dollars: z.number().describe('Cost in the span of time.'),
  openDollars: z
    .number()
    .describe(
      'Part of `dollars` that may still change: of running machines, and of machines that just ended.',
    ),
  gpuHours: z.number().describe('Billed hours, times the number of GPUs.'),
  machines: z.int().describe('Number of machines with a cost in the span of time.'),
  running: z.int().describe('Number of them that the ledger does not have as ended.'),
});

export const costBySchema = z.array(costByRowSchema).readonly();

/** Cost of one namespace, account, group, GPU model or value of a label. */
export type CostByRow = z.infer<typeof costByRowSchema>;

/** Criteria for grouping costs, in addition to labels. */
export const COST_CRITERIA = ['namespace', 'account', 'group', 'gpu'] as const;

/** A criterion: one of the four, or a label. */
export type CostCriterion = (typeof COST_CRITERIA)[number] | { readonly label: string };

/** Returns the criterion as a person writes it. */
export function criterionText(criterion: CostCriterion): string {
  return typeof criterion === 'string' ? criterion : `label=${criterion.label}`;
}

export const costByView: View<CostByRow> = {
  kind: 'cost',
  name: ({ key }) => key,
  columns: [
    { header: 'Key', text: ({ key }) => (key === '' ? undefined : key) },
    { header: 'Cost', text: ({ dollars }) => dollarText(dollars) },
    { header: 'Open', text: ({ openDollars }) => dollarText(openDollars) },
    { header: 'GPU hours', text: ({ gpuHours }) => gpuHours.toFixed(1) },
    { header: 'Machines', text: ({ machines }) => machines },
    { header: 'Running', text: ({ running }) => running },
  ],
};

/** Returns the view with the criterion as the heading of its first column. */
export function costByViewOf(criterion: CostCriterion): View<CostByRow> {
  const header = typeof criterion === 'string' ? criterion : criterion.label;
  const [first, ...others] = costByView.columns;
  return { ...costByView, columns: first ? [{ ...first, header }, ...others] : others };
}

/** Returns the costs by a criterion, the highest first. */
export function costByRows(charges: readonly Charge[], criterion: CostCriterion): readonly CostByRow[] {
  const groups = Map.groupBy(charges, (charge) => keyOf(charge, criterion));
  const by = criterionText(criterion);
  return [...groups]
    .map(([key, list]) => ({ by, key, ...amountsOf(list) }))
    .sort((left, right) => right.dollars - left.dollars || left.key.localeCompare(right.key));
}

/** Returns the sum of all charges, as the last line of a table. */
export function costByTotal(charges: readonly Charge[], criterion: CostCriterion): CostByRow {
  return { by: criterionText(criterion), key: 'total', ...amountsOf(charges) };
}

function keyOf(charge: Charge, criterion: CostCriterion): string {
  return typeof criterion === 'string' ? charge[criterion] : (ownValue(charge.labels, criterion.label) ?? '');
}

function amountsOf(charges: readonly Charge[]): Omit<CostByRow, 'by' | 'key'> {
  const sum = (list: readonly Charge[], amount: (charge: Charge) => number) =>
    list.reduce((total, charge) => total + amount(charge), 0);
  const single = new Set(charges.flatMap(({ entry }) => (entry ? [machineKey(entry)] : [])));
  const open = charges.filter(({ isOpen }) => isOpen);
  const running = new Set(
    open.flatMap(({ entry }) => (entry && entry.reason === undefined ? [machineKey(entry)] : [])),
  );
  const inSums = charges.filter(({ entry }) => entry === undefined);
  return {
    dollars: inDollars(sum(charges, ({ cost }) => cost)) ?? 0,
    openDollars: inDollars(sum(open, ({ cost }) => cost)) ?? 0,
    gpuHours: roundedDollars(sum(charges, ({ gpuSeconds }) => gpuSeconds) / 3600),
    machines: single.size + sum(inSums, ({ machines }) => machines),
    running: running.size,
  };
}
