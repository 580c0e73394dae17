import { open, stat } from 'node:fs/promises';
import { Secret } from '../../lib/secret.ts';
import type { CommandContext, OptionValues } from '../command.ts';
import { usageError } from '../command-error.ts';
import { textOption } from '../option-values.ts';
import { ask, readAll } from './prompt.ts';

/**
 * Returns a secret from a file, `-` for stdin, without surrounding white space. Rejects with a usage error if the file
 * is empty, too large or unreadable.
 */
export async function readSecretFile(path: string, flag: string, context: CommandContext): Promise<Secret> {
  const text = (await readTextFile(path, flag, context)).trim();
  if (text === '') throw usageError(`${flag}: ${path} is empty.`);
  if (path !== '-') await warnReadable(path, flag === '--api-key-file' ? 'key' : 'secret', context);
  return new Secret(text);
}

/** Files with a warning already, by the stderr of their run. */
const warned = new WeakMap<object, Set<string>>();

/**
 * Warns once per run of a key file that others can read: everyone who has the key can spend money. A pipe is private.
 * Rejects if the file does not exist.
 */
export async function warnReadable(
  path: string,
  what: 'key' | 'secret',
  { stderr }: CommandContext,
): Promise<void> {
  const file = await stat(path);
  if (!file.isFile() || (file.mode & 0o077) === 0) return;
  const named = warned.get(stderr) ?? new Set();
  if (named.has(path)) return;
  warned.set(stderr, named.add(path));
  stderr.write(`Warning: others may read the ${what} in ${path}. What to do: chmod 600 ${path}\n`);
}

/** Maximum bytes of a file with a secret or a script. */
const MAX_FILE_BYTES = 1_048_576;

/** A file with more bytes than the limit. */
export class FileTooLarge extends Error {
  override readonly name = 'FileTooLarge';
  readonly code = 'EFBIG';
}

/**
 * Returns the text of a file. An endless device or pipe is read up to the limit only. Rejects with {@link FileTooLarge}
 * beyond it.
 */
export async function readBounded(path: string): Promise<string> {
  const file = await open(path);
  try {
    const bytes = Buffer.alloc(MAX_FILE_BYTES + 1);
    let length = 0;
    for (let read = -1; read !== 0 && length < bytes.length; length += read)
      read = (await file.read(bytes, length, bytes.length - length)).bytesRead;
    if (length > MAX_FILE_BYTES) throw new FileTooLarge(`more than ${MAX_FILE_BYTES} bytes`);
    return bytes.toString('utf8', 0, length);
  } finally {
    await file.close();
  }
}

/** Returns the text of a file, `-` for stdin. Rejects with a usage error if the file is too large or unreadable. */
export async function readTextFile(path: string, flag: string, context: CommandContext): Promise<string> {
  if (path === '-') return readAll(context);
  try {
    return await readBounded(path);
  } catch (error) {
    if (error instanceof FileTooLarge)
      throw usageError(`${flag}: ${path} has more than ${MAX_FILE_BYTES} bytes.`, 'Give a smaller file.');
    throw usageError(
      `${flag}: cannot read ${path} (${(error as NodeJS.ErrnoException).code}).`,
      'Give the path of a file that can be read, or - for stdin.',
    );
  }
}

/** Ways to give a secret, including those that leave no trace. */
export interface SecretWays {
  /** For example `--secret`; `--secret-file` reads a file, `-` stdin. */
  readonly flag: string;
  readonly env?: string;
  /** Prompt at a terminal; if left out, undefined is returned when no way was used. */
  readonly question?: string;
}

/**
 * Returns a secret by option, file, environment or prompt without echo, in this order. Rejects with a usage error if
 * the file cannot be read or stdin has ended.
 */
export async function secretOf(
  options: OptionValues,
  context: CommandContext,
  { flag, env, question }: SecretWays,
): Promise<Secret | undefined> {
  const given = textOption(options, flag);
  if (given !== undefined) return new Secret(given);
  const path = textOption(options, `${flag}-file`);
  if (path !== undefined) return readSecretFile(path, `${flag}-file`, context);
  const fromEnv = env === undefined ? undefined : context.env[env];
  if (fromEnv) return new Secret(fromEnv);
  if (question === undefined) return undefined;
  return new Secret(await ask(context, question, { hidden: true, instead: `${flag}-file` }));
}
