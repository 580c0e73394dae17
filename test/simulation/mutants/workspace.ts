import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Mutant, type Patch, patchesOf } from './mutant.ts';

const REPOSITORY = join(import.meta.dirname, '..', '..', '..');
const COPIED = [
  'src',
  'crds',
  'proto/gen',
  'test/simulation',
  'test/endpoint-group',
  'test/builders',
  'test/golden/decisions',
  'test/status-contract/contract.ts',
  'package.json',
  'tsconfig.json',
  'vitest.config.ts',
];

/** A copy of the sources in a temporary folder, in which one mutant at a time lives. */
export class Workspace {
  readonly folder: string;

  /** `more`: folders to copy beside those that every mutant needs. */
  constructor(more: readonly string[] = []) {
    this.folder = mkdtempSync(join(tmpdir(), 'gpu-rental-mutants-'));
    mkdirSync(join(this.folder, 'test', 'golden'), { recursive: true });
    for (const path of [...COPIED, ...more]) {
      cpSync(join(REPOSITORY, path), join(this.folder, path), { recursive: true });
    }
    symlinkSync(join(REPOSITORY, 'node_modules'), join(this.folder, 'node_modules'));
  }

  /** Puts the mutant in; the answer takes it out again. */
  apply(mutant: Mutant): () => void {
    const taken = patchesOf(mutant).map((patch) => {
      const path = join(this.folder, 'src', patch.file);
      const source = readFileSync(path, 'utf8');
      writeFileSync(path, mutated(source, patch));
      return { path, source };
    });
    return () => {
      // Several of one file are taken out from the last to the first.
      for (const { path, source } of taken.toReversed()) writeFileSync(path, source);
    };
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** Returns the patched source; throws if it does not contain the text exactly once. */
export function mutated(source: string, { file, find, replace }: Patch): string {
  const parts = source.split(find);
  if (parts.length !== 2) {
    throw new Error(`"${find}" stands ${parts.length - 1} times in src/${file}; write the mutant anew`);
  }
  return parts.join(replace);
}
