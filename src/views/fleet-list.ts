import type { MicroDollars } from '../lib/money.ts';
import type { FleetKind, FleetRow } from './fleet.ts';

/* Filter, order and groups of the rows of a fleet. */

/** Names of the kinds in a filter, each with the words that mean it. */
const KIND_NAMES: Readonly<Record<FleetKind, readonly string[]>> = {
  gpui: ['gpui', 'gpuinstance', 'instance'],
  epg: ['epg', 'endpointgroup', 'group'],
  gpuacct: ['gpuacct', 'marketplaceaccount', 'account'],
};

type Match = (row: FleetRow, value: string) => boolean;

const has = (text: string | undefined, value: string): boolean =>
  text?.toLowerCase().includes(value) === true;

/** Tests by the word before the colon. */
const FIELDS: Readonly<Record<string, Match>> = {
  state: ({ state }, value) => has(state.phase, value) || state.tone === value,
  ns: ({ namespace }, value) => has(namespace, value),
  namespace: ({ namespace }, value) => has(namespace, value),
  name: ({ name }, value) => has(name, value),
  gpu: ({ gpu }, value) => has(gpu, value),
  account: ({ account }, value) => has(account, value),
  group: ({ group }, value) => has(group, value),
  endpoint: ({ endpoint }, value) => has(endpoint, value),
  next: ({ next }, value) => has(next?.title, value),
  kind: ({ kind }, value) => KIND_NAMES[kind].includes(value.replace(/s$/, '')),
  label: ({ labels }, value) =>
    Object.entries(labels).some(([key, text]) => `${key}=${text}`.toLowerCase().includes(value)),
};

/** Names of the fields of a filter, for help and completion. */
export const FILTER_FIELDS = Object.keys(FIELDS);

/**
 * Returns a test for rows. A filter is words: all must match. `state:running` compares one field, `-word` excludes, any
 * other word is searched in kind, namespace, name, state, GPU, endpoint and account.
 */
export function parseFilter(text: string): (row: FleetRow) => boolean {
  const tests = text
    .toLowerCase()
    .split(/\s+/)
    .filter((term) => term !== '' && term !== '-')
    .map(termTest);
  return (row) => tests.every((test) => test(row));
}

function termTest(term: string): (row: FleetRow) => boolean {
  if (term.startsWith('-')) {
    const test = termTest(term.slice(1));
    return (row) => !test(row);
  }
  const colon = term.indexOf(':');
  const match =
    colon > 0 && Object.hasOwn(FIELDS, term.slice(0, colon)) ? FIELDS[term.slice(0, colon)] : undefined;
  const value = term.slice(colon + 1);
  if (match !== undefined) return (row) => value === '' || match(row, value);
  return ({ id, state, gpu, endpoint, account }) =>
    [id, state.phase, gpu, endpoint, account].some((field) => has(field, term));
}

/** Columns by which rows are ordered. */
export const SORT_COLUMNS = [
  'kind',
  'namespace',
  'name',
  'state',
  'gpu',
  'perHour',
  'month',
  'age',
  'endpoint',
  'account',
  'next',
] as const;

export type SortColumn = (typeof SORT_COLUMNS)[number];

/** A column and a direction. */
export interface Order {
  readonly by: SortColumn;
  readonly descending: boolean;
}

/** Order of states: those that need a person first. */
const TONE_RANK = { stuck: 0, waits: 1, busy: 2, good: 3, off: 4 } as const;

const KEYS: Readonly<Record<SortColumn, (row: FleetRow) => string | number | undefined>> = {
  kind: ({ kind }) => kind,
  namespace: ({ namespace }) => namespace,
  name: ({ name }) => name,
  state: ({ state }) => `${TONE_RANK[state.tone]} ${state.phase}`,
  gpu: ({ gpu }) => gpu,
  perHour: ({ perHour }) => perHour,
  month: ({ month }) => month,
  age: ({ bornAt }) => (bornAt === undefined ? undefined : -bornAt),
  endpoint: ({ endpoint }) => endpoint,
  account: ({ account }) => account,
  next: ({ next }) => (next?.needsPerson ? Number.NEGATIVE_INFINITY : next?.at),
};

/** Returns the rows in order. Rows without a value come last in both directions; equal ones go by name. */
export function sortRows(rows: readonly FleetRow[], { by, descending }: Order): readonly FleetRow[] {
  const key = KEYS[by];
  const keyed = rows.map((row) => ({ row, value: key(row) }));
  keyed.sort((left, right) => {
    if (left.value === undefined || right.value === undefined) {
      if (left.value === right.value) return compare(left.row.id, right.row.id);
      return left.value === undefined ? 1 : -1;
    }
    const order = compare(left.value, right.value);
    return order === 0 ? compare(left.row.id, right.row.id) : descending ? -order : order;
  });
  return keyed.map(({ row }) => row);
}

function compare(left: string | number, right: string | number): number {
  if (left === right) return 0;
  return left < right ? -1 : 1;
}

/** A criterion of groups: a field, or the label of this name. */
export type GroupBy = 'none' | 'namespace' | 'account' | 'group' | 'gpu' | 'kind' | `label:${string}`;

/** Rows with the same value. */
export interface RowGroup {
  /** Empty for rows without a value. */
  readonly key: string;
  readonly rows: readonly FleetRow[];
  readonly totals: Totals;
}

/** Sums over GpuInstances only: a group and an account repeat the money of their machines. */
export interface Totals {
  readonly instances: number;
  readonly perHour: MicroDollars;
  readonly month: MicroDollars;
  /** Rows of any kind that need a person. */
  readonly stuck: number;
}

/** Returns the sums of rows. */
export function totalsOf(rows: readonly FleetRow[]): Totals {
  const instances = rows.filter(({ kind }) => kind === 'gpui');
  return {
    instances: instances.length,
    perHour: instances.reduce((sum, { perHour = 0 }) => sum + perHour, 0),
    month: instances.reduce((sum, { month = 0 }) => sum + month, 0),
    stuck: rows.filter(({ state }) => state.tone === 'stuck').length,
  };
}

/** Returns the rows in groups by name, those without a value last. The order of rows stays. */
export function groupRows(rows: readonly FleetRow[], by: GroupBy): readonly RowGroup[] {
  if (by === 'none') return [{ key: '', rows, totals: totalsOf(rows) }];
  const groups = Map.groupBy(rows, (row) => groupKey(row, by) ?? '');
  return [...groups]
    .sort(([left], [right]) => (left === '' ? 1 : right === '' ? -1 : compare(left, right)))
    .map(([key, members]) => ({ key, rows: members, totals: totalsOf(members) }));
}

function groupKey(row: FleetRow, by: Exclude<GroupBy, 'none'>): string | undefined {
  if (by.startsWith('label:')) {
    const name = by.slice('label:'.length);
    return Object.hasOwn(row.labels, name) ? row.labels[name] : undefined;
  }
  return row[by as 'namespace' | 'account' | 'group' | 'gpu' | 'kind'];
}

/** Returns the names of labels that rows have, the most frequent first, without those of the operator. */
export function labelNames(rows: readonly FleetRow[]): readonly string[] {
  const counts = new Map<string, number>();
  for (const { labels } of rows)
    for (const name of Object.keys(labels))
      if (!name.startsWith('gpurental.dev/')) counts.set(name, (counts.get(name) ?? 0) + 1);
  return [...counts]
    .sort((left, right) => right[1] - left[1] || compare(left[0], right[0]))
    .map(([name]) => name);
}
