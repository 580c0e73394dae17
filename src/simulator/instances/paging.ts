import type { Json } from '../json.ts';
import { compareValues, type ListQuery, pageToken, readToken } from './list-query.ts';

/* One page of a list: filtered, ordered with the id as last word, cut behind the token. PURE. */

export interface Page<Row> {
  readonly rows: readonly Row[];
  /** Rows that pass the filters, on all pages. */
  readonly found: number;
  readonly nextToken: string | null;
}

/** `read` gives a column of a row without rendering all of it. */
export function pageOf<Row extends { readonly id: number }>(
  all: readonly Row[],
  query: ListQuery,
  read: (row: Row, column: string) => Json | undefined,
): Page<Row> {
  const order = [...query.order.filter(({ column }) => column !== 'id'), idOrder(query)];
  const keysOf = (row: Row): readonly Json[] => order.map(({ column }) => read(row, column) ?? null);
  const passing = all.filter((row) => query.tests.every((test) => test((column) => read(row, column))));
  const keyed = passing
    .map((row) => ({ row, keys: keysOf(row) }))
    .sort((left, right) => compareKeys(left.keys, right.keys, order));
  const after = query.after === undefined ? undefined : readToken(order, query.after);
  const rest = after ? keyed.filter(({ keys }) => compareKeys(keys, after, order) > 0) : keyed;
  const page = rest.slice(0, query.limit);
  const last = page.at(-1);
  return {
    rows: page.map(({ row }) => row),
    found: passing.length,
    nextToken: last && rest.length > page.length ? pageToken(order, last.keys) : null,
  };
}

type Order = ListQuery['order'];

function idOrder(query: ListQuery): Order[number] {
  return query.order.find(({ column }) => column === 'id') ?? { column: 'id', descending: false };
}

function compareKeys(left: readonly Json[], right: readonly Json[], order: Order): number {
  for (const [index, { descending }] of order.entries()) {
    const difference = compareValues(left[index], right[index]);
    if (difference !== 0) return descending ? -difference : difference;
  }
  return 0;
}
