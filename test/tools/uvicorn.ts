import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const VERSION = '0.54.0';

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The folder of the commands of a Python environment that has uvicorn, made once by pip and kept in the user's cache.
 * Rejects with a sentence that says what to do.
 */
export async function uvicornFolder(env: Environment = process.env): Promise<string> {
  const cache = join(env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'gpu-rental-operator');
  const folder = join(cache, `uvicorn-${VERSION}`);
  const done = join(folder, 'done');
  if (existsSync(done)) return join(folder, 'bin');
  try {
    // An environment knows its own path, so it is made in its place; whoever made half of it leaves no mark.
    await rm(folder, { recursive: true, force: true });
    await mkdir(cache, { recursive: true });
    await run('python3', ['-m', 'venv', folder]);
    await run(join(folder, 'bin/pip'), ['install', '--quiet', `uvicorn==${VERSION}`]);
    await mkdir(`${done}.partial`);
    await rename(`${done}.partial`, done);
    return join(folder, 'bin');
  } catch (cause) {
    const why = cause instanceof Error ? cause.message.split('\n')[0] : String(cause);
    throw new Error(`uvicorn ${VERSION} cannot be had (${why}): install Python 3 with venv and pip`, {
      cause,
    });
  }
}
