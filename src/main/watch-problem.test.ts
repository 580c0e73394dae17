import { expect, test } from 'vitest';
import { watchProblem } from './watch-problem.ts';

const NOW = 10_000_000;
const WELL = { lastContactAt: NOW, failure: undefined, rewoundSince: undefined };

test.each([
  ['all is well', {}, undefined],
  ['nothing was heard yet', { lastContactAt: undefined }, undefined],
  ['bookmarks are late', { lastContactAt: NOW - 599_000 }, undefined],
  ['the watch is dead', { lastContactAt: NOW - 600_000 }, /nothing for 600 s/],
  ['the API server is away', { lastContactAt: NOW - 600_000, failure: 'network' }, undefined],
  ['a replica lags', { failure: 'StaleListError', rewoundSince: NOW - 119_000 }, undefined],
  ['etcd was restored', { failure: 'StaleListError', rewoundSince: NOW - 120_000 }, /restored from a backup/],
] as const)('a restart mends what it can: %s', (_, health, problem) => {
  const found = watchProblem({ ...WELL, ...health }, NOW);
  if (problem === undefined) expect(found).toBeUndefined();
  else expect(found).toMatch(problem);
});
