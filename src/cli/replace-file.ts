import { randomUUID } from 'node:crypto';
import { rename, rm, writeFile } from 'node:fs/promises';

/**
 * Replaces a file atomically: a concurrent reader sees the old text or the new one. The text is first written to a
 * new file in the same folder. The file is created exclusively, so that a foreign link is never followed. Rejects
 * with the error of the file system, and leaves no temporary file.
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
