import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { REPOSITORY } from '../../scripts/generate/artifact.ts';
import { catalog } from '../../src/cli/catalog.ts';
import { parsedLine } from '../cli/parsed-line.ts';
import { shownCommands } from './code-blocks.ts';

const names = new Set(
  catalog.flatMap(({ entries }) => entries.flatMap(({ name, aliases = [] }) => [name, ...aliases])),
);
/** The pages of the commands are generated from the catalogue. */
const PAGES = globSync(['*.md', 'docs/**/*.md', 'charts/*/README.md'], { cwd: REPOSITORY }).filter(
  (page) => !page.startsWith('docs/reference/commands'),
);

/**
 * Returns the words after `gpu-rent` in commands that a page shows: at the start of a line in code, or in backticks.
 */
function commandsIn(page: string): readonly string[] {
  const text = readFileSync(join(REPOSITORY, page), 'utf8');
  const shown = text.matchAll(/(?:^\$? ?|`)(?:kubectl )?gpu-rent ([a-z][a-z-]*(?: [a-z][a-z-]*)?)/gm);
  return [...shown].map(([, words = '']) => words);
}

const isKnown = (words: string): boolean => names.has(words) || names.has(words.split(' ')[0] ?? '');

test('the reference has one section for each command of the catalogue', () => {
  const pages = globSync('docs/reference/commands*.md', { cwd: REPOSITORY });
  const sections = pages.flatMap((page) =>
    [...readFileSync(join(REPOSITORY, page), 'utf8').matchAll(/^### (.+)$/gm)].map(([, name]) => name),
  );
  const commands = catalog.flatMap(({ entries }) => entries.map(({ name }) => name));
  expect(pages).toHaveLength(2);
  expect(sections.toSorted()).toEqual(commands.toSorted());
});

test('every command of gpu-rent that a page shows is one', () => {
  expect(PAGES.flatMap(commandsIn).length).toBeGreaterThan(50);
  const unknown = PAGES.flatMap((page) =>
    commandsIn(page)
      .filter((words) => !isKnown(words))
      .map((words) => `${page}: gpu-rent ${words}`),
  );
  expect(unknown).toEqual([]);
});

const shown = PAGES.flatMap((page) =>
  [...shownCommands(page, 'gpu-rent'), ...shownCommands(page, 'kubectl gpu-rent')].map((line) => ({
    page,
    line,
  })),
);
/**
 * Returns true for a command that is only mentioned: a command or group without arguments, or a placeholder for
 * others.
 */
const isMention = (line: string) =>
  /^(kubectl )?gpu-rent( [a-z-]+)*( --[a-z-]+)?$/.test(line) || /[<…]|\.\.\./.test(line);

test.each(shown.filter(({ line }) => !isMention(line)))(
  'F7: $page: its own parser takes $line',
  async ({ line }) => {
    const { code, shown: printed } = await parsedLine(line.replaceAll(/\[[^\]]*\]/g, ''));
    expect({ code, shown: printed }).toEqual({ code: 0, shown: '' });
  },
);
