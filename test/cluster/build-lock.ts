import { mkdirSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

const BEAT_MS = 2_000;
/** Age after which an untouched lock belongs to a process that has ended. */
const STALE_MS = 20_000;

function take(path: string): boolean {
  try {
    writeFileSync(path, `${process.pid}\n`, { flag: 'wx' });
    return true;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false;
    throw error;
  }
}

function isStale(path: string): boolean {
  const found = statSync(path, { throwIfNoEntry: false });
  return found !== undefined && Date.now() - found.mtimeMs > STALE_MS;
}

function beat(path: string): NodeJS.Timeout {
  const touch = () => {
    try {
      utimesSync(path, new Date(), new Date());
    } catch {
      // Somebody thought it stale and took it: two builds at once cost time and nothing else.
    }
  };
  return setInterval(touch, BEAT_MS);
}

/**
 * Runs the work while no other process of this user does. The lock saves a second build and guards no data: whatever
 * is built has to appear in one step.
 */
export async function withBuildLock<Result>(
  path: string,
  onWait: () => void,
  work: () => Promise<Result>,
): Promise<Result> {
  mkdirSync(dirname(path), { recursive: true });
  while (!take(path)) {
    if (isStale(path)) rmSync(path, { force: true });
    else {
      onWait();
      await new Promise((resolve) => setTimeout(resolve, 500));
    }
  }
  const heart = beat(path);
  const release = () => rmSync(path, { force: true });
  process.once('exit', release);
  try {
    return await work();
  } finally {
    clearInterval(heart);
    process.off('exit', release);
    release();
  }
}
