import { mkdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';

/**
 * Creates a folder and its missing parents. `mkdir` with `recursive` never returns if an existing folder answers ENOENT
 * to a new one, as those of an automounter and `/proc` do. Rejects with the error of the file system.
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

/** Returns the reason why the folder cannot be created; undefined if it exists now. */
async function refusalOf(path: string, mode: number): Promise<NodeJS.ErrnoException | undefined> {
  try {
    await mkdir(path, { mode });
    return undefined;
  } catch (error) {
    const there = await stat(path).catch(() => undefined);
    return there?.isDirectory() ? undefined : (error as NodeJS.ErrnoException);
  }
}
