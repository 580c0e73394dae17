import { DatabaseSync } from 'node:sqlite';
import type { TimeAnchor } from '../catch-up.ts';
import { emptyTables, type TableName, type World } from './world.ts';
import type { Change } from './world-store.ts';

/** A world on disk. A change survives the death of the process when `save` has returned. */
export interface WorldFile {
  /** Returns the world as last saved, with its time; undefined in a new file. */
  load(): { readonly world: World; readonly anchor: TimeAnchor } | undefined;
  /** Writes the head of the world and the changed rows, all or nothing. */
  save(world: World, changes: readonly Change[], anchor: TimeAnchor): void;
  /** Writes every row. */
  saveAll(world: World, anchor: TimeAnchor): void;
  close(): void;
}

type Head = Omit<World, 'tables'> & { readonly anchor: TimeAnchor };

/**
 * Identifies a file as that of a simulator (`PRAGMA application_id`), so that the database of another program is left
 * unchanged.
 */
const APPLICATION_ID = 0x67_70_75_72;

/** Lock until the file is closed or the process ends: two simulators would overwrite each other. */
const LOCK = 'PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; COMMIT;';

const SCHEMA = `
  PRAGMA application_id = ${APPLICATION_ID};
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = NORMAL;
  CREATE TABLE IF NOT EXISTS head (id INTEGER PRIMARY KEY CHECK (id = 1), json TEXT NOT NULL);
  CREATE TABLE IF NOT EXISTS row (kind TEXT NOT NULL, id INTEGER NOT NULL, json TEXT NOT NULL, PRIMARY KEY (kind, id)) WITHOUT ROWID;
`;

/**
 * Opens or creates the file, for this process alone. Each row of the world is one row of SQLite, so a change costs only
 * its own size. Throws if the file is no database, belongs to another program, or is open elsewhere.
 */
export function openWorldFile(path: string): WorldFile {
  const database = new DatabaseSync(path);
  try {
    database.exec(LOCK);
    refuseForeign(database);
    database.exec(SCHEMA);
  } catch (error) {
    database.close();
    throw isBusy(error) ? new Error('another process has it open') : error;
  }
  const write = createWriter(database);
  return {
    load: () => readWorld(database),
    save: (world, changes, anchor) =>
      inTransaction(database, () => {
        write.head(world, anchor);
        for (const { table, id } of changes) write.row(table, id, world.tables[table][id]);
      }),
    saveAll: (world, anchor) =>
      inTransaction(database, () => {
        database.exec('DELETE FROM row');
        write.head(world, anchor);
        for (const [table, rows] of Object.entries(world.tables)) {
          for (const [id, row] of Object.entries(rows)) write.row(table, Number(id), row);
        }
      }),
    close: () => database.close(),
  };
}

function refuseForeign(database: DatabaseSync): void {
  const own = database.prepare('PRAGMA application_id').get()?.application_id === APPLICATION_ID;
  const tables = database.prepare("SELECT count(*) AS n FROM sqlite_master WHERE type = 'table'").get()?.n;
  if (!own && tables !== 0) throw new Error('it is a database of another program');
}

const SQLITE_BUSY = 5;

const isBusy = (error: unknown): boolean =>
  error instanceof Error && 'errcode' in error && error.errcode === SQLITE_BUSY;

function createWriter(database: DatabaseSync) {
  const putHead = database.prepare('INSERT OR REPLACE INTO head (id, json) VALUES (1, ?)');
  const putRow = database.prepare('INSERT OR REPLACE INTO row (kind, id, json) VALUES (?, ?, ?)');
  const dropRow = database.prepare('DELETE FROM row WHERE kind = ? AND id = ?');
  return {
    head(world: World, anchor: TimeAnchor): void {
      const { tables: _tables, ...rest } = world;
      putHead.run(JSON.stringify({ ...rest, anchor } satisfies Head));
    },
    /** Writes a row, or drops one that no longer exists. */
    row(table: string, id: number, row: unknown): void {
      if (row === undefined) dropRow.run(table, id);
      else putRow.run(table, id, JSON.stringify(row));
    },
  };
}

function inTransaction(database: DatabaseSync, write: () => void): void {
  database.exec('BEGIN IMMEDIATE');
  try {
    write();
    database.exec('COMMIT');
  } catch (error) {
    database.exec('ROLLBACK');
    throw error;
  }
}

function readWorld(database: DatabaseSync): { world: World; anchor: TimeAnchor } | undefined {
  const found = database.prepare('SELECT json FROM head WHERE id = 1').get();
  if (!found) return undefined;
  const { anchor, ...rest } = JSON.parse(String(found.json)) as Head;
  const tables: Record<string, Record<number, unknown>> = { ...emptyTables() };
  for (const { kind, id, json } of database.prepare('SELECT kind, id, json FROM row').iterate()) {
    const rows = tables[String(kind) as TableName];
    if (rows) rows[Number(id)] = JSON.parse(String(json));
  }
  // Rows were written by `save` from rows of these very tables.
  return { world: { ...rest, tables: tables as unknown as World['tables'] }, anchor };
}
