import { mkdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';

/**
 * Makes a folder and those above it that are missing. `mkdir` with `recursive` never comes back where a folder that
 * is there answers ENOENT to a new one, as those of an automounter and `/proc` do.
 */
export async function makeFolder(path: string, mode = 0o777): Promise<void> {
  const refusal = await refusalOf(path, mode);
  if (refusal === undefined) return;
  const above = dirname(path);
  if (refusal.code !== 'ENOENT' || above === path) throw refusal;
  await makeFolder(above, mode);
  const second = await refusalOf(path, mode);
  if (second) throw second;
}

/** Why the folder cannot be made; undefined where it is there now. */
async function refusalOf(path: string, mode: number): Promise<NodeJS.ErrnoException | undefined> {
  try {
    await mkdir(path, { mode });
    return undefined;
  } catch (error) {
    const there = await stat(path).catch(() => undefined);
    return there?.isDirectory() ? undefined : (error as NodeJS.ErrnoException);
  }
}
