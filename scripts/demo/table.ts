import { cellsOf } from './fit.ts';

type Rows = readonly (readonly string[])[];

const GAP = 2;

function widthsOf(rows: Rows): readonly number[] {
  const [header = []] = rows;
  return header.map((_, column) => Math.max(...rows.map((row) => cellsOf(row[column] ?? ''))));
}

/** Rows as columns that line up, two spaces apart, as kubectl prints them. */
export function alignColumns(rows: Rows): readonly string[] {
  const widths = widthsOf(rows);
  return rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join(' '.repeat(GAP))
      .trimEnd(),
  );
}

/**
 * Returns the rows, the first of which names the columns, without the columns of `expendable` that must be omitted, in
 * that order, to fit into `width`.
 */
export function fitColumns(rows: Rows, expendable: readonly string[], width: number): Rows {
  const [header = []] = rows;
  const widths = widthsOf(rows);
  const left = new Set(header);
  const fits = (): boolean => {
    const shown = widths.filter((_, column) => left.has(header[column] ?? ''));
    return shown.reduce((sum, cells) => sum + cells + GAP, -GAP) <= width;
  };
  for (const name of expendable) if (!fits()) left.delete(name);
  return rows.map((row) => row.filter((_, column) => left.has(header[column] ?? '')));
}
