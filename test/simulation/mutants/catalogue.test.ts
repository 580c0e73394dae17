import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readReplays } from '../replays.ts';
import { STORIES } from '../stories/stories.ts';
import { MUTANTS } from './catalogue.ts';
import { readKnownKills } from './known-kills.ts';
import { patchesOf } from './mutant.ts';
import { reportOf } from './report.ts';
import { mutated } from './workspace.ts';

const KNOWN = readKnownKills();
const SOURCES = join(import.meta.dirname, '..', '..', '..', 'src');

test('there are at least forty mutants, each with a name of its own', () => {
  expect(MUTANTS.length).toBeGreaterThanOrEqual(40);
  expect(new Set(MUTANTS.map(({ name }) => name)).size).toBe(MUTANTS.length);
});

test.for(MUTANTS)('$name still fits its source', (mutant) => {
  for (const patch of patchesOf(mutant)) {
    const source = readFileSync(join(SOURCES, patch.file), 'utf8');
    expect(mutated(source, patch)).not.toBe(source);
  }
});

test.for(readReplays())('what replays $name without its mending still fits its source', ({ without }) => {
  const source = readFileSync(join(SOURCES, without.file), 'utf8');
  expect(mutated(source, without)).not.toBe(source);
});

test('the page of mutants says what is known to kill each', () => {
  const page = readFileSync(join(SOURCES, '..', 'test', 'evidence', 'mutants.md'), 'utf8');
  expect(page).toBe(reportOf(MUTANTS, KNOWN));
});

test.for(MUTANTS)(
  '$name turns a unit test red, and the simulation unless it says why not',
  ({ name, unseen }) => {
    const { simulation, test: failing } = KNOWN.get(name) ?? {};
    expect(failing).toBeDefined();
    expect(simulation === undefined).toBe(unseen !== undefined);
  },
);

test('what killed a mutant belongs to one that there is', () => {
  const names = new Set(MUTANTS.map(({ name }) => name));
  expect([...KNOWN.keys()].filter((name) => !names.has(name))).toEqual([]);
});

test('what killed a mutant is a story or a test file that there is', () => {
  const stories = new Set(STORIES.map(({ name }) => name));
  const gone = [...KNOWN].flatMap(([mutant, { simulation, test: failing }]) => {
    const finding = simulation?.finding;
    const isPlayed = finding?.type !== 'story' || stories.has(finding.name);
    const isRun = failing === undefined || existsSync(join(SOURCES, '..', failing.file));
    return isPlayed && isRun ? [] : [mutant];
  });
  expect(gone).toEqual([]);
});
