import type { ApiKey } from '../tables/users.ts';
import type { RowOf, TableName, World } from './world.ts';

/** Changes of the world by handlers. Every write is visible at once to later reads of `ctx.world`. */
export interface WorldWriter {
  /** Puts a row under its id, in place of the previous one. */
  put<T extends TableName>(table: T, row: RowOf<T>): void;
  remove(table: TableName, id: number): void;
  /** Returns the next number of a kind (`contract`, `apiKey`, …), from 1 or from the world's counter. */
  nextId(kind: string): number;
}

/** A row that was written or removed since the last read, for persistence. */
export interface Change {
  readonly table: TableName;
  readonly id: number;
}

/** A writer for one call: the writes of a refused call are rolled back, unless they are kept. */
export interface CallWriter extends WorldWriter {
  /** Keeps the writes so far, whatever the result of the call: a wrong code counts. */
  keep(): void;
  /** Rolls back the writes since then, ids included. */
  undo(): void;
}

/** Owns the current world: the only place that replaces one world by another. */
export interface WorldStore extends WorldWriter {
  current(): World;
  /** Replaces the world by that of `advance` or `PUT /sim/world`. */
  replace(world: World): void;
  /** Returns the key with that secret, revoked ones included. */
  keyBySecret(secret: string): ApiKey | undefined;
  /** Returns the rows changed since the last call, each once. Empty unless changes are tracked. */
  takeChanges(): readonly Change[];
}

type Rows = Record<number, { readonly id: number }>;

/**
 * Takes ownership of `initial`: its tables are written in place, so that a write has the same cost in a world of ten
 * rows and of ten thousand. Rows themselves are never changed.
 */
export function createWorldStore(initial: World, options: { trackChanges: boolean }): WorldStore {
  let world = initial;
  let keys = indexKeys(world);
  const changes = createChanges(options.trackChanges);

  /** Returns the rows of a table for writing; any write may make a step due at once. */
  const rowsToWrite = (table: TableName): Rows => {
    const rows = world.tables[table] as Rows;
    forgetRows(rows);
    if (world.nextEventAt !== 0) world = { ...world, nextEventAt: 0 };
    return rows;
  };

  return {
    current: () => world,
    put(table, row) {
      rowsToWrite(table)[row.id] = row;
      if (table === 'apiKeys') keys.set((row as ApiKey).secret, row.id);
      changes.note(table, row.id);
    },
    remove(table, id) {
      if (table === 'apiKeys') keys.delete(world.tables.apiKeys[id]?.secret ?? '');
      delete rowsToWrite(table)[id];
      changes.note(table, id);
    },
    nextId(kind) {
      const next = (world.counters[kind] ?? 0) + 1;
      world = { ...world, counters: { ...world.counters, [kind]: next } };
      return next;
    },
    replace(next) {
      if (options.trackChanges) differences(world, next, changes.note);
      if (next.tables.apiKeys !== world.tables.apiKeys) keys = indexKeys(next);
      world = next;
    },
    keyBySecret(secret) {
      const id = keys.get(secret);
      return id === undefined ? undefined : world.tables.apiKeys[id];
    },
    takeChanges: changes.take,
  };
}

interface Changes {
  note(table: TableName, id: number): void;
  take(): readonly Change[];
}

function createChanges(enabled: boolean): Changes {
  const changed = new Map<TableName, Set<number>>();
  return {
    note(table, id) {
      if (!enabled) return;
      const ids = changed.get(table);
      if (ids) ids.add(id);
      else changed.set(table, new Set([id]));
    },
    take() {
      if (changed.size === 0) return [];
      const list = [...changed].flatMap(([table, ids]) => [...ids].map((id) => ({ table, id })));
      changed.clear();
      return list;
    },
  };
}

function indexKeys(world: World): Map<string, number> {
  return new Map(Object.values(world.tables.apiKeys).map((key) => [key.secret, key.id]));
}

/** Reports each row that is not the same object in both worlds. */
function differences(before: World, after: World, note: (table: TableName, id: number) => void): void {
  for (const table of Object.keys(after.tables) as TableName[]) {
    const old = before.tables[table] as Rows;
    const fresh = after.tables[table] as Rows;
    if (old === fresh) continue;
    for (const id of Object.keys(fresh)) if (old[Number(id)] !== fresh[Number(id)]) note(table, Number(id));
    for (const id of Object.keys(old)) if (fresh[Number(id)] === undefined) note(table, Number(id));
  }
}

/** Writes through to the store and records how to undo each write. */
export function callWriter(store: WorldStore): CallWriter {
  const steps: (() => void)[] = [];
  const rowOf = <T extends TableName>(table: T, id: number): RowOf<T> | undefined =>
    (store.current().tables[table] as Record<number, RowOf<T>>)[id];
  return {
    put(table, row) {
      const before = rowOf(table, row.id);
      store.put(table, row);
      steps.push(() => (before ? store.put(table, before) : store.remove(table, row.id)));
    },
    remove(table, id) {
      const before = rowOf(table, id);
      store.remove(table, id);
      if (before) steps.push(() => store.put(table, before));
    },
    nextId(kind) {
      const { counters } = store.current();
      const id = store.nextId(kind);
      steps.push(() => store.replace({ ...store.current(), counters }));
      return id;
    },
    keep() {
      steps.length = 0;
    },
    undo() {
      for (const step of steps.splice(0).reverse()) step();
    },
  };
}

/** Returns the world with some rows of one table replaced by id, sharing every other row. PURE. */
export function withRows<T extends TableName>(world: World, table: T, rows: readonly RowOf<T>[]): World {
  if (rows.length === 0) return world;
  const copy: Record<number, RowOf<T>> = { ...(world.tables[table] as Record<number, RowOf<T>>) };
  for (const row of rows) copy[row.id] = row;
  return { ...world, tables: { ...world.tables, [table]: copy } };
}

/** Returns the world without some rows of one table. PURE. */
export function withoutRows(world: World, table: TableName, ids: readonly number[]): World {
  if (ids.length === 0) return world;
  const copy: Record<number, unknown> = { ...world.tables[table] };
  for (const id of ids) delete copy[id];
  return { ...world, tables: { ...world.tables, [table]: copy } };
}

/** Lists of rows by their table; dropped with the table, or when it is written. */
const lists = new WeakMap<object, readonly unknown[]>();

/**
 * Returns the rows of a table as a list, cached until the table is written. Use it within one pass; a list that is kept
 * over a write is stale.
 */
export function rowsOf<Row>(table: Readonly<Record<number, Row>>): readonly Row[] {
  const known = lists.get(table);
  // The list was made from this very table.
  if (known) return known as readonly Row[];
  const list = Object.values(table);
  lists.set(table, list);
  return list;
}

/** Drops the cached list of a table. Call it after each write in place. */
export function forgetRows(table: object): void {
  lists.delete(table);
}
