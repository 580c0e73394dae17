import { stripVTControlCharacters } from 'node:util';
import { printableLine } from './printable.ts';

/** A column of a table: its heading and the text of a row, undefined if there is none. */
export interface Column<Row> {
  readonly header: string;
  readonly text: (row: Row) => string | undefined;
  /** Colours the text, once nothing in it can steer the terminal. */
  readonly paint?: (text: string, row: Row) => string;
  /** Only with `-o wide`. */
  readonly wide?: boolean;
}

const GAP = '   ';
const NOTHING = '-';

export interface TableOptions {
  readonly wide?: boolean;
  readonly headers?: boolean;
}

/**
 * A table as kubectl prints it: headings in capitals, columns three spaces apart, nothing behind the last
 * column, `-` if there is nothing.
 */
export function formatTable<Row>(
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  { wide = false, headers = true }: TableOptions = {},
): string {
  const shown = columns.filter((column) => wide || !column.wide);
  const body = rows.map((row) => shown.map((column) => cellOf(column, row)));
  const lines = headers ? [shown.map(({ header }) => header.toUpperCase()), ...body] : body;
  const widths = shown.map((_, at) =>
    lines.reduce((most, line) => Math.max(most, widthOf(line[at] ?? '')), 0),
  );
  return lines.map((line) => `${layOut(line, widths)}\n`).join('');
}

/** One row as a list of `heading: text` lines. */
export function formatDetails<Row>(columns: readonly Column<Row>[], row: Row): string {
  const shown = columns
    .filter(({ text }) => (text(row) ?? '') !== '')
    .map((column) => [`${column.header}:`, cellOf(column, row)] as const);
  const width = Math.max(0, ...shown.map(([header]) => widthOf(header)));
  return shown.map(([header, value]) => `${pad(header, width)}  ${value}\n`).join('');
}

function layOut(line: readonly string[], widths: readonly number[]): string {
  return line
    .map((cell, at) => pad(cell, widths[at] ?? 0))
    .join(GAP)
    .trimEnd();
}

/** A row may hold text of the marketplace or the cluster: it stays on its line and only shows. */
function cellOf<Row>({ text, paint }: Column<Row>, row: Row): string {
  const shown = printableLine(text(row) ?? '') || NOTHING;
  return paint ? paint(shown, row) : shown;
}

function pad(text: string, width: number): string {
  return text + ' '.repeat(Math.max(0, width - widthOf(text)));
}

/** Characters on the screen: colours take none. */
function widthOf(text: string): number {
  return [...stripVTControlCharacters(text)].length;
}
