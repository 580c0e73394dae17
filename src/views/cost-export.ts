import type { Charge } from '../ledger/cost-sums.ts';
import { monthEndOf, monthStartOf } from '../ledger/months.ts';
import { formatDollars } from '../lib/money.ts';
import { formatTime } from '../lib/time.ts';

/** Formats of an export: the columns of FOCUS 1.0 of the FinOps Foundation, or plain columns. */
export const EXPORT_FORMATS = ['focus', 'csv'] as const;
export type ExportFormat = (typeof EXPORT_FORMATS)[number];

interface ExportInput {
  /** `2026-11` */
  readonly month: string;
  readonly charges: readonly Charge[];
  /** Name of the marketplace, which sends the invoice. */
  readonly provider: string;
}

type Column = readonly [header: string, text: (charge: Charge, input: ExportInput) => string];

/** Returns a field without a value. */
const NULL = (): string => '';

const cost = ({ cost: amount }: Charge) => formatDollars(amount);
const hours = ({ gpuSeconds }: Charge) => decimal(gpuSeconds / 3600);
const start = ({ start: at }: Charge) => formatTime(at);
/** Returns the end of a period of a second at least, also for a machine that ended in the second of its begin. */
const end = ({ start: at, end: until }: Charge) => formatTime(Math.max(until, at + 1000));
const provider = (_charge: Charge, input: ExportInput) => input.provider;
const gpuOf = ({ gpu }: Charge) => (gpu === '' ? 'GPU' : gpu);
const nameOf = ({ entry, namespace, group }: Charge) =>
  entry ? `${namespace}/${entry.name}` : group === '' ? namespace : `${namespace}/${group}`;
const unitPrice = ({ cost: amount, gpuSeconds }: Charge) =>
  gpuSeconds === 0 ? '' : withPoint(decimal(amount / 1e6 / (gpuSeconds / 3600)));
const priced =
  (text: string) =>
  ({ gpuSeconds }: Charge) =>
    gpuSeconds === 0 ? '' : text;
const pricedHours = (charge: Charge) => (charge.gpuSeconds === 0 ? '' : withPoint(hours(charge)));

/**
 * Columns of FOCUS 1.0. A null is an empty field. Columns of the operator begin with `x_`. An id is never a number alone,
 * which programs would read as one.
 */
const FOCUS: readonly Column[] = [
  ['AvailabilityZone', NULL],
  ['BilledCost', cost],
  ['BillingAccountId', ({ account }) => account],
  ['BillingAccountName', ({ account }) => account],
  ['BillingCurrency', () => 'USD'],
  ['BillingPeriodEnd', (_charge, { month }) => formatTime(monthEndOf(month))],
  ['BillingPeriodStart', (_charge, { month }) => formatTime(monthStartOf(month))],
  ['ChargeCategory', () => 'Usage'],
  ['ChargeClass', NULL],
  ['ChargeDescription', description],
  ['ChargeFrequency', () => 'Usage-Based'],
  ['ChargePeriodEnd', end],
  ['ChargePeriodStart', start],
  ['CommitmentDiscountCategory', NULL],
  ['CommitmentDiscountId', NULL],
  ['CommitmentDiscountName', NULL],
  ['CommitmentDiscountStatus', NULL],
  ['CommitmentDiscountType', NULL],
  ['ConsumedQuantity', pricedHours],
  ['ConsumedUnit', priced('Hours')],
  ['ContractedCost', cost],
  ['ContractedUnitPrice', unitPrice],
  ['EffectiveCost', cost],
  ['InvoiceIssuerName', provider],
  ['ListCost', cost],
  ['ListUnitPrice', unitPrice],
  ['PricingCategory', () => 'Standard'],
  ['PricingQuantity', pricedHours],
  ['PricingUnit', priced('Hours')],
  ['ProviderName', provider],
  ['PublisherName', provider],
  ['RegionId', NULL],
  ['RegionName', NULL],
  ['ResourceId', ({ entry }, input) => (entry ? `${input.provider}/${entry.machine}` : '')],
  ['ResourceName', (charge) => (charge.entry ? nameOf(charge) : '')],
  ['ResourceType', ({ entry }) => (entry ? 'GPU machine' : '')],
  ['ServiceCategory', () => 'Compute'],
  ['ServiceName', () => 'GPU rental'],
  ['SkuId', gpuOf],
  ['SkuPriceId', gpuOf],
  ['SubAccountId', ({ namespace }) => namespace],
  ['SubAccountName', ({ namespace }) => namespace],
  ['Tags', tags],
  ['x_Final', ({ isOpen }) => String(!isOpen)],
];

/** Columns for a table program. */
const PLAIN: readonly Column[] = [
  ['account', ({ account }) => account],
  ['namespace', ({ namespace }) => namespace],
  ['name', ({ entry }) => entry?.name ?? ''],
  ['group', ({ group }) => group],
  ['gpu', ({ gpu }) => gpu],
  ['gpus', ({ entry }) => String(entry?.gpus ?? '')],
  [
    'labels',
    ({ labels }) =>
      Object.entries(labels)
        .map((label) => label.join('='))
        .join(' '),
  ],
  ['machine', ({ entry }) => entry?.machine ?? ''],
  ['machines', ({ machines }) => String(machines)],
  ['start', start],
  ['end', ({ end: at }) => formatTime(at)],
  ['gpuHours', hours],
  ['dollars', cost],
  ['reason', ({ entry }) => entry?.reason ?? ''],
  ['estimated', ({ entry }) => (entry ? String(entry.isEstimated) : '')],
  ['final', ({ isOpen }) => String(!isOpen)],
];

function description(charge: Charge): string {
  const { entry, machines } = charge;
  if (!entry) return `${machines} machines of ${nameOf(charge)} (${gpuOf(charge)})`;
  const why = entry.reason ?? 'running';
  return `Machine ${entry.machine} of ${nameOf(charge)} (${entry.gpus} × ${gpuOf(charge)}): ${why}`;
}

function tags({ namespace, group, labels }: Charge): string {
  return JSON.stringify({ ...labels, namespace, ...(group !== '' && { endpointGroup: group }) });
}

/** Returns the charges of a month as CSV (RFC 4180), with a heading. */
export function exportText(format: ExportFormat, input: ExportInput): string {
  const columns = format === 'focus' ? FOCUS : PLAIN;
  const rows = input.charges.map((charge) => columns.map(([, text]) => text(charge, input)));
  return [columns.map(([header]) => header), ...rows]
    .map((row) => `${row.map(field).join(',')}\r\n`)
    .join('');
}

/** Returns a field of CSV. A text that a table program would run as a formula gets an apostrophe. */
function field(text: string): string {
  const safe = /^[=+@\t\r]/.test(text) || /^-[^\d.]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** Returns the number with a decimal point: FOCUS has decimals, and `48` would make a column one of integers. */
function withPoint(text: string): string {
  return text.includes('.') ? text : `${text}.0`;
}

function decimal(value: number): string {
  return String(Number(value.toFixed(9)));
}
