import type { ApiKey } from '../tables/users.ts';
import type { RowOf, TableName, World } from './world.ts';

/** How handlers change the world. Every write is seen at once by whoever reads `ctx.world` afterwards. */
export interface WorldWriter {
  /** Puts a row under its id, in place of the one that was there. */
  put<T extends TableName>(table: T, row: RowOf<T>): void;
  remove(table: TableName, id: number): void;
  /** The next number of a kind (`contract`, `apiKey`, …), from 1 or from where the world stands. */
  nextId(kind: string): number;
}

/** A row that was written or removed since the last look, for persistence. */
export interface Change {
  readonly table: TableName;
  readonly id: number;
}

/** A writer for one call: what a refused call wrote is taken back, unless it is there to stay. */
export interface CallWriter extends WorldWriter {
  /** What was written so far stays, whatever becomes of the call: a wrong code counts. */
  keep(): void;
  /** Takes back what was written since, ids included. */
  undo(): void;
}

/** Owns the current world: the only place where one world follows another. */
export interface WorldStore extends WorldWriter {
  current(): World;
  /** Takes the world that `advance` or `PUT /sim/world` made. */
  replace(world: World): void;
  /** The key with that secret, revoked ones included. */
  keyBySecret(secret: string): ApiKey | undefined;
  /** Rows touched since the last call, each once. Empty unless changes are tracked. */
  takeChanges(): readonly Change[];
}

type Rows = Record<number, { readonly id: number }>;

/**
 * Takes ownership of `initial`: its tables are written in place, so that one write costs the same in a
 * world of ten rows and of ten thousand. Rows themselves are never changed.
 */
export function createWorldStore(initial: World, options: { trackChanges: boolean }): WorldStore {
  let world = initial;
  let keys = indexKeys(world);
  const changes = createChanges(options.trackChanges);

  /** The rows of a table for writing; whatever is written may be due at once. */
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

/** Names each row that is not the same object in both worlds. */
function differences(before: World, after: World, note: (table: TableName, id: number) => void): void {
  for (const table of Object.keys(after.tables) as TableName[]) {
    const old = before.tables[table] as Rows;
    const fresh = after.tables[table] as Rows;
    if (old === fresh) continue;
    for (const id of Object.keys(fresh)) if (old[Number(id)] !== fresh[Number(id)]) note(table, Number(id));
    for (const id of Object.keys(old)) if (fresh[Number(id)] === undefined) note(table, Number(id));
  }
}

/** Writes through to the store and remembers how to take each write back. */
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

/**
 * The world with some rows of one table in place of those of the same id, every other row shared. PURE.
 */
export function withRows<T extends TableName>(world: World, table: T, rows: readonly RowOf<T>[]): World {
  if (rows.length === 0) return world;
  const copy: Record<number, RowOf<T>> = { ...(world.tables[table] as Record<number, RowOf<T>>) };
  for (const row of rows) copy[row.id] = row;
  return { ...world, tables: { ...world.tables, [table]: copy } };
}

/** The world without some rows of one table. PURE. */
export function withoutRows(world: World, table: TableName, ids: readonly number[]): World {
  if (ids.length === 0) return world;
  const copy: Record<number, unknown> = { ...world.tables[table] };
  for (const id of ids) delete copy[id];
  return { ...world, tables: { ...world.tables, [table]: copy } };
}

/** Lists of rows by the table they were made of; gone with the table, or when it is written. */
const lists = new WeakMap<object, readonly unknown[]>();

/**
 * The rows of a table as a list, made once for as long as the table is not written. Use it within one pass;
 * a list that is kept over a write goes stale.
 */
export function rowsOf<Row>(table: Readonly<Record<number, Row>>): readonly Row[] {
  const known = lists.get(table);
  // The list was made of this very table.
  if (known) return known as readonly Row[];
  const list = Object.values(table);
  lists.set(table, list);
  return list;
}

/** Must be called by whoever writes a table in place. */
export function forgetRows(table: object): void {
  lists.delete(table);
}
