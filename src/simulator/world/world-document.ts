import type * as z from 'zod';
import { isObject, type Json, type JsonObject, ownValue, textOf } from '../json.ts';
import { badRequest } from '../refusal.ts';
import { settingsSchema } from '../settings.ts';
import { FIRST_LISTING } from './volume-space.ts';
import { emptyTables, type RowOf, type TableName, tableSchemas, type World } from './world.ts';

/*
 * The world as one JSON document: `now`, `seed`, `settings`, `counters`, a list of rows per table, and
 * `hosts`, each with its machines, in place of the table of machines. PURE.
 */

/** Parts with a name and a form of their own. */
const SPECIAL: ReadonlySet<string> = new Set(['now', 'seed', 'settings', 'counters', 'hosts']);

/** Returns the JSON text of the document. */
export function worldJson(world: World): string {
  const { machines, ...tables } = world.tables;
  const rows = Object.entries(tables).map(([name, table]) => [name, Object.values(table)] as const);
  const hosts = Map.groupBy(Object.values(machines), (machine) => machine.hostId);
  return JSON.stringify({
    now: world.now / 1000,
    seed: world.seed,
    settings: world.settings,
    counters: world.counters,
    hosts: [...hosts].map(([id, list]) => ({ id, machines: list })),
    ...Object.fromEntries(rows),
  });
}

/**
 * Returns the world with the parts of the document: whole tables, single settings; missing ones stay. Time never goes
 * back, so `now` is ignored. Throws a 400 `bad_request`, with position and correction, for unknown names, other types,
 * and rows that reference missing ones.
 */
export function readWorld(world: World, document: JsonObject): World {
  const given = readTables(document);
  const tables = { ...world.tables, ...given } as World['tables'];
  const dangling = danglingReference(tables, new Set(Object.keys(given) as TableName[]));
  if (dangling !== undefined) throw badRequest(dangling);
  return {
    ...world,
    nextEventAt: 0,
    seed: readSeed(world.seed, document.seed),
    settings: readSettings(world.settings, document.settings),
    counters: aheadOfRows(readCounters(world.counters, document.counters), tables),
    tables,
  };
}

const TABLES = Object.keys(tableSchemas).map((name) => (name === 'machines' ? 'hosts' : name));

/** Returns the tables of the document, by their own names. */
function readTables(document: JsonObject): Readonly<Record<string, Record<number, JsonObject>>> {
  const named = Object.entries(document).filter(([name]) => !SPECIAL.has(name));
  const tables = named.map(([name, rows]) => [name, readTable(name, rows)] as const);
  const machines =
    document.hosts === undefined ? {} : { machines: readRows('machines', machinesOf(document.hosts)) };
  return { ...Object.fromEntries(tables), ...machines };
}

function readTable(name: string, rows: Json): Record<number, JsonObject> {
  if (!TABLES.includes(name))
    throw badRequest(`${name}: there is no such table; there are ${TABLES.join(', ')}.`);
  if (!Array.isArray(rows)) throw badRequest(`${name} must be a list of rows.`);
  return readRows(name as TableName, rows);
}

/** Returns the machines of all hosts, each with the id of its host. */
function machinesOf(hosts: Json): readonly Json[] {
  if (!Array.isArray(hosts)) throw badRequest('hosts must be a list of {"id", "machines"}.');
  return (hosts as readonly Json[]).flatMap((host) => {
    if (!isObject(host) || typeof host.id !== 'number' || !Array.isArray(host.machines))
      throw badRequest('hosts: each needs a numeric id and a list of machines.');
    const machines = host.machines as readonly Json[];
    const misplaced = machines.find((machine) => isObject(machine) && machine.hostId !== host.id);
    if (isObject(misplaced)) {
      const { id = null, hostId = null } = misplaced;
      throw badRequest(
        `hosts ${host.id}: hostId of its machine ${textOf(id)} must be ${host.id}, not ${textOf(hostId)}.`,
      );
    }
    return machines;
  });
}

function readRows(table: TableName, rows: readonly Json[]): Record<number, JsonObject> {
  const read: Record<number, JsonObject> = {};
  for (const row of rows) {
    if (!isObject(row) || typeof row.id !== 'number')
      throw badRequest(`${table}: each row needs a numeric id.`);
    const difference = differenceIn(tableSchemas[table], row, {
      place: `${table} ${row.id}`,
      field: 'field',
    });
    if (difference !== undefined) throw badRequest(difference);
    if (read[row.id]) throw badRequest(`${table} ${row.id}: two rows have this id; give one of them.`);
    read[row.id] = row;
  }
  return read;
}

function readSeed(current: number, given: Json | undefined): number {
  if (given === undefined || given === null) return current;
  if (typeof given !== 'number')
    throw badRequest(`seed must be a number, not ${textOf(given).slice(0, 50)}.`);
  return given;
}

/** Returns the given settings merged with the current ones; groups are merged, anything else is replaced. */
function readSettings(current: World['settings'], given: Json | undefined): World['settings'] {
  if (given === undefined || given === null) return current;
  if (!isObject(given)) throw badRequest('settings must be an object of groups.');
  const groups = current as unknown as Readonly<Record<string, JsonObject>>;
  const merged = Object.fromEntries(
    Object.entries(given).map(([name, group]) => [
      name,
      isObject(group) ? { ...groups[name], ...group } : group,
    ]),
  );
  const difference = differenceIn(
    settingsSchema,
    { ...groups, ...merged },
    { place: 'settings', field: 'setting' },
  );
  if (difference !== undefined) throw badRequest(difference);
  return { ...groups, ...merged } as unknown as World['settings'];
}

/** A field of the rows of one table that contains the id of a row of another, or null. */
interface Reference {
  readonly from: TableName;
  readonly field: string;
  readonly to: TableName;
}

function reference<T extends TableName>(from: T, field: keyof RowOf<T> & string, to: TableName): Reference {
  return { from, field, to };
}

/**
 * References that always hold in a market. History (`ended…`), keys and price increases of ended contracts reference
 * deleted rows.
 */
const REFERENCES: readonly Reference[] = [
  reference('apiKeys', 'userId', 'users'),
  reference('offers', 'machineId', 'machines'),
  reference('offers', 'rentedBy', 'contracts'),
  reference('contracts', 'userId', 'users'),
  reference('contracts', 'offerId', 'offers'),
  reference('contracts', 'machineId', 'machines'),
  reference('templates', 'userId', 'users'),
  reference('sshKeys', 'userId', 'users'),
  reference('variables', 'userId', 'users'),
  reference('tfaAccounts', 'id', 'users'),
  reference('volumeListings', 'machineId', 'machines'),
  reference('volumes', 'listingId', 'volumeListings'),
  reference('volumes', 'machineId', 'machines'),
  reference('endpointGroups', 'userId', 'users'),
  reference('workerGroups', 'userId', 'users'),
  reference('workerGroups', 'endpointId', 'endpointGroups'),
  reference('deployments', 'userId', 'users'),
  reference('deployments', 'endpointId', 'endpointGroups'),
  reference('deployments', 'workerGroupId', 'workerGroups'),
];

/** Returns the name of a table in the document, which differs for machines. */
const shown = (table: TableName): string => (table === 'machines' ? 'hosts' : table);

/**
 * Returns the row that references a missing one, with a correction; undefined if none does. It checks the references of
 * the given tables in both directions. PURE.
 */
export function danglingReference(
  tables: World['tables'],
  given: ReadonlySet<TableName>,
): string | undefined {
  for (const { from, field, to } of REFERENCES) {
    if (!given.has(from) && !given.has(to)) continue;
    for (const row of Object.values(tables[from]) as readonly Record<string, unknown>[]) {
      const id = row[field];
      if (id === null || tables[to][id as number] !== undefined) continue;
      return `${shown(from)} ${row.id}: ${field} is ${id}, but ${shown(to)} has no row of that id; give that row too, or change ${shown(from)}.`;
    }
  }
  return undefined;
}

type Issue = z.core.$ZodIssue;

/** Names of a shape in messages: a row has fields, the settings are settings. */
export interface ShapeNames {
  /** Position in the document: `users 401`, `settings`. */
  readonly place: string;
  readonly field: 'field' | 'setting';
}

/** Throws for the first difference from the shape, with its position and a correction. */
export function differenceIn(
  shape: z.ZodType,
  value: Json,
  { place, field }: ShapeNames,
): string | undefined {
  const issue = shape.safeParse(value).error?.issues[0];
  if (!issue) return undefined;
  const path = issue.path.map(String);
  if (issue.code === 'unrecognized_keys') {
    const name = [...path, issue.keys[0] ?? ''].join('.');
    return `${joined(place, name, field)}: there is no such ${field}; leave it out.`;
  }
  const at = joined(place, path.join('.'), field);
  const found = valueAt(value, path);
  if (found === undefined) return `${at} is missing; it must be ${expectationOf(issue)}.`;
  return `${at} must be ${expectationOf(issue)}, not ${textOf(found).slice(0, 50)}.`;
}

const joined = (place: string, name: string, field: ShapeNames['field']): string => {
  if (name === '') return place;
  return field === 'setting' ? `${place}.${name}` : `${place}: ${name}`;
};

function valueAt(value: Json, path: readonly string[]): Json | undefined {
  let found: Json | undefined = value;
  for (const name of path) {
    if (typeof found !== 'object' || found === null) return undefined;
    found = ownValue(found as { readonly [key: string]: Json }, name);
  }
  return found;
}

const TYPES: Readonly<Record<string, string>> = {
  string: 'a text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  record: 'an object',
  object: 'an object',
  tuple: 'a list',
};

/** Returns the expected value, as the rest of a sentence that begins with "must be". */
function expectationOf(issue: Issue): string {
  if (issue.code === 'invalid_type') return TYPES[issue.expected] ?? issue.message;
  if (issue.code === 'too_small' || issue.code === 'too_big') return boundOf(issue);
  const options = optionsOf(issue);
  return options ? oneOf(options) : issue.message;
}

/** Returns the words of which one is allowed. */
function optionsOf(issue: Issue): readonly string[] | undefined {
  if (issue.code === 'invalid_value') return issue.values.map(String);
  if (issue.code === 'invalid_union' && 'options' in issue) return issue.options?.map(String);
  return undefined;
}

function boundOf(issue: z.core.$ZodIssueTooSmall | z.core.$ZodIssueTooBig): string {
  const unit = UNITS[issue.origin] ?? '';
  if (issue.code === 'too_small')
    return `${issue.inclusive ? 'at least' : 'more than'} ${issue.minimum}${unit}`;
  return `${issue.inclusive ? 'at most' : 'less than'} ${issue.maximum}${unit}`;
}

const oneOf = (values: readonly string[]): string =>
  values.length === 1 ? `"${values[0]}"` : `one of ${values.map((value) => `"${value}"`).join(', ')}`;

const UNITS: Readonly<Record<string, string>> = { string: ' characters long', array: ' entries long' };

type Counters = World['counters'];

/**
 * Returns the counters, replaced by those in a document. Throws a 400 `bad_request` for an unknown name or a value that
 * is no whole number. PURE.
 */
export function readCounters(current: Counters, given: Json | undefined): Counters {
  if (given === undefined || given === null) return current;
  if (!isObject(given)) throw badRequest('counters must be an object of whole numbers by kind.');
  for (const [kind, value] of Object.entries(given)) {
    if (!isKind(kind)) {
      throw badRequest(`counters.${kind}: there is no such counter; there are ${KINDS.join(', ')}.`);
    }
    if (!isCount(kind, value)) {
      throw badRequest(
        `counters.${kind} must be a whole number, 0 or more, not ${textOf(value).slice(0, 50)}.`,
      );
    }
  }
  return { ...current, ...(given as Counters) };
}

/**
 * Returns the counters raised above all rows: otherwise the next number would be that of an existing row, and replace
 * it. PURE.
 */
export function aheadOfRows(counters: Counters, tables: World['tables']): Counters {
  const raised = Object.entries(idsByKind(tables)).flatMap(([kind, ids]) => {
    const highest = ids.reduce((most, id) => Math.max(most, id), counters[kind] ?? 0);
    return highest > (counters[kind] ?? 0) ? [[kind, highest] as const] : [];
  });
  return raised.length === 0 ? counters : { ...counters, ...Object.fromEntries(raised) };
}

const ids = (...tables: readonly object[]): readonly number[] =>
  tables.flatMap((table) => Object.keys(table).map(Number));

/** Returns the ids of rows, by the kind from which the next one is taken. */
function idsByKind(tables: World['tables']) {
  return {
    user: ids(tables.users),
    apiKey: ids(tables.apiKeys),
    contract: ids(tables.contracts, tables.endedContracts),
    template: ids(tables.templates),
    priceIncrease: ids(tables.priceIncreases),
    fault: ids(tables.faults),
    sentCode: ids(tables.sentCodes),
    sshKey: ids(tables.sshKeys),
    variable: ids(tables.variables),
    volume: ids(tables.volumes, tables.endedVolumes),
    // Ids of a seeded market are in a separate, higher range.
    volumeListing: ids(tables.volumeListings).filter((id) => id < FIRST_LISTING),
    endpointGroup: ids(tables.endpointGroups),
    workerGroup: ids(tables.workerGroups),
    deployment: ids(tables.deployments),
    deploymentVersion: Object.values(tables.deployments).flatMap((row) => row.versions.map(({ id }) => id)),
    tfaMethod: Object.values(tables.tfaAccounts).flatMap((row) => row.methods.map(({ id }) => id)),
  };
}

/** A time in milliseconds among the counters: the last change of bid prices. */
const LAST_PRICES = 'bidPricesAt';

const KINDS: readonly string[] = [...Object.keys(idsByKind(emptyTables())), 'networkDisk', LAST_PRICES];

const isKind = (kind: string): boolean => KINDS.includes(kind) || /^flap-\d+$/.test(kind);

const isCount = (kind: string, value: Json): boolean =>
  typeof value === 'number' && value >= 0 && (kind === LAST_PRICES || Number.isSafeInteger(value));
