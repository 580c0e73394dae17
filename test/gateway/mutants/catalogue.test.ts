import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { patchesOf } from '../../simulation/mutants/mutant.ts';
import { mutated } from '../../simulation/mutants/workspace.ts';
import { BOUND_MUTANTS } from './catalogue.ts';
import { readKills } from './kills.ts';
import { reportOf } from './report.ts';

const ROOT = join(import.meta.dirname, '..', '..', '..');
const KNOWN = readKills();

test.for(BOUND_MUTANTS)('$name still fits its source', (mutant) => {
  for (const patch of patchesOf(mutant)) {
    const source = readFileSync(join(ROOT, 'src', patch.file), 'utf8');
    expect(mutated(source, patch)).not.toBe(source);
  }
});

test.for(BOUND_MUTANTS)('$name turns a unit test red, and the test with Envoy that it names', (mutant) => {
  const { unit, envoy } = KNOWN.get(mutant.name) ?? {};
  expect(unit).toBeDefined();
  expect(envoy !== undefined).toBe(mutant.envoy !== undefined);
});

test('the page of mutants of the bounds says what kills each', () => {
  const page = readFileSync(join(ROOT, 'test', 'evidence', 'gateway-mutants.md'), 'utf8');
  expect(page).toBe(reportOf(BOUND_MUTANTS, KNOWN));
});

test('what killed a mutant belongs to one that there is, and is a test that there is', () => {
  const names = new Set(BOUND_MUTANTS.map(({ name }) => name));
  const gone = [...KNOWN].filter(([name, { unit, envoy }]) => {
    const tests = [unit, envoy].flatMap((one) => one ?? []);
    return !names.has(name) || tests.some(({ file }) => !existsSync(join(ROOT, file)));
  });
  expect(gone).toEqual([]);
});
