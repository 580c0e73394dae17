/* Result of a run to completion, as its machine reports it: in its log, and by the name of a file. PURE. */

/** Result in the log of a machine. */
export interface LoggedResult {
  readonly exitCode: number;
  /** Output of the program in its last attempt, without the lines of its wrapper. */
  readonly log: string;
  /** True if the log begins with the start of that attempt; false if the marketplace shows only its end. */
  readonly isWhole: boolean;
}

const MAX_EXIT_CODE = 255;
const NONCE = /^[A-Za-z0-9]+$/;

/**
 * Returns the result that a log contains for this attempt to rent; undefined if the program has not ended, or the log is
 * of another attempt. The last marker counts. A marker also counts at the end of a line of other text, such as a time
 * of the marketplace.
 */
export function resultInLog(text: string, nonce: string): LoggedResult | undefined {
  const ends = markers(text, nonce, 'exit').filter(({ number }) => number <= MAX_EXIT_CODE);
  const last = ends.at(-1);
  if (last === undefined) return undefined;
  const start = markers(text, nonce, 'start').findLast(({ begin }) => begin < last.begin);
  // A container that starts again after the end of its program only repeats the marker.
  const from = start?.end ?? 0;
  const { log } = outputBetween(text, from, ends);
  return { exitCode: last.number, log, isWhole: start !== undefined };
}

/**
 * Returns the output of the program in its last attempt, without the lines of its wrapper, whether it has ended or not.
 */
export function outputInLog(text: string, nonce: string): Pick<LoggedResult, 'log' | 'isWhole'> {
  const start = markers(text, nonce, 'start').at(-1);
  const from = start?.end ?? 0;
  return { ...outputBetween(text, from, markers(text, nonce, 'exit')), isWhole: start !== undefined };
}

/** Returns the text from a start to the next exit. Both share a line feed if the log has no empty lines. */
function outputBetween(text: string, from: number, exits: readonly Marker[]): Pick<LoggedResult, 'log'> {
  const exit = exits.find(({ end }) => end > from);
  return { log: text.slice(from, exit && Math.max(from, exit.begin)) };
}

/**
 * Returns the exit code in the output of `ls` of the folder of a run; undefined if there is none for this attempt to
 * rent. Messages of `ls` itself are no names.
 */
export function resultInFiles(output: string, nonce: string): number | undefined {
  const lines = output.split('\n').filter((line) => !line.startsWith('ls:'));
  for (const name of lines.flatMap((line) => line.split(/\s/))) {
    const [, digits, owner] = /^exit\.(\d{1,3})\.(\w+)$/.exec(name) ?? [];
    if (owner === nonce && Number(digits) <= MAX_EXIT_CODE) return Number(digits);
  }
  return undefined;
}

interface Marker {
  /** Index of the line feed in front of the marker that its wrapper printed, or of the marker. */
  readonly begin: number;
  /** Index after its line. */
  readonly end: number;
  readonly number: number;
}

function markers(text: string, nonce: string, event: 'start' | 'exit'): readonly Marker[] {
  if (!NONCE.test(nonce)) return [];
  const marker = new RegExp(String.raw`\r?\n?gpurental ${nonce} ${event} (\d{1,9})[ \t\r]*(?:\n|$)`, 'g');
  return [...text.matchAll(marker)].map((match) => ({
    begin: match.index,
    end: match.index + match[0].length,
    number: Number(match[1]),
  }));
}
