import { describe, expect, test } from 'vitest';
import { NOW } from '../../../../test/builders/observed-group.ts';
import { defaultTimes } from '../times.ts';
import {
  type Arrived,
  EMPTY_LOAD,
  type LoadRecord,
  type LoadState,
  LoadStore,
  loadOver,
  notAhead,
  onlyReporters,
  withProblem,
  withReport,
} from './state.ts';

const SECOND = 1000;
const times = defaultTimes;

function record(arrived: Arrived, overrides: Partial<LoadRecord> = {}): LoadRecord {
  return {
    ...{
      arrived,
      currentLoad: 0,
      waitingLoad: undefined,
      maxPerf: undefined,
      inFlight: undefined,
      error: '',
    },
    ...overrides,
  };
}
const amount = (newLoad: number, rejectedLoad = 0): Arrived => ({ type: 'amount', newLoad, rejectedLoad });
const counters = (series: Readonly<Record<string, number>>): Arrived => ({
  type: 'counter',
  series: new Map(Object.entries(series)),
});
const counter = (newLoad: number, rejectedLoad = 0): Arrived => counters({ newLoad, rejectedLoad });
const rate = (load: number): Arrived => ({ type: 'rate', load });

/** Reports of one worker at intervals of ten seconds, the last one now. */
const received = (...arrived: readonly Arrived[]): LoadState =>
  arrived.reduce<LoadState>(
    (loadState, one, index) =>
      withReport(loadState, {
        ...{ reporter: 'w', record: record(one), times },
        at: NOW - (arrived.length - 1 - index) * 10 * SECOND,
      }),
    EMPTY_LOAD,
  );

describe('the load of the last ten seconds', () => {
  test.each<[string, readonly Arrived[], number]>([
    ['is 0 for a first amount, which is a base', [amount(500)], 0],
    ['is new and rejected work', [amount(0), amount(300, 200)], 50],
    ['is 0 for a first counter', [counter(90_000)], 0],
    ['is the rise of counters', [counter(1000, 100), counter(1300, 300)], 50],
    ['is 0 when counters did not rise', [counter(1000), counter(1000)], 0],
    ['is the value of a counter that was reset', [counter(1000, 1000), counter(400, 100)], 50],
    [
      'is the rise of the other counters when one is missing',
      [counters({ a: 9e6, b: 1000 }), counters({ a: 9e6 + 500 })],
      50,
    ],
    [
      'is the rise of a counter that returns',
      [counters({ a: 9e6, b: 1000 }), counters({ a: 9e6 }), counters({ a: 9e6, b: 1500 })],
      50,
    ],
    ['is the value of a new counter', [counters({ a: 9e6 }), counters({ a: 9e6, b: 500 })], 50],
    [
      'is the value of a reset counter beside others',
      [counters({ a: 9e6, b: 1000 }), counters({ a: 9e6, b: 500 })],
      50,
    ],
    ['is 0 for a counter after amounts, which are no base for it', [amount(0), counter(90_000)], 0],
    ['is an amount after a counter', [counter(90_000), amount(500)], 50],
    ['is the first rate', [rate(50)], 50],
    ['is a rate over the time since the last report', [rate(0), rate(50)], 50],
  ])('%s', (_, arrived, load) => {
    const loadState = received(...arrived);
    expect(loadOver(loadState.history, NOW, 10 * SECOND)).toBe(load);
    expect(loadState.reporters.get('w')?.rate).toBe(load);
    expect(loadState.lastActivity).toBe(load > 0 ? NOW : undefined);
  });
});

describe('a report', () => {
  const first = received(amount(0));
  const report = (at: number, more: Partial<LoadRecord> = {}) =>
    withReport(first, { reporter: 'w', record: record(amount(500), more), at, times });

  test('at the same time as the last is ignored', () => {
    expect(report(NOW)).toBe(first);
  });

  test('from before the last, after the clock went back, is only a base', () => {
    const loadState = report(NOW - 5 * SECOND);
    expect(loadState.reporters.get('w')).toMatchObject({ at: NOW - 5 * SECOND, rate: 0 });
    expect(loadOver(loadState.history, NOW, 60 * SECOND)).toBe(0);
  });

  test.each<[string, Partial<LoadRecord>]>([
    ['work in the worker', { currentLoad: 1 }],
    ['waiting work', { waitingLoad: 1 }],
  ])('is activity by %s', (_, more) => {
    const idle = record(amount(0), more);
    const loadState = withReport(first, { reporter: 'w', record: idle, at: NOW + SECOND, times });
    expect(loadState.lastActivity).toBe(NOW + SECOND);
  });

  test('without work moves activity from the future back to its time', () => {
    const ahead = { ...first, lastActivity: NOW + 3600 * SECOND };
    const loadState = withReport(ahead, {
      reporter: 'w',
      record: record(amount(0)),
      at: NOW + SECOND,
      times,
    });
    expect(loadState.lastActivity).toBe(NOW + SECOND);
  });

  test('ends the problem of its reporter only', () => {
    const problem = { kind: 'unreachable', detail: 'refused', at: NOW } as const;
    const failing = withProblem(withProblem(first, 'w', problem), 'other', problem);
    const after = withReport(failing, { reporter: 'w', record: record(amount(0)), at: NOW + SECOND, times });
    expect([...after.problems.keys()]).toEqual(['other']);
    expect([...failing.problems.keys()]).toEqual(['w', 'other']);
  });
});

describe('reporters that no longer exist', () => {
  const problem = { kind: 'invalid', detail: 'negative', at: NOW } as const;
  const both = withReport(received(amount(0), amount(500)), {
    ...{ reporter: 'v', record: record(amount(0)), at: NOW, times },
  });
  const loadState = withProblem(withProblem(both, 'w', problem), 'v', problem);

  test('are forgotten without their arrivals', () => {
    const left = onlyReporters(loadState, new Set(['v']));
    expect([...left.reporters.keys()]).toEqual(['v']);
    expect([...left.problems.keys()]).toEqual(['v']);
    expect(left.history).toBe(loadState.history);
    expect(left.lastActivity).toBe(NOW);
  });

  test('are none when all exist', () => {
    const left = onlyReporters(loadState, new Set(['v', 'w', 'x']));
    expect(left.reporters).toBe(loadState.reporters);
    expect(left.problems).toBe(loadState.problems);
  });
});

describe('a clock that went back', () => {
  test('leaves no report in the future, so that a silent reporter is missing in time', () => {
    const ahead = withReport(received(amount(0), amount(500)), {
      ...{ reporter: 'v', record: record(amount(0)), at: NOW - 3600 * SECOND, times },
    });
    const now = NOW - 1800 * SECOND;
    const loadState = notAhead(ahead, now, times);
    expect([...loadState.reporters].map(([name, { at, rate }]) => [name, at, rate])).toEqual([
      ['w', now - 10 * SECOND, 50],
      ['v', NOW - 3600 * SECOND, 0],
    ]);
    expect(notAhead(loadState, now, times)).toBe(loadState);
    const later = withReport(loadState, {
      reporter: 'w',
      record: record(amount(500)),
      at: now + SECOND,
      times,
    });
    expect(later.reporters.get('w')?.rate).toBeCloseTo(500 / 11);
  });
});

describe('the load store of a process', () => {
  test('keeps separate states for groups, and forgets them with the group', () => {
    const store = new LoadStore();
    const problem = { kind: 'invalid', detail: 'negative', at: NOW } as const;
    store.problem('a', 'w', problem);
    store.report('b', { reporter: 'w', record: record(rate(50)), at: NOW, times });
    expect([store.get('a').problems.size, store.get('b').problems.size]).toEqual([1, 0]);
    expect([store.get('a').reporters.size, store.get('b').reporters.size]).toEqual([0, 1]);
    store.forget('b');
    expect(store.get('b')).toEqual(EMPTY_LOAD);
  });

  test('starts with the maxima of the status', () => {
    const store = new LoadStore();
    expect(store.has('a')).toBe(false);
    store.open('a', [{ at: NOW, load: 7 }]);
    expect(store.has('a')).toBe(true);
    expect(store.get('a')).toEqual({
      ...EMPTY_LOAD,
      history: { ...EMPTY_LOAD.history, maxima: [{ at: NOW, load: 7 }] },
    });
  });

  test('keeps reports from before it was opened', () => {
    const store = new LoadStore();
    store.report('a', { reporter: 'w', record: record(amount(0)), at: NOW - SECOND, times });
    store.open('a', [{ at: NOW - 60 * SECOND, load: 7 }]);
    store.report('a', { reporter: 'w', record: record(amount(50)), at: NOW, times });
    expect(store.get('a').reporters.get('w')?.rate).toBe(50);
    expect(Math.max(...store.get('a').history.maxima.map(({ load }) => load))).toBe(50);
    expect(store.get('a').history.maxima).toContainEqual({ at: NOW - 60 * SECOND, load: 7 });
  });

  test('keeps a state and the last activity', () => {
    const store = new LoadStore();
    store.put('a', received(amount(0), amount(500)));
    store.active('a', NOW + SECOND);
    expect(store.get('a')).toMatchObject({ lastActivity: NOW + SECOND, reporters: { size: 1 } });
    store.active('a', NOW - SECOND);
    expect(store.get('a').lastActivity).toBe(NOW + SECOND);
    store.active('b', NOW);
    expect(store.get('b').lastActivity).toBe(NOW);
  });
});
