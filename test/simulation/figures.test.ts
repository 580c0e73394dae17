import { describe, expect, test } from 'vitest';
import { Figures } from './figures.ts';

const none = { covered: 0, total: 0 };

function wasting(seconds: number, contracts: number, isMassive = false): Figures {
  const figures = new Figures();
  const wastedSeconds = Array.from({ length: contracts }, () => seconds);
  const played = { mode: 'sweeperOff', violations: 0, virtualSeconds: 1200, traceHash: 'x' } as const;
  figures.add({ ...played, wastedSeconds, isMassive });
  return figures;
}

describe('a run that was not cut short', () => {
  test.for([
    ['nothing, where it has no points to strike', none, none, []],
    ['nothing, where all single points and most pairs were struck', [901, 901], [96, 100], []],
    ['a single point', [900, 901], [100, 100], ['Only 900 of 901 single points were struck']],
    ['pairs', [901, 901], [94, 100], ['Only 94 of 100 pairs were struck; 95 % are owed']],
  ] as const)('misses %s', ([, singles, pairs, expected]) => {
    const figures = new Figures();
    const share = (of: readonly number[] | typeof none) =>
      'covered' in of ? of : { covered: of[0] ?? 0, total: of[1] ?? 0 };
    figures.coverage = { singles: share(singles), pairs: share(pairs) };
    expect(figures.missed()).toEqual(expected.map((text) => expect.stringContaining(text)));
  });

  test.for([
    ['is judged by much waste', 61, 5000, 1],
    ['not by little', 60, 5000, 0],
    ['nor by a few contracts', 500, 4999, 0],
  ] as const)('%s', ([, seconds, contracts, expected]) => {
    expect(wasting(seconds, contracts).missed()).toHaveLength(expected);
  });

  test('is not judged by schedules in which many machines go at once', () => {
    expect(wasting(61, 5000, true).missed()).toEqual([]);
  });
});

test('figures of a run name what was struck of both kinds together', () => {
  const figures = new Figures();
  figures.coverage = { singles: { covered: 2, total: 3 }, pairs: { covered: 5, total: 7 } };
  expect(figures.summary()).toMatchObject({ pairsCovered: 7, pairsTotal: 10 });
});

test('figures of a run count the faults of each kind that struck', () => {
  const figures = new Figures();
  const finished = {
    mode: 'all',
    violations: 0,
    wastedSeconds: [],
    virtualSeconds: 1,
    traceHash: '',
  } as const;
  figures.add({ ...finished, faultKinds: ['outage', 'late'] });
  figures.add({ ...finished, faultKinds: ['late'] });
  figures.add(finished);
  expect(figures.summary().faults).toEqual({ late: 2, outage: 1 });
});

test('figures of a run count the machines that ended themselves, where a mode has such machines', () => {
  const figures = new Figures();
  const finished = {
    mode: 'all',
    violations: 0,
    wastedSeconds: [],
    virtualSeconds: 1,
    traceHash: '',
  } as const;
  figures.add(finished);
  expect(figures.summary()).not.toHaveProperty('selfEnds');
  figures.add({ ...finished, selfEnds: { ended: 2, falseKills: 0, renewals: 7 } });
  figures.add({ ...finished, selfEnds: { ended: 1, falseKills: 1, renewals: 0 } });
  expect(figures.summary().selfEnds).toEqual({ ended: 3, falseKills: 1, renewals: 7 });
});
