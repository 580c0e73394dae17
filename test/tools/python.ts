import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const execute = promisify(execFile);

/** A Python that has those packages, or why there is none, for a person. */
export type Python = { readonly path: string } | { readonly missing: string };

/** The official client of the OpenAI API. */
export const PYPI_OPENAI = 'openai==3.57.0';

const INSTALL_MS = 10 * 60_000;

/**
 * Returns a virtual environment in the user's cache with exactly these PyPI packages (`name==version`), created by
 * pip at first use. Never rejects.
 */
export async function pythonWith(packages: readonly string[]): Promise<Python> {
  const cache = process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache');
  const hash = createHash('sha256').update(packages.join()).digest('hex').slice(0, 12);
  const folder = join(cache, 'gpu-rental-operator', `python-${hash}`);
  const path = join(folder, 'bin', 'python');
  if (existsSync(path)) return { path };
  const partial = `${folder}.${process.pid}`;
  try {
    await mkdir(partial, { recursive: true });
    await execute('python3', ['-m', 'venv', partial]);
    const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', ...packages];
    await execute(join(partial, 'bin', 'python'), pip, { timeout: INSTALL_MS });
    // It appears in one step, so where it is, it is whole: `bin/python` may be moved, scripts beside it may not.
    await rename(partial, folder);
    return { path };
  } catch (error) {
    await rm(partial, { recursive: true, force: true });
    if (existsSync(path)) return { path };
    const why = error instanceof Error ? (error.message.trim().split('\n').at(-1) ?? '') : String(error);
    return { missing: `needs python3 with venv and pip, and ${packages.join(' ')} from PyPI: ${why}` };
  }
}

/** Runs it and resolves to what it printed last, as JSON. Rejects with what it wrote to stderr if it fails. */
export async function printedBy(
  path: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<unknown> {
  const { stdout } = await execute(path, [...args], { env: { ...process.env, ...env } });
  return JSON.parse(stdout.trim().split('\n').at(-1) ?? '');
}
