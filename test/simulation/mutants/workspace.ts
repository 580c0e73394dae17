import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Mutant } from './mutant.ts';

const REPOSITORY = join(import.meta.dirname, '..', '..', '..');
const COPIED = [
  'src',
  'crds',
  'test/simulation',
  'test/builders',
  'test/golden/decisions',
  'package.json',
  'tsconfig.json',
  'vitest.config.ts',
];

/** A copy of the sources in a temporary folder, in which one mutant at a time lives. */
export class Workspace {
  readonly folder: string;

  constructor() {
    this.folder = mkdtempSync(join(tmpdir(), 'gpu-rental-mutants-'));
    mkdirSync(join(this.folder, 'test', 'golden'), { recursive: true });
    for (const path of COPIED) {
      cpSync(join(REPOSITORY, path), join(this.folder, path), { recursive: true });
    }
    symlinkSync(join(REPOSITORY, 'node_modules'), join(this.folder, 'node_modules'));
  }

  /** Puts the mutant in; the answer takes it out again. */
  apply(mutant: Mutant): () => void {
    const path = join(this.folder, 'src', mutant.file);
    const source = readFileSync(path, 'utf8');
    writeFileSync(path, mutated(source, mutant));
    return () => writeFileSync(path, source);
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** The source with the mutant in it; throws where its text does not stand there exactly once. */
export function mutated(source: string, { name, file, find, replace }: Mutant): string {
  const parts = source.split(find);
  if (parts.length !== 2) {
    throw new Error(`${name}: its text stands ${parts.length - 1} times in src/${file}; write it anew`);
  }
  return parts.join(replace);
}
