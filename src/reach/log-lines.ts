import { createHash } from 'node:crypto';

/**
 * Returns the new lines of a log: those after the lines of an earlier read. `isCut` if none of the earlier lines is
 * left, so that some in between may be missing.
 */
export function linesAfter(
  before: readonly string[],
  now: readonly string[],
): { readonly added: readonly string[]; readonly isCut: boolean } {
  if (before.length === 0) return { added: now, isCut: false };
  for (let overlap = Math.min(before.length, now.length); overlap > 0; overlap -= 1) {
    const from = before.length - overlap;
    if (isEqualRun(before, from, now)) return { added: now.slice(overlap), isCut: false };
  }
  return { added: now, isCut: now.length > 0 };
}

/** Returns true if the lines of `before` from index `from` on are the first lines of `now`. */
function isEqualRun(before: readonly string[], from: number, now: readonly string[]): boolean {
  for (let at = from; at < before.length; at += 1) if (before[at] !== now[at - from]) return false;
  return true;
}

/** The end of a log that was read, by digests of its lines: it is small, however long the lines are. */
export interface LogMark {
  /** Digests of the complete lines. */
  readonly lines: readonly string[];
  /** Digest and length of the text after the last line break, which may still grow. */
  readonly rest: string;
  readonly restLength: number;
}

/** Result of a join with an earlier read. */
export interface JoinedLog {
  /** Text that follows the earlier read, as it is in the log. */
  readonly added: string;
  /** True if no text of the earlier read is left: text in between may be missing. */
  readonly isCut: boolean;
}

/** Returns the mark of a log. */
export function markOf(text: string): LogMark {
  const lines = text.split('\n');
  const rest = lines.pop() ?? '';
  return { lines: lines.map(digest), rest: digest(rest), restLength: rest.length };
}

/**
 * Returns the text of a log after an earlier read. A last line without its line break is continued where it ended:
 * programs show progress on one line.
 */
export function textAfter(before: LogMark, text: string): JoinedLog {
  const lines = text.split('\n');
  const complete = lines.slice(0, -1).map(digest);
  const { added, isCut } = linesAfter(before.lines, complete);
  const kept = complete.length - added.length;
  const next = lines[kept] ?? '';
  const continues = !isCut && digest(next.slice(0, before.restLength)) === before.rest;
  const from = continues ? before.restLength : 0;
  const isLost = before.lines.length === 0 && before.restLength > 0 && !continues && text !== '';
  return { added: lines.slice(kept).join('\n').slice(from), isCut: isCut || isLost };
}

/** Lines of a position; equal runs of this length in one log are rare. */
const POSITION_LINES = 8;

/** Returns the position at the end of the log of a machine, as short text for {@link textSince}. */
export function positionAt(machineId: string, { lines, rest, restLength }: LogMark): string {
  return [machineId, ...lines.slice(-POSITION_LINES), `${restLength}_${rest}`].join('.');
}

/** A position in the log of a machine. */
export interface LogPosition {
  readonly machineId: string;
  readonly mark: LogMark;
}

const DIGEST = '[A-Za-z0-9_-]{11}';
const POSITION = new RegExp(`^(\\d{1,20})((?:\\.${DIGEST}){0,${POSITION_LINES}})\\.(\\d{1,7})_(${DIGEST})$`);
/** Maximum characters of a position. */
export const MAX_POSITION = 20 + 12 * POSITION_LINES + 20;

/** Returns the position of a text from {@link positionAt}; undefined for any other text. */
export function parsePosition(text: string): LogPosition | undefined {
  if (text.length > MAX_POSITION) return undefined;
  const [, machineId, lines = '', restLength, rest] = POSITION.exec(text) ?? [];
  if (machineId === undefined || rest === undefined) return undefined;
  const mark = { lines: lines.split('.').slice(1), rest, restLength: Number(restLength) };
  return { machineId, mark };
}

/** Returns the text after a position. If the log no longer contains the position, it returns the whole text as cut. */
export function textSince({ lines: wanted, ...rest }: LogMark, text: string): JoinedLog {
  const lines = text.split('\n');
  const complete = lines.slice(0, -1).map(digest);
  if (wanted.length === 0) return textAfter({ lines: [], ...rest }, text);
  for (let end = complete.length; end >= wanted.length; end -= 1) {
    if (isEqualRun(wanted, 0, complete.slice(end - wanted.length, end)))
      return textAfter({ lines: wanted, ...rest }, lines.slice(end - wanted.length).join('\n'));
  }
  return { added: text, isCut: text !== '' };
}

/** Returns the last lines of a text that fit into `maxLength` characters; a longer last line is cut. */
export function lastLines(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text;
  const within = text.slice(-maxLength);
  return within.slice(within.indexOf('\n') + 1) || within;
}

/** Returns a short digest: 64 bits, so that equal digests of different lines do not occur by chance. */
function digest(text: string): string {
  return createHash('sha256').update(text).digest('base64url').slice(0, 11);
}
