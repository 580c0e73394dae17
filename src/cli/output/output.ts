import { styleText } from 'node:util';
import { type Clock, systemClock, type Timer } from '../../lib/clock.ts';
import { KUBECTL_YAML } from '../../lib/kubectl-yaml.ts';
import { ageText } from '../../views/amounts.ts';
import { cut, printableLine } from '../../views/printable.ts';
import { formatDetails, formatTable, type Paint, type View } from '../../views/table.ts';
import type { CommandContext, CommandInput, OptionValues } from '../command.ts';
import { switchOption, textOption } from '../option-values.ts';

type OutputFormat = 'table' | 'wide' | 'json' | 'yaml' | 'name';

/** Result of a change, e.g. `instance/4711 stopped`. */
export interface ChangeReport {
  readonly kind: string;
  readonly name: string;
  /** A participle: `created`, `stopped`. */
  readonly did: string;
  /** Further data for programs. */
  readonly more?: Readonly<Record<string, unknown>>;
}

/** Output of results in the requested form. */
export interface Output {
  readonly format: OutputFormat;
  /** Prints a list; for an empty one it prints a sentence on stderr. */
  rows<Row>(view: View<Row>, rows: readonly Row[]): Promise<void>;
  row<Row>(view: View<Row>, row: Row): Promise<void>;
  /** Prints changes. Programs get the report, or a list if several were requested: `asList`, or more than one. */
  changed(reports: readonly ChangeReport[], asked?: { readonly asList: boolean }): Promise<void>;
  /** Prints a value for programs, or its text for people. */
  value(value: unknown, text: string): Promise<void>;
}

/** Creates the output of one run of a command. */
export function createOutput({ options }: CommandInput, context: CommandContext): Output {
  const format = formatOf(textOption(options, '--output'), switchOption(options, '--raw'));
  const headers = options.headers !== false;
  const write = (text: string) => {
    context.stdout.write(text);
  };
  const structured = async (value: unknown): Promise<boolean> => {
    if (format === 'json') write(`${JSON.stringify(value, undefined, 2)}\n`);
    else if (format === 'yaml') write(await yamlOf(value));
    else return false;
    return true;
  };
  return {
    format,
    async rows(view, rows) {
      if (await structured(rows)) return;
      if (format === 'name') write(rows.map((row) => nameLine(view, row)).join(''));
      else if (rows.length === 0) context.stderr.write(`No ${view.kind}s found.\n`);
      else
        write(
          formatTable(view.columns, rows, { wide: format === 'wide', headers, width: tableWidth(context) }),
        );
    },
    async row(view, row) {
      if (await structured(row)) return;
      write(format === 'name' ? nameLine(view, row) : formatDetails(view.columns, row));
    },
    async changed(reports, { asList } = { asList: reports.length > 1 }) {
      const values = reports.map(({ kind, name, did, more }) => ({ kind, id: name, did, ...more }));
      if (await structured(asList ? values : (values[0] ?? null))) return;
      const lines = reports.map(
        ({ kind, name, did }) => `${kind}/${name}${format === 'name' ? '' : ` ${did}`}`,
      );
      write(lines.map((line) => `${printableLine(line)}\n`).join(''));
    },
    async value(value, text) {
      if (!(await structured(value))) write(text.endsWith('\n') || text === '' ? text : `${text}\n`);
    },
  };
}

function nameLine<Row>({ kind, name }: View<Row>, row: Row): string {
  return `${kind}/${printableLine(name(row))}\n`;
}

/** Returns the format; `--raw` is JSON, its name in the service's other clients. commander has validated the word. */
function formatOf(text: string | undefined, raw: boolean): OutputFormat {
  if (raw) return 'json';
  switch (text) {
    case 'json':
    case 'yaml':
    case 'wide':
    case 'name':
      return text;
    default:
      return 'table';
  }
}

/** Returns YAML for people and kubectl: texts such as on, e1 and 1e3 stay texts. The library is loaded on demand. */
export async function yamlOf(value: unknown): Promise<string> {
  const { stringify } = await import('yaml');
  return stringify(JSON.parse(JSON.stringify(value ?? null)), { ...KUBECTL_YAML, lineWidth: 0 });
}

/**
 * Returns a painter. Colours are on only on a terminal that supports them, and never with `--no-color`, NO_COLOR or
 * TERM=dumb.
 */
export function createPaint(options: OptionValues, { stdout, env }: CommandContext): Paint {
  const isColoured = Boolean(stdout.isTTY) && options.color !== false && !env.NO_COLOR && env.TERM !== 'dumb';
  return (colour, text) => (isColoured ? styleText(colour, text, { validateStream: false }) : text);
}

/** Progress of a command on stderr, before its first result. */
export interface Progress {
  /** Shows the present activity. */
  show(text: string): void;
  /** Removes the line, before a result is shown. */
  clear(): void;
}

const FRAMES = [...'⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏'];
const FRAME_MS = 100;
/** Interval for logs: few lines, and early enough to show that the command is alive. */
const HEARTBEAT_MS = 30_000;

/**
 * Creates the progress of one command. On a terminal it is one line that is replaced over time and never wraps: a
 * spinner, the time since the first text, and the activity. Elsewhere it is one line each half minute, so that a log
 * shows progress.
 */
export function createProgress(
  { stderr, env }: Pick<CommandContext, 'stderr' | 'env'>,
  clock: Clock = systemClock,
): Progress {
  const isLive = Boolean(stderr.isTTY) && env.TERM !== 'dumb';
  const everyMs = isLive ? FRAME_MS : HEARTBEAT_MS;
  let begunAt: number | undefined;
  let text = '';
  let frame = 0;
  let timer: Timer | undefined;
  const elapsed = () => ageText(clock.monotonic() - (begunAt ?? clock.monotonic()));
  const paint = () => {
    // The last column stays free: some terminals wrap there.
    const line = `${FRAMES[frame % FRAMES.length]} ${elapsed()}  ${printableLine(text)}`;
    stderr.write(`\r\u001b[2K${cut(line, stderr.columns && stderr.columns - 1)}`);
  };
  const beat = () => {
    frame += 1;
    if (isLive) paint();
    else stderr.write(`Waiting for ${elapsed()}: ${printableLine(text)}\n`);
    timer = clock.setTimer(everyMs, beat, { background: true });
  };
  return {
    show(now) {
      text = now;
      begunAt ??= clock.monotonic();
      timer ??= clock.setTimer(everyMs, beat, { background: true });
      if (isLive) paint();
    },
    clear() {
      timer?.cancel();
      timer = undefined;
      if (isLive && begunAt !== undefined) stderr.write('\r\u001b[2K');
    },
  };
}

/** Returns the maximum width of tables: that of a terminal, unlimited with `-o wide`. */
export function tableWidth({ stdout }: Pick<CommandContext, 'stdout'>): number | undefined {
  return stdout.isTTY ? stdout.columns : undefined;
}

/** Returns type, last characters and comment of a public key: enough to distinguish keys. */
export function shortKey(key: string): string {
  const [type = '', body = '', ...comment] = key.trim().split(/\s+/);
  return [type, `…${body.slice(-12)}`, ...comment].join(' ');
}
