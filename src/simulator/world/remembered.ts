/** Lists of rows by the table they were made of; gone with the table, or when it is written. */
const lists = new WeakMap<object, readonly unknown[]>();

/**
 * The rows of a table as a list, made once for as long as nobody writes the table. Use it within one pass;
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
