import { styleText } from 'node:util';
import { earlyEnd } from './ending.ts';
import { wrapWords } from './fit.ts';
import { Screen, type Terminal, widthOf } from './screen.ts';
import { alignColumns, fitColumns } from './table.ts';
import type { Sighting } from './watcher.ts';

type Instances = ReadonlyMap<string, Sighting>;

/** Output of the demo. */
export interface View {
  heading(text: string): void;
  say(text: string): void;
  /** Prints a command to copy, on one line. */
  command(text: string): void;
  /** Prints the reason of a failure; each line of `why` on its own. */
  failed(why: string): void;
  /** Prints the changes between two polls. */
  show(before: Instances, now: Instances): void;
}

/** Destination of lines; without `width` they have any length. */
interface Out {
  readonly width?: () => number;
  write(text: string): unknown;
}

const HEADER = ['NAME', 'PHASE', 'STATE', 'INSTANCE', 'HOST', '$/H', 'READY', 'ENDPOINT'];
/** Columns that a narrow terminal omits, in this order. */
const EXPENDABLE = ['READY', 'HOST', 'INSTANCE', 'ENDPOINT'];

function rowOf(one: Sighting): readonly string[] {
  return [
    one.name,
    one.phase,
    one.word,
    one.instanceId ?? '-',
    one.hostId ?? '-',
    one.pricePerHour,
    one.isReady ? 'True' : 'False',
    one.endpoint,
  ];
}

/** Returns the instances as a table of at most `width` cells. */
function tableOf(instances: Instances, width: number): readonly string[] {
  return alignColumns(fitColumns([HEADER, ...[...instances.values()].map(rowOf)], EXPENDABLE, width));
}

/** Returns the machine, with the marketplace's own state in brackets. */
function machineOf({ instanceId, hostId, word, pricePerHour }: Sighting): string {
  if (instanceId === undefined) return '';
  const price = pricePerHour === '-' ? '' : `, $${pricePerHour}/h`;
  return ` (state ${word}, machine ${instanceId} on host ${hostId}${price})`;
}

function changesOf(before: Instances, now: Instances): readonly string[] {
  const lines: string[] = [];
  for (const [name, one] of now) {
    const was = before.get(name);
    if (was && rowOf(was).join() === rowOf(one).join() && was.message === one.message) continue;
    const message = firstSentence(one.message);
    lines.push(`${name}: ${one.phase}${machineOf(one)}${message && `. ${message}`}`);
  }
  for (const name of before.keys()) if (!now.has(name)) lines.push(`${name}: gone`);
  return lines;
}

/** Returns the first sentence, with the event; the remedy is in the condition. */
function firstSentence(message: string): string {
  return /^.*?\.(?=\s|$)/s.exec(message)?.[0] ?? message;
}

/** Cells of the time at the head of each line. */
const STAMP = 8;

/** Lines only: for logs and pipes. */
export function plainView(out: Out): View {
  const startedAt = performance.now();
  const stamp = (): string => `${((performance.now() - startedAt) / 1000).toFixed(1).padStart(5)}s`;
  const tell = (text: string): void => {
    const line = `${stamp()}  ${text}`;
    const indent = STAMP + 2 + (/^\s*/.exec(text)?.[0].length ?? 0);
    const lines = out.width ? wrapWords(line, out.width(), indent) : [line];
    out.write(`${lines.join('\n')}\n`);
  };
  return {
    heading(text) {
      out.write('\n');
      tell(`== ${text}`);
    },
    say: tell,
    command: (text) => void out.write(`${' '.repeat(STAMP + 2)}${text}\n`),
    failed(why) {
      for (const line of earlyEnd(why).split('\n')) tell(line);
    },
    show(before, now) {
      for (const line of changesOf(before, now)) tell(line);
    },
  };
}

/** Lines that scroll above what `screen` shows below, broken between words where the terminal ends. */
export function scrollingView(screen: Screen, out: Terminal): View {
  const lines = plainView({ width: () => widthOf(out), write: (text) => screen.above(text) });
  return { ...lines, heading: (text) => lines.heading(styleText('bold', text)) };
}

/** Creates the view for terminals: lines above, and below them a table that is redrawn in place. */
export function terminalView(out: Terminal): View {
  const screen = new Screen(out);
  const lines = scrollingView(screen, out);
  return {
    ...lines,
    show(before, now) {
      lines.show(before, now);
      const [header = '', ...rows] = now.size > 0 ? tableOf(now, widthOf(out)) : [];
      screen.below(now.size > 0 ? ['', styleText('bold', header), ...rows] : []);
    },
  };
}
