import type { Instance } from '../instances/instance.ts';

/** One machine that changed, appeared (`previous` undefined) or left (`row` undefined). */
export interface RowChange {
  readonly id: number;
  readonly row: Instance | undefined;
  readonly previous: Instance | undefined;
}

/** Rows after a look, and what is different from before. */
export interface RowUpdate {
  readonly rows: ReadonlyMap<number, Instance>;
  readonly changes: readonly RowChange[];
}

type Rows = ReadonlyMap<number, Instance>;

/** The rows of a complete list: what it does not name is gone from it. Unchanged rows stay the same objects. */
export function replaceRows(before: Rows, seen: readonly Instance[]): RowUpdate {
  const rows = new Map<number, Instance>();
  const changes: RowChange[] = [];
  for (const row of seen) rows.set(row.id, keep(before, row, changes));
  for (const [id, previous] of before) {
    if (!rows.has(id)) changes.push({ id, row: undefined, previous });
  }
  return { rows, changes };
}

/** Fresher views of some machines. What is not among them stays as it was. */
export function patchRows(before: Rows, seen: readonly Instance[]): RowUpdate {
  const rows = new Map(before);
  const changes: RowChange[] = [];
  for (const row of seen) rows.set(row.id, keep(before, row, changes));
  return { rows, changes };
}

function keep(before: Rows, row: Instance, changes: RowChange[]): Instance {
  const previous = before.get(row.id);
  if (previous && isSame(previous, row)) return previous;
  changes.push({ id: row.id, row, previous });
  return row;
}

function isSame(left: Instance, right: Instance): boolean {
  for (const name of Object.keys(right) as (keyof Instance)[]) {
    if (name !== 'ports' && left[name] !== right[name]) return false;
  }
  return isSamePorts(left.ports, right.ports);
}

function isSamePorts(left: Instance['ports'], right: Instance['ports']): boolean {
  const names = Object.keys(right);
  return Object.keys(left).length === names.length && names.every((name) => left[name] === right[name]);
}
