import { badRequest } from './refusal.ts';
import { isObject } from './request-body.ts';
import type { Json, JsonObject, TableName, World } from './world.ts';
import { emptyTables } from './world.ts';

/*
 * The world as one JSON document. A document may hold any of `tables`, `settings`, `counters` and `seed`;
 * a table is given as a whole, settings group by group. PURE.
 */

/** The world with what the document holds in place of its own; refuses documents of another shape. */
export function readWorld(world: World, document: JsonObject): World {
  return {
    ...world,
    nextEventAt: 0,
    seed: typeof document.seed === 'number' ? document.seed : world.seed,
    tables: { ...world.tables, ...readTables(document.tables) },
    settings: readSettings(world.settings, document.settings),
    counters: { ...world.counters, ...readCounters(document.counters) },
  };
}

function readTables(tables: Json | undefined): Partial<World['tables']> {
  if (tables === undefined || tables === null) return {};
  if (!isObject(tables)) throw badRequest('tables must be an object of tables.');
  const known = Object.keys(emptyTables());
  const read = Object.entries(tables).map(([name, rows]) => {
    if (!known.includes(name))
      throw badRequest(`tables.${name}: there is no such table; there are ${known.join(', ')}.`);
    return [name as TableName, readRows(name, rows)] as const;
  });
  // The shape of single rows is the caller's word: this document comes from GET /sim/world.
  return Object.fromEntries(read) as unknown as Partial<World['tables']>;
}

function readRows(name: string, rows: Json): Record<number, JsonObject> {
  const list = Array.isArray(rows)
    ? (rows as readonly Json[])
    : isObject(rows)
      ? Object.values(rows)
      : undefined;
  if (!list) throw badRequest(`tables.${name} must be an object of rows by id, or a list of rows.`);
  return Object.fromEntries(
    list.map((row) => {
      if (!isObject(row) || typeof row.id !== 'number')
        throw badRequest(`tables.${name}: each row needs a numeric id.`);
      return [row.id, row];
    }),
  );
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
    const old = current[name];
    const at = `${path}.${name}`;
    if (old === undefined) throw badRequest(`${at}: there is no such setting.`);
    if (isObject(old) && isObject(value)) merged[name] = mergeShape(at, old, value);
    else if (old !== null && value !== null && typeof old !== typeof value)
      throw badRequest(`${at} must be a ${typeof old}.`);
    else merged[name] = value;
  }
  return merged;
}

function readCounters(counters: Json | undefined): Record<string, number> {
  if (!isObject(counters)) return {};
  return Object.fromEntries(
    Object.entries(counters).filter((entry): entry is [string, number] => typeof entry[1] === 'number'),
  );
}
