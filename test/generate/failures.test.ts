import { expect, test } from 'vitest';
import { gapsIn, shownScenarios } from '../../scripts/generate/failures/failures-page.ts';

test('each failure scenario is shown by a test or says why there is none', () => {
  expect(gapsIn(shownScenarios())).toEqual([]);
});

test('what lacks a test, has a reason too many or a number of no scenario is named', () => {
  const row = { happens: 'a', must: 'b' };
  const scenarios = [
    { ...row, number: 1 },
    { ...row, number: 2 },
    { ...row, number: 3, notShown: 'c' },
    { ...row, number: 4, notShown: 'c' },
  ];
  const shown = new Map([1, 4, 9].map((number) => [number, []]));
  expect(gapsIn(shown, scenarios)).toEqual([
    'a test names scenario 9, which there is not',
    'scenario 2 has neither a test nor a reason why there is none',
    'scenario 4 is shown by a test: take its reason away',
  ]);
});
