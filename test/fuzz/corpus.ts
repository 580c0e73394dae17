import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const FOLDER = join(import.meta.dirname, 'corpus');

/** Inputs that were kept for a target: each reached code that the ones before it had not. */
export function readCorpus(target: string): readonly string[] {
  const folder = join(FOLDER, target);
  try {
    return readdirSync(folder)
      .sort()
      .map((file) => readFileSync(join(folder, file), 'utf8'));
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return [];
    throw error;
  }
}

/** Keeps an input under a name made of its content, which it gives back. */
export function keepInput(target: string, text: string): string {
  const folder = join(FOLDER, target);
  mkdirSync(folder, { recursive: true });
  const file = join(folder, `${createHash('sha256').update(text).digest('hex').slice(0, 12)}.txt`);
  writeFileSync(file, text);
  return file;
}
