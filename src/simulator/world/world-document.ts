import { badRequest } from '../calls/refusal.ts';
import { isObject, textOf } from '../calls/request-body.ts';
import { type Json, type JsonObject, ownValue } from '../json.ts';
import { emptyTables, type TableName, type World } from './world.ts';

/*
 * The world as one JSON document: `now`, `seed`, `settings`, `counters`, a list of rows per table, and
 * `hosts`, each with its machines, in place of the table of machines. PURE.
 */

/** What is written under a name of its own, in a form of its own. */
const SPECIAL: ReadonlySet<string> = new Set(['now', 'nextEventAt', 'seed', 'settings', 'counters', 'hosts']);

/** The JSON text of the document. */
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
 * The world with what the document holds in place of its own: whole tables, settings one by one; what it
 * leaves out stays. Time is never set back, so `now` is passed over. Refuses names, types and rows of
 * another shape than the world has.
 */
export function readWorld(world: World, document: JsonObject): World {
  const given = Object.entries(document).filter(([name]) => !SPECIAL.has(name));
  const tables = given.map(([name, rows]) => [name, readTable(world, name, rows)] as const);
  const machines = document.hosts === undefined ? {} : { machines: readHosts(world, document.hosts) };
  return {
    ...world,
    nextEventAt: 0,
    seed: typeof document.seed === 'number' ? document.seed : world.seed,
    settings: readSettings(world.settings, document.settings),
    counters: { ...world.counters, ...readCounters(document.counters) },
    tables: { ...world.tables, ...Object.fromEntries(tables), ...machines } as World['tables'],
  };
}

const TABLES = Object.keys(emptyTables());

function readTable(world: World, name: string, rows: Json): Record<number, JsonObject> {
  if (!TABLES.includes(name))
    throw badRequest(`${name}: there is no such table; there are ${TABLES.join(', ')}.`);
  const sample = Object.values(world.tables[name as TableName])[0] as JsonObject | undefined;
  return readRows(name, rows, sample);
}

function readHosts(world: World, hosts: Json): Record<number, JsonObject> {
  if (!Array.isArray(hosts)) throw badRequest('hosts must be a list of {"id", "machines"}.');
  const machines = (hosts as readonly Json[]).flatMap((host) => {
    if (!isObject(host) || !Array.isArray(host.machines))
      throw badRequest('hosts: each needs a list of machines.');
    return host.machines as readonly Json[];
  });
  return readTable(world, 'machines', machines);
}

function readRows(name: string, rows: Json, sample: JsonObject | undefined): Record<number, JsonObject> {
  if (!Array.isArray(rows)) throw badRequest(`${name} must be a list of rows.`);
  return Object.fromEntries((rows as readonly Json[]).map((row) => [...readRow(name, row, sample)]));
}

/** A row of the same fields and types as one that is there; a table that is empty has none to compare with. */
function readRow(name: string, row: Json, sample: JsonObject | undefined): readonly [number, JsonObject] {
  if (!isObject(row) || typeof row.id !== 'number') throw badRequest(`${name}: each row needs a numeric id.`);
  for (const [field, example] of Object.entries(sample ?? {})) {
    const value = row[field];
    if (value === undefined) throw badRequest(`${name} ${row.id}: ${field} is missing.`);
    if (value !== null && example !== null && typeName(value) !== typeName(example)) {
      throw badRequest(
        `${name} ${row.id}: ${field} must be ${typeName(example)}, not ${textOf(value).slice(0, 50)}.`,
      );
    }
  }
  return [row.id, row];
}

function readSettings(current: World['settings'], given: Json | undefined): World['settings'] {
  if (given === undefined || given === null) return current;
  if (!isObject(given)) throw badRequest('settings must be an object of groups.');
  return mergeShape('settings', current as unknown as JsonObject, given) as unknown as World['settings'];
}

/** Given values over current ones, level by level; a name or type that is not there is refused. */
function mergeShape(path: string, current: JsonObject, given: JsonObject): JsonObject {
  const merged: Record<string, Json> = { ...current };
  for (const [name, value] of Object.entries(given)) {
    const old = ownValue(current, name);
    const at = `${path}.${name}`;
    if (old === undefined) throw badRequest(`${at}: there is no such setting.`);
    merged[name] = isObject(old) && isObject(value) ? mergeShape(at, old, value) : ofSameType(at, old, value);
  }
  return merged;
}

function ofSameType(at: string, old: Json, value: Json): Json {
  if (old === null) return value;
  if (typeName(old) !== typeName(value)) throw badRequest(`${at} must be ${typeName(old)}.`);
  if (Array.isArray(old)) refuseOtherList(at, old, value as readonly Json[]);
  return value;
}

/** A list of numbers is a span, with one number for each end; any other list is of texts. */
function refuseOtherList(at: string, old: readonly Json[], value: readonly Json[]): void {
  const isSpan = typeof old[0] === 'number';
  const item = isSpan ? 'number' : 'string';
  if (value.every((one) => typeof one === item) && (!isSpan || value.length === old.length)) return;
  throw badRequest(`${at} must be a list of ${isSpan ? `${old.length} numbers` : 'texts'}.`);
}

function typeName(value: Json): string {
  if (Array.isArray(value)) return 'a list';
  if (value === null) return 'null';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}

function readCounters(counters: Json | undefined): Record<string, number> {
  if (!isObject(counters)) return {};
  return Object.fromEntries(
    Object.entries(counters).filter((entry): entry is [string, number] => typeof entry[1] === 'number'),
  );
}
