import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { groupsIn } from './groups.ts';
import { MIN_PERCENT, pageOf, percentOf, type Score } from './score.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const scores = JSON.parse(readFileSync(join(import.meta.dirname, 'scores.json'), 'utf8')) as readonly Score[];

describe('the mutation score', () => {
  test('is known of every file that decides about money, and of no other', () => {
    const files = groupsIn(ROOT).flatMap((group) => group.files);
    const measure = '`npx node test/mutation/main.ts` measures it, in some three minutes';
    expect(
      scores.map(({ file }) => file),
      measure,
    ).toEqual(files);
  });

  test.for(scores)('of $file is high enough', (score) => {
    expect(percentOf(score)).toBeGreaterThanOrEqual(MIN_PERCENT);
  });

  test('is on the page as it was measured', () => {
    expect(readFileSync(join(ROOT, 'test', 'evidence', 'mutation-score.md'), 'utf8')).toBe(pageOf(scores));
  });

  test.each([
    [{ killed: 9, survived: 1, uncovered: 0 }, 90],
    [{ killed: 899, survived: 100, uncovered: 1 }, 89.9],
    [{ killed: 8999, survived: 0, uncovered: 1001 }, 89.9],
    [{ killed: 0, survived: 0, uncovered: 0 }, 100],
  ])('of %o is %d', (counts, percent) => {
    expect(percentOf({ file: 'f', ...counts })).toBe(percent);
  });
});
