/**
 * `node scripts/lint/words-left.ts` removes from `words-left.json` what its folders no longer use. It adds nothing:
 * a new use is renamed.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { WordsLeft } from './vocabulary.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const FILE = join(import.meta.dirname, 'words-left.json');

type WordsOfFolders = Readonly<Record<string, WordsLeft>>;

export function readWordsLeft(): WordsOfFolders {
  return JSON.parse(readFileSync(FILE, 'utf8'));
}

/** What each folder uses of the refused words now. */
export function wordsInUse(): WordsOfFolders {
  const report: { diagnostics: readonly { filename: string; message: string }[] } = JSON.parse(lint());
  const folders = new Map<string, { names: Set<string>; titles: Set<string> }>();
  for (const { filename, message } of report.diagnostics) {
    const [, word, where] = /^"(\w+)" in a (name|title):/.exec(message) ?? [];
    if (word === undefined) throw new Error(`not of this rule: ${message}`);
    const folder = folderOf(filename);
    const words = folders.get(folder) ?? { names: new Set(), titles: new Set() };
    folders.set(folder, words);
    (where === 'name' ? words.names : words.titles).add(word);
  }
  return Object.fromEntries(
    [...folders]
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([folder, { names, titles }]) => [
        folder,
        { names: [...names].sort(), titles: [...titles].sort() },
      ]),
  );
}

function lint(): string {
  const command = [join(ROOT, 'node_modules', '.bin', 'oxlint'), '-c', 'scripts/lint/every-word.config.ts'];
  try {
    const stdio: ['ignore', 'pipe', 'inherit'] = ['ignore', 'pipe', 'inherit'];
    const options = { cwd: ROOT, encoding: 'utf8' as const, stdio, maxBuffer: 64 * 1024 * 1024 };
    return execFileSync(command[0] ?? '', [...command.slice(1), '--format=json', 'src', 'test'], options);
  } catch (error) {
    // oxlint exits 1 when it finds something, and prints it all the same.
    const { stdout } = error as { stdout?: string };
    if (stdout?.startsWith('{')) return stdout;
    throw error;
  }
}

function folderOf(file: string): string {
  const parts = file.split('/');
  return parts.slice(0, parts[1] === 'controllers' ? 3 : 2).join('/');
}

if (import.meta.main) {
  const used = wordsInUse();
  const left = Object.entries(readWordsLeft()).flatMap(([folder, { names, titles }]) => {
    const now = used[folder];
    const still = {
      names: names.filter((word) => now?.names.includes(word)),
      titles: titles.filter((word) => now?.titles.includes(word)),
    };
    return still.names.length + still.titles.length === 0 ? [] : [[folder, still] as const];
  });
  writeFileSync(FILE, `${JSON.stringify(Object.fromEntries(left), null, 2)}\n`);
}
