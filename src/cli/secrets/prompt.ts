import type { CommandContext, CommandInput } from '../command.ts';
import { failed, Interrupted, usageError } from '../command-error.ts';
import { switchOption } from '../option-values.ts';

/** A terminal that can hide the input. */
interface Terminal {
  setRawMode(raw: boolean): unknown;
}

/** Unused input of stdin, so that several questions share one pipe. */
interface Reader {
  readonly source: AsyncIterator<Buffer | string>;
  rest: string;
  ended: boolean;
}

const readers = new WeakMap<object, Reader>();

export interface Question {
  /** True if the input is hidden. */
  readonly hidden?: boolean;
  /** The option that replaces the question without a terminal. */
  readonly instead: string;
}

/**
 * Prompts on stderr and reads one line of stdin, from a terminal or a pipe. Rejects with a usage error that names the
 * option to use instead if stdin has ended.
 */
export async function ask(context: CommandContext, question: string, options: Question): Promise<string> {
  context.stderr.write(`${question} `);
  const answer = options.hidden && context.stdin.isTTY ? await hiddenLine(context) : await nextLine(context);
  if (answer === undefined) {
    context.stderr.write('\n');
    throw usageError('No answer: stdin has ended.', `Give ${options.instead}.`);
  }
  return answer.trim();
}

/** Option that answers the question of `confirmed` in advance. */
export const YES = {
  flags: '-y, --yes',
  description: 'Do not ask. Needed if stdin is no terminal.',
} as const;

/**
 * Prompts before an irreversible change; throws on any answer other than yes. Without a terminal `--yes` is required.
 */
export async function confirmed(
  question: string,
  { options }: Pick<CommandInput, 'options'>,
  context: CommandContext,
): Promise<void> {
  if (switchOption(options, '--yes')) return;
  if (!context.stdin.isTTY)
    throw usageError(
      `${question} Nothing was done: stdin is no terminal, so nothing was asked.`,
      'Give --yes.',
    );
  const answer = await ask(context, `${question} [y/N]`, { instead: '--yes' });
  if (!/^y(es)?$/i.test(answer)) throw failed('Nothing was done.');
}

/** Returns the rest of stdin. */
export async function readAll(context: CommandContext): Promise<string> {
  const reader = readerOf(context);
  while (!reader.ended) await readMore(reader);
  const text = reader.rest;
  reader.rest = '';
  return text;
}

async function nextLine(context: CommandContext): Promise<string | undefined> {
  const reader = readerOf(context);
  while (!reader.ended && !/[\r\n]/.test(reader.rest)) await readMore(reader, context.signal);
  const [line = '', ...more] = reader.rest.split(/\r\n|\r|\n/);
  const isOver = reader.ended && reader.rest === '';
  reader.rest = reader.rest.slice(line.length).replace(/^(\r\n|\r|\n)/, '');
  return isOver && more.length === 0 ? undefined : line;
}

async function hiddenLine(context: CommandContext): Promise<string | undefined> {
  const terminal = context.stdin as unknown as Terminal;
  terminal.setRawMode(true);
  try {
    return await typedLine(context);
  } finally {
    terminal.setRawMode(false);
    context.stderr.write('\n');
  }
}

/** Reads a line in raw mode, in which Ctrl-C and Ctrl-D end it and Backspace deletes a character. */
async function typedLine(context: CommandContext): Promise<string | undefined> {
  const reader = readerOf(context);
  let typed = '';
  for (;;) {
    const [key] = reader.rest;
    if (key === undefined) {
      if (reader.ended) return undefined;
      await readMore(reader, context.signal);
      continue;
    }
    reader.rest = reader.rest.slice(key.length);
    if (key === '\r' || key === '\n') return typed;
    if (key === '\u0003') throw new Interrupted();
    if (key === '\u0004') return undefined;
    typed = key === '\u007f' || key === '\b' ? typed.slice(0, -1) : typed + key;
  }
}

function readerOf({ stdin }: CommandContext): Reader {
  const known = readers.get(stdin);
  if (known) return known;
  const source = (stdin as AsyncIterable<Buffer | string>)[Symbol.asyncIterator]();
  const reader: Reader = { source, rest: '', ended: false };
  readers.set(stdin, reader);
  return reader;
}

async function readMore(reader: Reader, signal?: AbortSignal): Promise<void> {
  const next = await Promise.race([reader.source.next(), ...(signal ? [aborted(signal)] : [])]);
  if (next.done) reader.ended = true;
  else reader.rest += next.value.toString();
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const giveUp = () => reject(new Interrupted());
    if (signal.aborted) giveUp();
    else signal.addEventListener('abort', giveUp, { once: true });
  });
}
