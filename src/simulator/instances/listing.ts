import { assertTermCount } from '../calls/fields.ts';
import { callerOf, type RouteContext } from '../calls/route.ts';
import { isObject, type Json, type JsonObject, ownValue, textOf } from '../json.ts';
import { Refusal } from '../refusal.ts';
import type { Contract } from '../tables/contracts.ts';
import type { ActiveFault } from '../tables/faults.ts';
import { rowsOf } from '../world/world-store.ts';
import { shownStatus } from './boot.ts';
import { instanceJson, instanceRow } from './instance-row.ts';

/*
 * Contracts in a caller's list, oldest first: all contracts except lagging ones, changed by the faults that affect
 * lists.
 */

/** Returns the caller's contracts as lists show them at this time. */
export function listedContracts(ctx: RouteContext): readonly Contract[] {
  const userId = callerOf(ctx).user.id;
  const base = ctx.fault('stale-list')?.snapshot ?? rowsOf(ctx.world.tables.contracts);
  const youngest = ctx.now - lagMs(ctx);
  const listed = base.filter((contract) => contract.userId === userId && contract.createdAt <= youngest);
  if (!ctx.fault('ghost-rows')) return listed;
  const ghosts = rowsOf(ctx.world.tables.endedContracts).filter((ended) => ended.userId === userId);
  return [...listed, ...ghosts.map((ended) => ended.last)].sort((left, right) => left.id - right.id);
}

function lagMs(ctx: RouteContext): number {
  const fault = ctx.fault('lagging-list');
  return (fault ? (fault.seconds ?? 30) : ctx.settings.lists.lagSeconds) * 1000;
}

/** Status faults in effect for this call; taken once per call, so that a whole list is consistent. */
export interface StatusFaults {
  readonly unknownStatus: ActiveFault | undefined;
  readonly flap: ActiveFault | undefined;
  /** True if a flapping row shows its other status in this call. */
  readonly flapped: boolean;
}

/** Takes the faults that change statuses. */
export function statusFaults(ctx: RouteContext, contract?: Contract): StatusFaults {
  const target = contract ? { instance: contract.id, host: contract.hostId } : undefined;
  const flap = ctx.fault('flap', target);
  return {
    unknownStatus: ctx.fault('unknown-status', target),
    flap,
    flapped: flap !== undefined && ctx.write.nextId(`flap-${flap.id}`) % 2 === 0,
  };
}

/** Returns the row of a contract with status faults applied. */
export function shownRow(ctx: RouteContext, contract: Contract, faults: StatusFaults): JsonObject {
  return instanceRow(contract, {
    world: ctx.world,
    profile: ctx.profile,
    shownAs: faultyStatus(contract, faults),
  });
}

/** Returns the JSON text of {@link shownRow}. */
export function shownJson(ctx: RouteContext, contract: Contract, faults: StatusFaults): string {
  return instanceJson(contract, {
    world: ctx.world,
    profile: ctx.profile,
    shownAs: faultyStatus(contract, faults),
  });
}

/** Returns the status by which a list filters, and which it shows. */
export function statusOf(ctx: RouteContext, contract: Contract, faults: StatusFaults): string | null {
  return (
    faultyStatus(contract, faults) ?? shownStatus(contract, ctx.world.tables.machines[contract.machineId])
  );
}

function faultyStatus(contract: Contract, faults: StatusFaults): string | undefined {
  if (concerns(faults.unknownStatus, contract)) return 'quantum-entangled';
  if (concerns(faults.flap, contract) && faults.flapped) return 'unknown';
  return undefined;
}

function concerns(fault: ActiveFault | undefined, contract: Contract): boolean {
  if (!fault) return false;
  if (fault.instance !== null) return fault.instance === contract.id;
  return fault.host === null || fault.host === contract.hostId;
}

/** Returns the number of contracts by label; those without one count under the empty text. */
export function labelCounts(contracts: readonly Contract[]): Record<string, Json> {
  const counts = new Map<string, number>();
  for (const { label } of contracts) counts.set(label ?? '', (counts.get(label ?? '') ?? 0) + 1);
  return Object.fromEntries(counts);
}

/*
 * The query of a paged list: `select_filters`, `order_by`, `limit`, `select_cols`, `after_token`, each as
 * JSON text. Wrong filters are refused with 400 `invalid_request`, a wrong token with `invalid_token`. PURE.
 */

export type RowTest = (read: (column: string) => Json | undefined) => boolean;

export interface ListQuery {
  readonly tests: readonly RowTest[];
  readonly order: readonly { readonly column: string; readonly descending: boolean }[];
  readonly limit: number;
  readonly columns: readonly string[] | undefined;
  /** The token as sent; with the whole order known it is read by {@link readToken}. */
  readonly after: string | undefined;
}

const invalid = (msg: string): Refusal => new Refusal(400, 'invalid_request', msg);

/** Reads the query; `limits` are those of the list. */
export function readListQuery(
  query: URLSearchParams,
  limits: { defaultPage: number; maxPage: number; smallPage: number },
  computed: ReadonlySet<string>,
): ListQuery {
  return {
    tests: readTests(jsonOf(query, 'select_filters'), computed),
    order: readOrder(jsonOf(query, 'order_by')),
    limit: readLimit(query.get('limit'), limits),
    columns: readColumns(jsonOf(query, 'select_cols')),
    after: givenToken(query.get('after_token')),
  };
}

function jsonOf(query: URLSearchParams, name: string): Json | undefined {
  const text = query.get(name);
  if (text === null || text === '') return undefined;
  try {
    return JSON.parse(text) as Json;
  } catch {
    throw invalid(`${name} is not JSON.`);
  }
}

function readLimit(
  text: string | null,
  limits: { defaultPage: number; maxPage: number; smallPage: number },
): number {
  if (text === null || text === '' || text === 'null') return limits.defaultPage;
  const limit = Number(text);
  if (!Number.isFinite(limit)) throw invalid('limit must be a number.');
  return limit <= 0 ? limits.smallPage : Math.min(Math.floor(limit), limits.maxPage);
}

function readColumns(value: Json | undefined): readonly string[] | undefined {
  if (value === undefined || value === null) return undefined;
  if (!Array.isArray(value)) throw invalid('select_cols must be a list of column names.');
  assertTermCount(value.length, 'select_cols');
  const names = (value as readonly Json[]).map(textOf);
  return names.length === 0 || names.includes('*') ? undefined : names;
}

function readOrder(value: Json | undefined): ListQuery['order'] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw invalid('order_by must be a list of {"col", "dir"}.');
  assertTermCount(value.length, 'order_by');
  return (value as readonly Json[]).map((entry) => {
    const column = isObject(entry) ? entry.col : undefined;
    if (!isObject(entry) || typeof column !== 'string')
      throw invalid('order_by must be a list of {"col", "dir"}.');
    const direction = textOf(entry.dir ?? 'asc').toLowerCase();
    if (direction !== 'asc' && direction !== 'desc') throw invalid('order_by: dir must be "asc" or "desc".');
    return { column, descending: direction === 'desc' };
  });
}

function readTests(value: Json | undefined, computed: ReadonlySet<string>): readonly RowTest[] {
  if (value === undefined || value === null) return [];
  if (!isObject(value)) throw invalid('select_filters must be an object.');
  const filters = Object.entries(value);
  assertTermCount(filters.length, 'select_filters');
  return filters.flatMap(([column, filter]) => {
    if (computed.has(column)) throw invalid(`${column} is computed and cannot be filtered.`);
    if (!isObject(filter)) return [rowTest(column, 'eq', filter)];
    return Object.entries(filter).map(([operator, operand]) => rowTest(column, operator, operand));
  });
}

type Compare = (value: Json, operand: Json) => boolean;

const same: Compare = (value, operand) =>
  (value ?? null) === operand || (value !== null && operand !== null && textOf(value) === textOf(operand));
const order = (value: Json, operand: Json): number => {
  if (value === null || operand === null) return Number.NaN;
  if (typeof value === 'number') return value - (typeof operand === 'object' ? Number.NaN : Number(operand));
  return textOf(value) < textOf(operand) ? -1 : Number(textOf(value) !== textOf(operand));
};
const within: Compare = (value, operand) => {
  if (!Array.isArray(operand)) throw invalid('in and notin take a list.');
  return (operand as readonly Json[]).some((item) => same(value, item));
};

const COMPARE: Readonly<Record<string, Compare>> = {
  eq: same,
  neq: (value, operand) => !same(value, operand),
  gt: (value, operand) => order(value, operand) > 0,
  gte: (value, operand) => order(value, operand) >= 0,
  lt: (value, operand) => order(value, operand) < 0,
  lte: (value, operand) => order(value, operand) <= 0,
  in: within,
  notin: (value, operand) => !within(value, operand),
};

function rowTest(column: string, operator: string, operand: Json): RowTest {
  const compare = Object.hasOwn(COMPARE, operator) ? COMPARE[operator] : undefined;
  if (!compare)
    throw invalid(`${column}: "${operator}" is no operator; use one of ${Object.keys(COMPARE).join(', ')}.`);
  if (operator === 'in' || operator === 'notin') within(null, operand);
  return (read) => compare(read(column) ?? null, operand);
}

/** Returns the requested columns of a row; unknown ones are null. */
export function selectedColumns(row: JsonObject, columns: readonly string[]): JsonObject {
  return Object.fromEntries(columns.map((name) => [name, ownValue(row, name) ?? null]));
}

const givenToken = (token: string | null): string | undefined =>
  token === null || token === '' || token === 'null' ? undefined : token;

/** Returns the opaque token of the page of that order which ends with a row of these sort keys. */
export function pageToken(order: ListQuery['order'], keys: readonly Json[]): string {
  return Buffer.from(JSON.stringify({ order, keys })).toString('base64url');
}

/**
 * Returns the sort keys in a token of that order, the id last. Throws a 400 `invalid_token` Refusal for any other
 * token.
 */
export function readToken(order: ListQuery['order'], token: string): readonly Json[] {
  const read = parsedToken(token);
  const keys = isObject(read) && JSON.stringify(read.order) === JSON.stringify(order) ? read.keys : undefined;
  if (Array.isArray(keys) && keys.length === order.length && Number.isSafeInteger(keys.at(-1))) {
    return keys as readonly Json[];
  }
  throw new Refusal(400, 'invalid_token', 'after_token is not a token of this list in this order.');
}

function parsedToken(token: string): Json | undefined {
  try {
    return JSON.parse(Buffer.from(token, 'base64url').toString()) as Json;
  } catch {
    return undefined;
  }
}

/** Returns the order of two values: null first, numbers by size, all else as text. */
export function compareValues(left: Json | undefined, right: Json | undefined): number {
  const [first, second] = [left ?? null, right ?? null];
  if (first === second) return 0;
  if (first === null) return -1;
  if (second === null) return 1;
  if (typeof first === 'number' && typeof second === 'number') return first - second;
  return textOf(first) < textOf(second) ? -1 : Number(textOf(first) > textOf(second));
}

/* One page of a list: filtered, ordered with the id as last word, cut behind the token. PURE. */

export interface Page<Row> {
  readonly rows: readonly Row[];
  /** Number of rows that pass the filters, on all pages. */
  readonly found: number;
  readonly nextToken: string | null;
}

/** Returns a page. `read` reads a column of a row without rendering the row. */
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
