import { stripVTControlCharacters } from 'node:util';
import { cut, printableLine } from './printable.ts';

/** Form of rows of one kind. JSON and YAML contain the row itself, so it must contain no secret. */
export interface View<Row> {
  /** Kind in names such as `instance/4711`. */
  readonly kind: string;
  readonly name: (row: Row) => string;
  readonly columns: readonly Column<Row>[];
}

/** A column of a table: its heading and the text of a row, undefined if there is none. */
export interface Column<Row> {
  readonly header: string;
  readonly text: (row: Row) => string | number | null | undefined;
  /** Maximum number of characters that a table shows without `-o wide`; unlimited if absent. */
  readonly most?: number;
  /** Colours the text, after control characters have been removed from it. */
  readonly paint?: (text: string, row: Row) => string;
  /** True if the column is only shown with `-o wide`. */
  readonly wide?: boolean;
}

const GAP = '   ';
const NOTHING = '-';

/** Namespace column of any row that has one. */
export const NAMESPACE: Column<{ readonly namespace: string }> = {
  header: 'Namespace',
  text: ({ namespace }) => namespace,
};

export interface TableOptions {
  readonly wide?: boolean;
  readonly headers?: boolean;
  /** Characters of a line on the terminal; undefined if lines may have any length. */
  readonly width?: number | undefined;
  /** True if the words of the last column continue on further lines to fit the width. Else the widest cells are cut. */
  readonly wraps?: boolean;
}

/** Colours a text if colours are on; otherwise returns it unchanged. */
export type Paint = (colour: 'green' | 'yellow' | 'red' | 'dim' | 'bold', text: string) => string;

/**
 * Returns a table as kubectl prints it: headings in capitals, columns three spaces apart, no spaces at line ends, `-`
 * for an empty cell.
 */
export function formatTable<Row>(
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  { wide = false, headers = true, width, wraps = false }: TableOptions = {},
): string {
  const shown = columns.filter((column) => wide || !column.wide);
  const limits = shown.map(({ most }) => (wide ? undefined : most));
  const headings = headers ? [shown.map(({ header }) => header.toUpperCase())] : [];
  const linesWith = (most: readonly (number | undefined)[]) => [
    ...headings,
    ...rows.map((row) => shown.map((column, at) => cellOf(column, row, most[at]))),
  ];
  const whole = linesWith(limits);
  const widths = shown.map((_, at) => Math.max(0, ...distinct(whole.map((line) => widthOf(line[at] ?? '')))));
  const free = width === undefined || wide ? Number.POSITIVE_INFINITY : width;
  if (lineWidth(widths) <= free) return textOf(whole, widths);
  if (wraps) return wrapped(whole, widths, free);
  const fitting = fittingWidths(widths, free);
  return textOf(linesWith(fitting.map((most, at) => Math.min(most, limits[at] ?? most))), fitting);
}

/** Returns each width once. A list may have 150,000 rows, and a function call accepts fewer arguments. */
function distinct(widths: readonly number[]): Iterable<number> {
  return new Set(widths);
}

function lineWidth(widths: readonly number[]): number {
  return widths.reduce((sum, width) => sum + width, 0) + GAP.length * Math.max(0, widths.length - 1);
}

/** Minimum width of a cut cell: a shorter text is of no use. */
const MIN_CELL = 8;

/**
 * Returns the widths that fit the line: it narrows the widest column repeatedly until the line fits or no column can be
 * narrower.
 */
function fittingWidths(widths: readonly number[], width: number): readonly number[] {
  const fitting = [...widths];
  for (let excess = lineWidth(fitting) - width; excess > 0; excess = lineWidth(fitting) - width) {
    const widest = Math.max(...fitting);
    if (widest <= MIN_CELL) break;
    const next = Math.max(MIN_CELL, ...fitting.filter((other) => other < widest));
    fitting[fitting.indexOf(widest)] = Math.max(next, widest - excess);
  }
  return fitting;
}

function textOf(lines: readonly (readonly string[])[], widths: readonly number[]): string {
  return lines.map((line) => `${layOut(line, widths)}\n`).join('');
}

/** Returns the lines with the last column wrapped below its first line; it has at least a third of the width. */
function wrapped(lines: readonly (readonly string[])[], widths: readonly number[], width: number): string {
  const before = widths.slice(0, -1);
  const indent = lineWidth(before) + GAP.length;
  const room = Math.max(Math.floor(width / 3), width - indent);
  return lines
    .flatMap((line) => {
      const [first = '', ...more] = wordsWithin(line.at(-1) ?? '', room);
      return [
        layOut([...line.slice(0, -1), first], before),
        ...more.map((text) => ' '.repeat(indent) + text),
      ];
    })
    .map((line) => `${line}\n`)
    .join('');
}

/** Returns lines of at most `room` characters, broken between words; a longer word gets its own line. */
function wordsWithin(text: string, room: number): readonly string[] {
  const lines: string[] = [];
  for (const token of text.split(' ')) {
    const last = lines.at(-1);
    if (last !== undefined && widthOf(last) + 1 + widthOf(token) <= room)
      lines[lines.length - 1] = `${last} ${token}`;
    else lines.push(token);
  }
  return lines;
}

/** Returns one row as a list of `heading: text` lines. */
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

/**
 * Returns the text of a cell on one line. A row may contain text of the marketplace or the cluster, which must not
 * control the terminal.
 */
function cellOf<Row>({ text, paint }: Column<Row>, row: Row, most?: number): string {
  const shown = cut(printableLine(String(text(row) ?? '')), most) || NOTHING;
  return paint ? paint(shown, row) : shown;
}

function pad(text: string, width: number): string {
  return text + ' '.repeat(Math.max(0, width - widthOf(text)));
}

/** Returns the number of characters on the screen: colours have no width. */
function widthOf(text: string): number {
  return [...stripVTControlCharacters(text)].length;
}
