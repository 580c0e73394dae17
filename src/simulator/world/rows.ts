import type { RowOf, TableName, World } from './world.ts';

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
