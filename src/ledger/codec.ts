import * as z from 'zod';
import { monthName } from '../instance/cost.ts';
import { formatDollars, type MicroDollars, parseDollars } from '../lib/money.ts';
import { type Counted, type Entry, machineKey, type Sum, tagsKey } from './entry.ts';
import { emptyMonth, type Month } from './ledger.ts';
import { MONTH_PATTERN } from './months.ts';

/** `data` of a ConfigMap. */
export type LedgerData = Readonly<Record<string, string>>;

/** Keys of the ConfigMap of a month. */
const KEYS = {
  month: 'month',
  entries: 'entries',
  sums: 'sums',
  counted: 'counted',
  unread: 'unread',
} as const;

const text = z.string().max(512);
const whole = z.int().min(0).max(Number.MAX_SAFE_INTEGER);
const labels = z.record(z.string().max(317), z.string().max(63)).readonly();
const amount = z.string().transform((written, context): MicroDollars => {
  const micros = parseDollars(written);
  if (micros !== undefined) return micros;
  context.addIssue({ code: 'custom', message: 'no amount of dollars' });
  return z.NEVER;
});
/** Seconds since the epoch; a date of JavaScript ends in the year 275760. */
const seconds = z.int().min(0).max(8_640_000_000_000);
const period = z.string().regex(/^\d{4}-(0[1-9]|1[0-2])(-(0[1-9]|[12]\d|3[01]))?$/);

const tags = {
  account: text,
  namespace: text,
  group: text.default(''),
  gpu: text.default(''),
  labels: labels.default({}),
};

const entryLine = z.object({
  ...tags,
  uid: text,
  machine: text,
  name: text,
  gpus: whole.default(1),
  start: seconds,
  end: seconds,
  cost: amount,
  total: amount.optional(),
  price: amount.optional(),
  reason: text.optional(),
  estimated: z.literal(true).optional(),
});

const sumLine = z.object({ ...tags, period, cost: amount, gpuSeconds: whole, machines: whole });
const countedLine = z.object({
  key: text,
  total: amount,
  ended: z.literal(true).optional(),
  month: z.string().optional(),
});

/** Encoded months: from write to write most of them do not change. */
const encoded = new WeakMap<Month, LedgerData>();

/**
 * Returns `data` of the ConfigMap of a month: one JSON object in a line. Fields that are empty, or that follow from
 * others, are left out.
 */
export function encodeMonth(month: Month): LedgerData {
  const data = encoded.get(month) ?? monthData(month);
  // Stryker disable next-line CallExpression: a text that is not cached is encoded again, with the same result
  encoded.set(month, data);
  return data;
}

function monthData({ month, entries, sums, counted, unread }: Month): LedgerData {
  return {
    [KEYS.month]: month,
    [KEYS.entries]: lines(entries.map(entryText)),
    [KEYS.sums]: lines(sums.map(sumText)),
    [KEYS.counted]: lines([...counted].map(([key, record]) => countedText(key, record))),
    [KEYS.unread]: lines(unread),
  };
}

/** Returns the bytes of the month in its ConfigMap. */
export function encodedBytes(month: Month): number {
  return Object.values(encodeMonth(month)).reduce((sum, part) => sum + Buffer.byteLength(part), 0);
}

/** Returns true for keys of ConfigMaps that the operator writes; it leaves others unchanged. */
export function isLedgerKey(key: string): boolean {
  return Object.values<string>(KEYS).includes(key) || MONTH_PATTERN.test(key);
}

/**
 * Reads `data` of the ConfigMap of a month. A line that this version cannot read, and a second line of a machine, are
 * kept as text, so that the next write does not lose them. `monthOf` returns the month of a ConfigMap without a
 * month, or with a wrong one, from the months of its lines. Undefined if the ConfigMap has no month and no line.
 */
export function decodeMonth(
  data: LedgerData | undefined,
  monthOf: (named: string | undefined, ofLines: readonly string[]) => string | undefined = validMonth,
): Month | undefined {
  if (data === undefined) return undefined;
  const unread: string[] = [...linesOf(data[KEYS.unread])];
  const read = <T>(key: keyof typeof KEYS, schema: z.ZodType<T>) =>
    readLines(data[KEYS[key]], schema, unread);
  const entries = once(read('entries', entryLine).map(toEntry), BY_MACHINE, unread);
  const sums = once(read('sums', sumLine), BY_TAGS, unread);
  const counted = read('counted', countedLine).map(toCounted);
  const ofLines = [
    ...entries.map(({ end }) => monthName(Math.max(0, end - 1))),
    ...sums.map(({ period: of }) => of.slice(0, 7)),
  ];
  const month = monthOf(validMonth(data[KEYS.month]), ofLines);
  const isEmpty = [...ofLines, ...counted, ...unread].length === 0;
  if (month === undefined || (isEmpty && month !== data[KEYS.month])) return undefined;
  return { ...emptyMonth(month), entries, sums, counted: new Map(counted), unread };
}

function validMonth(text = ''): string | undefined {
  return MONTH_PATTERN.test(text) ? text : undefined;
}

/** Returns the first line of each key. Another line counts no cost: a person may have copied it. */
function once<T>(
  lines: readonly T[],
  { key, text }: { readonly key: (line: T) => string; readonly text: (line: T) => string },
  unread: string[],
): readonly T[] {
  const first = new Map<string, T>();
  for (const line of lines) {
    const known = first.get(key(line));
    if (known === undefined) first.set(key(line), line);
    else if (text(known) !== text(line)) unread.push(text(line));
  }
  return [...first.values()];
}

const BY_MACHINE = { key: machineKey, text: entryText };
const BY_TAGS = { key: tagsKey, text: sumText };

/** Returns `data` of the ConfigMap of older months: their sums, by month, and the machines in them. */
export function encodePast(months: readonly Month[]): LedgerData {
  const counted = months.flatMap(({ month, counted: machines }) =>
    [...machines].map(([key, record]) => countedText(key, record, month)),
  );
  return {
    ...Object.fromEntries(months.map(({ month, sums }) => [month, lines(sums.map(sumText))])),
    [KEYS.counted]: lines(counted),
    [KEYS.unread]: lines(months.flatMap(({ unread }) => unread)),
  };
}

/** Reads `data` of the ConfigMap of older months. Lines that it cannot read belong to the oldest of them. */
export function decodePast(data: LedgerData | undefined): readonly Month[] {
  const unread = [...linesOf(data?.[KEYS.unread])];
  const counted = readLines(data?.[KEYS.counted], countedLine, unread);
  const months = Object.entries(data ?? {}).flatMap(([month, written]) => {
    if (!MONTH_PATTERN.test(month)) return [];
    const machines = counted.filter((line) => line.month === month).map(toCounted);
    const sums = once(readLines(written, sumLine, unread), BY_TAGS, unread);
    return [{ ...emptyMonth(month), sums, counted: new Map(machines) }];
  });
  const [oldest, ...others] = months.toSorted((a, b) => (a.month < b.month ? -1 : 1));
  return oldest ? [{ ...oldest, unread }, ...others] : [];
}

function readLines<T>(written: string | undefined, schema: z.ZodType<T>, unread: string[]): readonly T[] {
  return linesOf(written).flatMap((line) => {
    const read = schema.safeParse(parsed(line));
    if (read.success) return [read.data];
    unread.push(line);
    return [];
  });
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

function linesOf(written: string | undefined): readonly string[] {
  // A list in place of the data has functions of such names.
  return typeof written === 'string' ? written.split('\n').filter((line) => line !== '') : [];
}

function lines(texts: readonly string[]): string {
  return texts.map((each) => `${each}\n`).join('');
}

function tagFields({ account, namespace, group, gpu, labels: kept }: Entry | Sum) {
  return {
    ...{ account, namespace },
    ...(group !== '' && { group }),
    ...(gpu !== '' && { gpu }),
    ...(Object.keys(kept).length > 0 && { labels: kept }),
  };
}

function entryText(entry: Entry): string {
  const { machine, uid, name, gpus, start, end, cost, total, price, reason, isEstimated } = entry;
  return JSON.stringify({
    ...{ machine, uid, name },
    ...tagFields(entry),
    ...(gpus !== 1 && { gpus }),
    ...{ start: Math.floor(start / 1000), end: Math.floor(end / 1000), cost: formatDollars(cost) },
    ...(total !== cost && { total: formatDollars(total) }),
    ...(price !== undefined && { price: formatDollars(price) }),
    reason,
    ...(isEstimated && { estimated: true }),
  });
}

function toEntry({
  start,
  end,
  total,
  price,
  reason,
  estimated,
  ...line
}: z.output<typeof entryLine>): Entry {
  return {
    ...line,
    ...{ start: start * 1000, end: end * 1000 },
    total: total ?? line.cost,
    ...{ price, reason },
    isEstimated: estimated === true,
  };
}

function sumText(sum: Sum): string {
  const { period: of, cost, gpuSeconds, machines } = sum;
  return JSON.stringify({ period: of, ...tagFields(sum), cost: formatDollars(cost), gpuSeconds, machines });
}

function countedText(
  key: string,
  { total, hasEnded }: Pick<Counted, 'total' | 'hasEnded'>,
  month?: string,
): string {
  return JSON.stringify({ key, total: formatDollars(total), ...(hasEnded && { ended: true }), month });
}

function toCounted({ key, total, ended }: z.output<typeof countedLine>) {
  return [key, { total, hasEnded: ended === true }] as const;
}
