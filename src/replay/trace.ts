/** Offered load from a time until the next point. */
export interface TracePoint {
  readonly seconds: number;
  /** Work units per second. */
  readonly load: number;
}

/** Initial state of the group; a value is undefined if the trace does not set it. */
export interface StartValues {
  readonly hot: number | undefined;
  readonly cold: number | undefined;
  /** Waiting work. */
  readonly queue: number | undefined;
}

export interface Trace {
  /** Points in the order of time, at least one. */
  readonly points: readonly [TracePoint, ...TracePoint[]];
  readonly start: StartValues;
}

/** Error of an invalid trace: line, fault and remedy. */
export class TraceError extends Error {
  readonly line: number;
  readonly remedy: string;

  constructor(line: number, message: string, remedy: string) {
    super(message);
    this.name = 'TraceError';
    this.line = line;
    this.remedy = remedy;
  }
}

const NEEDED = ['seconds', 'load'] as const;
const STARTS = ['hot', 'cold', 'queue'] as const;
type Column = (typeof NEEDED)[number] | (typeof STARTS)[number];

const COLUMNS: readonly Column[] = [...NEEDED, ...STARTS];
const MAX_VALUE = 1e12;
/** Maximum workers of a group. */
const MAX_WORKERS = 1000;
const NUMBER = /^\d+(\.\d*)?([eE][+-]?\d+)?$/;

/** Maximum length of a trace, which bounds the number of ticks. */
const MAX_SECONDS = 31 * 86_400;

interface Row {
  readonly line: number;
  readonly cells: ReadonlyMap<Column, string>;
}

/**
 * Parses a CSV with the columns `seconds` and `load`. The first row may set `hot`, `cold` and `queue` of the initial
 * group. Skips blank lines and lines that begin with #. Throws {@link TraceError}.
 */
export function parseTrace(text: string): Trace {
  const [header, ...lines] = linesOf(text);
  if (!header) throw new TraceError(1, 'the trace is empty', 'begin it with the line seconds,load');
  const columns = columnsOf(header);
  const rows = lines.map((line) => rowOf(line, columns));
  const [first, ...rest] = rows.map(pointOf);
  if (!first)
    throw new TraceError(header.line, 'the trace has no rows', 'write lines such as 0,100 below it');
  const points = [first, ...rest] as const;
  for (const [index, row] of rows.entries()) checkOrder(points, index, row.line);
  for (const row of rows.slice(1)) refuseStartValues(row);
  return { points, start: startOf(rows[0]) };
}

interface Line {
  readonly line: number;
  readonly cells: readonly string[];
}

function linesOf(text: string): readonly Line[] {
  return text
    .replace(/^\uFEFF/, '')
    .split(/\r?\n/)
    .map((line, index) => ({ text: line.trim(), line: index + 1 }))
    .filter((line) => line.text !== '' && !line.text.startsWith('#'))
    .map((line) => ({ line: line.line, cells: line.text.split(',').map(cellText) }));
}

function cellText(cell: string): string {
  return cell.trim().replace(/^"(.*)"$/, '$1');
}

function columnsOf({ line, cells }: Line): readonly Column[] {
  const remedy = 'name the columns seconds,load and optionally hot,cold,queue';
  const columns = cells.map((cell) => {
    const column = COLUMNS.find((name) => name === cell);
    if (!column) throw new TraceError(line, `unknown column "${cell}"`, remedy);
    return column;
  });
  const missing = NEEDED.find((name) => !columns.includes(name));
  if (missing) throw new TraceError(line, `column ${missing} is missing`, remedy);
  const twice = columns.find((name, index) => columns.indexOf(name) !== index);
  if (twice) throw new TraceError(line, `duplicate column ${twice}`, remedy);
  return columns;
}

function rowOf({ line, cells }: Line, columns: readonly Column[]): Row {
  if (cells.length > columns.length)
    throw new TraceError(
      line,
      `${cells.length} values in ${columns.length} columns`,
      'write one number per column, with a decimal point',
    );
  return { line, cells: new Map(columns.map((column, index) => [column, cells[index] ?? ''])) };
}

function pointOf({ line, cells }: Row): TracePoint {
  const need = (column: Column) => numberOf(cells.get(column) ?? '', column, line);
  return { seconds: need('seconds'), load: need('load') };
}

function numberOf(text: string, column: Column, line: number): number {
  const value = NUMBER.test(text) ? Number(text) : Number.NaN;
  if (value >= 0 && value <= MAX_VALUE) return value;
  const what = text === '' ? `${column} is empty` : `${column} "${text}" is not a number from 0 to 10^12`;
  throw new TraceError(line, what, `write ${column} as a non-negative number, such as 120 or 0.5`);
}

function checkOrder(points: Trace['points'], index: number, line: number): void {
  const [first] = points;
  const seconds = points[index]?.seconds ?? 0;
  const before = points[index - 1]?.seconds ?? Number.NEGATIVE_INFINITY;
  if (seconds <= before)
    throw new TraceError(
      line,
      `seconds ${seconds} is not greater than ${before} of the previous row`,
      'sort the rows by seconds, with one row for each value',
    );
  if (seconds - first.seconds > MAX_SECONDS)
    throw new TraceError(
      line,
      `seconds ${seconds} is more than 31 days after the first row`,
      'split the trace',
    );
}

function refuseStartValues({ line, cells }: Row): void {
  const given = STARTS.find((column) => (cells.get(column) ?? '') !== '');
  if (given)
    throw new TraceError(
      line,
      `${given} is set after the first row`,
      'set start values in the first row only',
    );
}

function startOf(first: Row | undefined): StartValues {
  const given = (column: (typeof STARTS)[number]) => {
    const text = first?.cells.get(column) ?? '';
    return first === undefined || text === '' ? undefined : numberOf(text, column, first.line);
  };
  const count = (column: 'hot' | 'cold') => {
    const value = given(column);
    if (value === undefined || (Number.isInteger(value) && value <= MAX_WORKERS)) return value;
    throw new TraceError(
      first?.line ?? 1,
      `${column} ${value} is not a whole number up to ${MAX_WORKERS}`,
      'write the number of workers',
    );
  };
  return { hot: count('hot'), cold: count('cold'), queue: given('queue') };
}

/** Returns the work offered within a span; 0 before the first point. */
export function offeredBetween(points: Trace['points'], from: number, to: number): number {
  let amount = 0;
  for (let index = lastBefore(points, from); index < points.length; index += 1) {
    const point = points[index];
    if (!point || point.seconds >= to) break;
    const until = Math.min(to, points[index + 1]?.seconds ?? to);
    amount += point.load * Math.max(0, until - Math.max(from, point.seconds));
  }
  return amount;
}

/** Returns true if the load is constant over a span. */
export function isSteadyBetween(points: Trace['points'], from: number, to: number): boolean {
  const next = points[0].seconds > from ? points[0] : points[lastBefore(points, from) + 1];
  return next === undefined || next.seconds >= to;
}

/** Returns the index of the point in effect at a time: the last one at or before the time, or the first. */
function lastBefore(points: Trace['points'], seconds: number): number {
  let low = 0;
  let high = points.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((points[middle]?.seconds ?? Number.POSITIVE_INFINITY) <= seconds) low = middle + 1;
    else high = middle;
  }
  return Math.max(0, low - 1);
}
