import { randomUUID } from 'node:crypto';
import { rename, rm, writeFile } from 'node:fs/promises';

/**
 * Replaces a file at once, so that a program that reads it meanwhile sees the old text or the new one. The text is first
 * written to a file of its own beside it, which is created exclusively: a link that somebody else has put there is never
 * followed. Rejects with the error of the file system, and leaves nothing beside the file.
 */
export async function replaceFile(path: string, text: string, mode: number): Promise<void> {
  const next = `${path}.${randomUUID()}.new`;
  try {
    await writeFile(next, text, { mode, flag: 'wx' });
    await rename(next, path);
  } catch (error) {
    await rm(next, { force: true });
    throw error;
  }
}
