import { stripVTControlCharacters } from 'node:util';
import { cut, printableLine } from './printable.ts';

/** How rows of one kind are shown. What JSON and YAML hold is the row itself: it carries no secret. */
export interface View<Row> {
  /** As in `instance/4711`. */
  readonly kind: string;
  readonly name: (row: Row) => string;
  readonly columns: readonly Column<Row>[];
}

/** A column of a table: its heading and the text of a row, undefined if there is none. */
export interface Column<Row> {
  readonly header: string;
  readonly text: (row: Row) => string | number | null | undefined;
  /** The most characters that a table shows without `-o wide`; all if left out. */
  readonly most?: number;
  /** Colours the text, once nothing in it can steer the terminal. */
  readonly paint?: (text: string, row: Row) => string;
  /** Only with `-o wide`. */
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
  /** How the last column of a report fits the width: its words continue on further lines. Else the widest cells are cut. */
  readonly wraps?: boolean;
}

/** Colours a text if colours are on; otherwise returns it unchanged. */
export type Paint = (colour: 'green' | 'yellow' | 'red' | 'dim' | 'bold', text: string) => string;

/**
 * A table as kubectl prints it: headings in capitals, columns three spaces apart, nothing behind the last
 * column, `-` if there is nothing.
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

/** A list with 150,000 rows has few widths, and a call takes only so many arguments. */
function distinct(widths: readonly number[]): Iterable<number> {
  return new Set(widths);
}

function lineWidth(widths: readonly number[]): number {
  return widths.reduce((sum, width) => sum + width, 0) + GAP.length * Math.max(0, widths.length - 1);
}

/** No cell is cut below this: a shorter one says nothing. */
const MIN_CELL = 8;

/** Takes what is too much from the widest column, again and again until the line fits or nothing more can be cut. */
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

/** The words of the last column continue below its first line; it has at least a third of the width. */
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

/** Lines of at most `room` characters, broken between words; a longer word stands alone. */
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
function cellOf<Row>({ text, paint }: Column<Row>, row: Row, most?: number): string {
  const shown = cut(printableLine(String(text(row) ?? '')), most) || NOTHING;
  return paint ? paint(shown, row) : shown;
}

function pad(text: string, width: number): string {
  return text + ' '.repeat(Math.max(0, width - widthOf(text)));
}

/** Characters on the screen: colours take none. */
function widthOf(text: string): number {
  return [...stripVTControlCharacters(text)].length;
}
