import { encodedBytes } from './codec.ts';
import { type CostTags, type Entry, machineKey, type Sum, tagsKey } from './entry.ts';
import type { Month } from './ledger.ts';
import { monthsBetween } from './months.ts';

/** Detail that a month keeps, from the finest to the coarsest. */
const DETAILS = ['entries', 'days', 'months', 'namespaces'] as const;
type Detail = (typeof DETAILS)[number];

/** Months before the present one whose entries are kept one by one. */
const ENTRIES_FOR = 1;
/** Months before the present one that are kept by day. */
const DAYS_FOR = 6;

/** Maximum bytes of one month: an object of etcd may have 1.5 MiB, and a ConfigMap 1 MiB. */
export const MAX_MONTH_BYTES = 768 * 1024;

const DAY_MS = 86_400_000;

/** Input of compaction in addition to the ledger. */
export interface CompactInput {
  /** The present month. */
  readonly now: string;
  /** True if an object still shows the machine, so that its entry may be added again. */
  readonly isShown: (key: string) => boolean;
  /** Maximum bytes of a month. Default {@link MAX_MONTH_BYTES}. */
  readonly maxBytes?: number | undefined;
}

/**
 * Returns the month with the detail for its age, or with less if it would be too large; the same month if nothing
 * changes. No step changes a sum. Unreadable lines are removed last.
 */
export function compactMonth(month: Month, input: CompactInput): Month {
  const { maxBytes = MAX_MONTH_BYTES } = input;
  let result = withDetail(month, detailAt(monthsBetween(month.month, input.now)), input);
  for (const detail of DETAILS) {
    if (encodedBytes(result) <= maxBytes) return result;
    result = withDetail(result, detail, input);
  }
  return withRoom(result, maxBytes);
}

/** Returns the month without its oldest unreadable lines, as many as are too large together: no cost is in them. */
function withRoom(month: Month, maxBytes: number): Month {
  let { unread } = month;
  while (unread.length > 0 && encodedBytes({ ...month, unread }) > maxBytes)
    unread = unread.slice(Math.ceil(unread.length / 8));
  return unread === month.unread ? month : { ...month, unread };
}

function detailAt(age: number): Detail {
  if (age <= ENTRIES_FOR) return 'entries';
  return age <= DAYS_FOR ? 'days' : 'months';
}

function withDetail(month: Month, detail: Detail, { isShown }: CompactInput): Month {
  const kept = new Map([...month.counted].filter(([key]) => isShown(key)));
  const counted = kept.size === month.counted.size ? month.counted : kept;
  if (detail === 'entries') return counted === month.counted ? month : { ...month, counted };
  const isDone = month.entries.length === 0 && month.sums.every((sum) => isOfDetail(sum, detail));
  if (isDone) return counted === month.counted ? month : { ...month, counted };
  const shown = month.entries.flatMap(({ uid, machine, total, reason }) => {
    const key = machineKey({ uid, machine });
    return isShown(key) ? [[key, { total, hasEnded: reason !== undefined }] as const] : [];
  });
  const sums = [...month.sums, ...month.entries.flatMap(daySums)].map((sum) => coarser(sum, detail));
  return { ...month, entries: [], sums: merged(sums), counted: new Map([...counted, ...shown]) };
}

function isOfDetail({ period, group, gpu, labels }: Sum, detail: Detail): boolean {
  if (detail === 'days') return true;
  const isMonth = period.length === 7;
  if (detail === 'months') return isMonth;
  return isMonth && group === '' && gpu === '' && Object.keys(labels).length === 0;
}

function coarser(sum: Sum, detail: Detail): Sum {
  if (detail === 'days') return sum;
  const month = { ...sum, period: sum.period.slice(0, 7) };
  return detail === 'months' ? month : { ...month, group: '', gpu: '', labels: {} };
}

/** Returns the sums with one for each month, account and namespace. */
export function namespaceSums(sums: readonly Sum[]): readonly Sum[] {
  return merged(sums.map((sum) => coarser(sum, 'namespaces')));
}

/** Returns the entry as one sum for each UTC day. Amounts are divided by time; the parts add up to the entry. */
export function daySums(entry: Entry): readonly Sum[] {
  const { account, namespace, group, gpu, labels, gpus, start, end, cost } = entry;
  const tags: CostTags = { account, namespace, group, gpu, labels };
  const seconds = wholeSeconds(start, end) * gpus;
  const share = (at: number, of: number) =>
    at >= end ? of : Math.round((of * (at - start)) / (end - start));
  const sums: Sum[] = [];
  for (let from = start; sums.length === 0 || from < end; from = dayEnd(from)) {
    const until = Math.min(end, dayEnd(from));
    const isFirst = sums.length === 0;
    sums.push({
      ...tags,
      period: new Date(from).toISOString().slice(0, 10),
      cost: share(until, cost) - (isFirst ? 0 : share(from, cost)),
      gpuSeconds: share(until, seconds) - (isFirst ? 0 : share(from, seconds)),
      machines: isFirst ? 1 : 0,
    });
  }
  return sums;
}

/** Returns the billed seconds between two times: services bill whole seconds. */
export function wholeSeconds(start: number, end: number): number {
  return Math.max(0, Math.floor(end / 1000) - Math.floor(start / 1000));
}

function dayEnd(at: number): number {
  return (Math.floor(at / DAY_MS) + 1) * DAY_MS;
}

/** Returns the sums with one for each period and set of tags. */
export function merged(sums: readonly Sum[]): readonly Sum[] {
  const byTags = new Map<string, Sum>();
  for (const sum of sums) {
    const key = tagsKey(sum);
    const before = byTags.get(key);
    byTags.set(key, before ? added(before, sum) : sum);
  }
  return [...byTags.values()].toSorted((a, b) => compareText(a.period, b.period));
}

function added(left: Sum, right: Sum): Sum {
  return {
    ...left,
    cost: left.cost + right.cost,
    gpuSeconds: left.gpuSeconds + right.gpuSeconds,
    machines: left.machines + right.machines,
  };
}

function compareText(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0;
}
