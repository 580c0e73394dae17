import * as z from 'zod';
import type { GpuInstance } from '../api/v1alpha1/gpu-instance.ts';
import { accountKey, accountRefOf } from '../instance/account-ref.ts';
import { totalCost } from '../instance/cost.ts';
import { parseDollars } from '../lib/money.ts';
import { dollarText, hourlyText, inDollars, roundedDollars } from './amounts.ts';
import { NAMESPACE, type View } from './table.ts';

const costRowSchema = z.strictObject({
  namespace: z.string(),
  name: z.string(),
  account: z.string().describe('`NAMESPACE/NAME` of the MarketplaceAccount.'),
  phase: z.string().optional(),
  perHour: z.number().describe('Dollars.'),
  perDay: z.number().describe('Dollars.'),
  soFar: z.number().describe('Dollars, all of its machines together.'),
  limit: z.number().optional().describe('`spec.maxTotalCost` in dollars.'),
});

export const costSchema = z.array(costRowSchema).readonly();

/** Cost of one GpuInstance. */
export type CostRow = z.infer<typeof costRowSchema>;

export const costView: View<CostRow> = {
  kind: 'gpui',
  name: ({ name }) => name,
  columns: [
    NAMESPACE,
    { header: 'Name', text: ({ name }) => name },
    { header: 'Account', text: ({ account }) => account },
    { header: 'Phase', text: ({ phase }) => phase },
    { header: '$/h', text: ({ perHour }) => hourlyText(perHour) },
    { header: '$/day', text: ({ perDay }) => dollarText(perDay) },
    { header: 'So far', text: ({ soFar }) => dollarText(soFar) },
    { header: 'At most', text: ({ limit }) => dollarText(limit), wide: true },
  ],
};

/** Returns the cost of each GpuInstance at `now` (epoch milliseconds), the most expensive first. */
export function costRows(instances: readonly GpuInstance[], now: number): readonly CostRow[] {
  return instances.map((instance) => costRow(instance, now)).sort(mostExpensiveFirst);
}

/** Returns the cost of one GpuInstance at `now` (epoch milliseconds). */
function costRow(instance: GpuInstance, now: number): CostRow {
  const { metadata, spec, status } = instance;
  const { namespace = '', name } = metadata;
  const { phase, cost } = status ?? {};
  const perHour = inDollars(parseDollars(cost?.pricePerHour)) ?? 0;
  const account = accountKey(accountRefOf(instance));
  return {
    ...{ namespace, name, account },
    phase,
    perHour,
    perDay: roundedDollars(perHour * 24),
    soFar: inDollars(totalCost(cost, now)) ?? 0,
    limit: spec.maxTotalCost === undefined ? undefined : Number(spec.maxTotalCost),
  };
}

/** Returns the last line of the table: the sum of all rows. */
export function costSum(rows: readonly CostRow[]): CostRow {
  const sum = (pick: (row: CostRow) => number) =>
    roundedDollars(rows.reduce((total, row) => total + pick(row), 0));
  return {
    ...{ namespace: '', name: 'total', account: '', phase: undefined, limit: undefined },
    perHour: sum(({ perHour }) => perHour),
    perDay: sum(({ perDay }) => perDay),
    soFar: sum(({ soFar }) => soFar),
  };
}

function mostExpensiveFirst(left: CostRow, right: CostRow): number {
  return right.perHour - left.perHour || right.soFar - left.soFar || left.name.localeCompare(right.name);
}
