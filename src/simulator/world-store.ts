import type { ApiKey, RowOf, TableName, World } from './world.ts';

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

/** Owns the current world: the only place where one world follows another. */
export interface WorldStore extends WorldWriter {
  current(): World;
  /** Takes the world that `advance` or `PUT /sim/world` made. */
  replace(world: World): void;
  /** The key with that secret, revoked ones included. */
  keyBySecret(secret: string): ApiKey | undefined;
  /** Rows touched since the last call, each once. */
  takeChanges(): readonly Change[];
}
