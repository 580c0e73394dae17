import { join } from 'node:path';
import { Secret } from '../../lib/secret.ts';
import type { CommandContext, OptionValues } from '../command.ts';
import { CommandError, EXIT, failed, usageError } from '../command-error.ts';
import { textOption } from '../option-values.ts';
import { readBounded, readSecretFile, warnReadable } from './secret-input.ts';

/** A key and its source. `session`: created by a login with a second factor, and removed when that ends. */
export interface FoundKey {
  readonly key: Secret;
  readonly source: string;
  readonly session: boolean;
}

interface KeyFile {
  readonly path: string;
  readonly session: boolean;
}

/** Returns the path of the session key after a login with a second factor. */
export function sessionKeyPath(env: CommandContext['env']): string {
  return join(configHome(env), 'gpu-rent', 'session_key');
}

/**
 * Looks for the key in the order of the service's public clients: options, environment, the session key of a
 * login with a second factor, the per-user files (XDG), the older file in the home folder. Rejects with a usage error
 * if there is none.
 */
export async function findApiKey(
  options: OptionValues,
  context: CommandContext,
  { skipSession = false }: { readonly skipSession?: boolean } = {},
): Promise<FoundKey> {
  const key = await searchApiKey(options, context, skipSession);
  if (key) return key;
  throw new CommandError('No API key was found.', {
    exitCode: EXIT.usage,
    remedy: `Set GPU_RENT_API_KEY, write the key to ${ordinaryKeyPath(context.env)}, or give --api-key-file.`,
  });
}

/** Searches for a key; undefined if there is none. Rejects with a usage error if a named file cannot be read. */
export async function searchApiKey(
  options: OptionValues,
  context: CommandContext,
  skipSession = false,
): Promise<FoundKey | undefined> {
  return (
    (await fromOptions(options, context)) ??
    fromEnvironment(context.env) ??
    (await fromFiles(context, skipSession))
  );
}

function ordinaryKeyPath(env: CommandContext['env']): string {
  return join(configHome(env), 'gpu-rent', 'api_key');
}

function configHome(env: CommandContext['env']): string {
  return env.XDG_CONFIG_HOME || join(env.HOME ?? '/', '.config');
}

async function fromOptions(options: OptionValues, context: CommandContext): Promise<FoundKey | undefined> {
  const key = textOption(options, '--api-key');
  if (key !== undefined) return found(key, '--api-key');
  const path = textOption(options, '--api-key-file');
  if (path === undefined) return undefined;
  return found((await readSecretFile(path, '--api-key-file', context)).reveal(), path);
}

function fromEnvironment(env: CommandContext['env']): FoundKey | undefined {
  for (const name of ['GPU_RENT_API_KEY', 'VAST_API_KEY']) {
    const value = env[name];
    if (value) return found(value, name);
  }
  return undefined;
}

async function fromFiles(context: CommandContext, skipSession: boolean): Promise<FoundKey | undefined> {
  const { env } = context;
  const shared = join(configHome(env), 'vastai');
  const files: readonly KeyFile[] = [
    { path: sessionKeyPath(env), session: true },
    { path: join(shared, 'vast_tfa_key'), session: true },
    { path: ordinaryKeyPath(env), session: false },
    { path: join(shared, 'vast_api_key'), session: false },
    { path: join(env.HOME ?? '/', '.vast_api_key'), session: false },
  ];
  for (const { path, session } of files) {
    if (session && skipSession) continue;
    const text = await readIfThere(path);
    if (!text?.trim()) continue;
    await warnReadable(path, 'key', context);
    return found(text, path, session);
  }
  return undefined;
}

async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await readBounded(path);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw failed(`Cannot read ${path} (${code}).`, 'Make it readable, or give --api-key-file.', error);
  }
}

function found(text: string, source: string, session = false): FoundKey {
  const key = text.trim();
  if (/^[\x21-\x7e]{1,4096}$/.test(key)) return { key: new Secret(key), source, session };
  throw usageError(
    `The API key from ${source} is empty or holds spaces or other characters that no key has.`,
  );
}
