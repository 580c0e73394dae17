import { expect, test } from 'vitest';
import { chartValues } from '../../scripts/generate/chart/chart-values.ts';
import { valuePaths, valuesWithCases } from './chart-cases.ts';

test('every value of the chart has a case of helm-unittest, and no case sets one that is none', () => {
  const paths = valuePaths(chartValues);
  const tried = valuesWithCases();
  expect(paths.filter((path) => !tried.has(path))).toEqual([]);
  const known = (path: string) =>
    paths.some((one) => one === path || path.startsWith(`${one}.`) || one.startsWith(`${path}.`));
  expect([...tried].filter((path) => !known(path))).toEqual([]);
});
