import { badRequest } from '../calls/refusal.ts';
import { isObject, textOf } from '../calls/request-body.ts';
import type { Json, JsonObject } from '../json.ts';
import { settingsSchema } from '../settings.ts';
import { aheadOfRows, readCounters } from './counters.ts';
import { danglingReference } from './references.ts';
import { differenceIn } from './schema-issue.ts';
import { type TableName, tableSchemas, type World } from './world.ts';

/*
 * The world as one JSON document: `now`, `seed`, `settings`, `counters`, a list of rows per table, and
 * `hosts`, each with its machines, in place of the table of machines. PURE.
 */

/** What is written under a name of its own, in a form of its own. */
const SPECIAL: ReadonlySet<string> = new Set(['now', 'seed', 'settings', 'counters', 'hosts']);

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
 * leaves out stays. Time is never set back, so `now` is passed over. Refuses, with the place and what to do,
 * unknown names, other types, and rows that name what is not there.
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

/** The tables that the document holds, by their own names. */
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

/** The machines of all hosts, each under the host that it names. */
function machinesOf(hosts: Json): readonly Json[] {
  if (!Array.isArray(hosts)) throw badRequest('hosts must be a list of {"id", "machines"}.');
  return (hosts as readonly Json[]).flatMap((host) => {
    if (!isObject(host) || typeof host.id !== 'number' || !Array.isArray(host.machines))
      throw badRequest('hosts: each needs a numeric id and a list of machines.');
    const machines = host.machines as readonly Json[];
    const stranger = machines.find((machine) => isObject(machine) && machine.hostId !== host.id);
    if (isObject(stranger)) {
      const { id = null, hostId = null } = stranger;
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

/** Given settings over current ones; groups are merged, anything else takes the place of what was there. */
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
