import { describe, expect, test } from 'vitest';
import { NOW, reports, worker } from '../../../../test/builders/observed-group.ts';
import { defaultTimes } from '../times.ts';
import type { Worker } from '../workers/worker.ts';
import {
  EMPTY_LOAD,
  GROUP_REPORTER,
  type LoadProblem,
  type LoadRecord,
  type LoadState,
  loadOver,
  type Reporter,
  withProblem,
} from './state.ts';
import { loadView, type ViewInput } from './view.ts';

const SECOND = 1000;
/** Returns a worker that has served for as long as a silence may last; `young` has not. */
const grown = (name: string, overrides: Partial<Worker> = {}) =>
  worker(name, { readySince: NOW - 90 * SECOND, ...overrides });
const young = (name: string) => worker(name, { readySince: NOW - 90 * SECOND + 1 });

const invalidReport: LoadProblem = { kind: 'invalid', detail: 'it is negative', at: NOW };
const failedRead: LoadProblem = { kind: 'unreachable', detail: 'refused', at: NOW };

/** Returns the state with a report of `name` of that many seconds ago. */
function told(name: string, secondsAgo: number, more: Partial<LoadRecord> = {}, rate = 0): LoadState {
  const [[key, last] = ['', undefined]] = [...reports([name], 0, more).reporters];
  if (!last) throw new Error('no report');
  const reporter: Reporter = { ...last, at: NOW - secondsAgo * SECOND, rate };
  return { ...EMPTY_LOAD, reporters: new Map([[name === GROUP_REPORTER ? name : key, reporter]]) };
}
const both = (a: LoadState, b: LoadState): LoadState => ({
  ...EMPTY_LOAD,
  reporters: new Map([...a.reporters, ...b.reporters]),
  problems: new Map([...a.problems, ...b.problems]),
});
const view = (input: Partial<ViewInput>) =>
  loadView({
    ...{ loadState: EMPTY_LOAD, workers: [], source: 'workers', hasGateway: false, everReady: true },
    ...{ now: NOW, times: defaultTimes },
    ...input,
  });

describe('figures of workers are', () => {
  const a = [grown('a')];
  const two = [grown('a'), grown('b')];
  const problem = (name: string, what: LoadProblem) => withProblem(EMPTY_LOAD, `uid-${name}/7`, what);

  test.each<[string, Partial<ViewInput>, string, LoadProblem | undefined]>([
    ['available when none are expected yet', {}, 'available', undefined],
    [
      'told when they arrived less than 90 s ago',
      { workers: a, loadState: told('a', 89.999) },
      'available',
      undefined,
    ],
    ['missing after 90 s', { workers: a, loadState: told('a', 90) }, 'missing', undefined],
    ['missing when none ever arrived', { workers: a }, 'missing', undefined],
    [
      'missing with the known reason',
      { workers: a, loadState: problem('a', failedRead) },
      'missing',
      failedRead,
    ],
    ['available while a worker is too young to report', { workers: [young('a')] }, 'available', undefined],
    ['available when one of two reports', { workers: two, loadState: told('b', 10) }, 'available', undefined],
    ['missing when neither reports', { workers: two, loadState: told('b', 90) }, 'missing', undefined],
    [
      'doubtful when one is invalid',
      { workers: two, loadState: both(told('b', 10), problem('a', invalidReport)) },
      'doubtful',
      invalidReport,
    ],
    [
      'doubtful less than 90 s after an invalid one',
      { workers: two, loadState: both(told('b', 10), problem('a', { ...invalidReport, at: NOW - 89_999 })) },
      'doubtful',
      { ...invalidReport, at: NOW - 89_999 },
    ],
    [
      'told when an invalid report is 90 s old and another worker reports',
      { workers: two, loadState: both(told('b', 10), problem('a', { ...invalidReport, at: NOW - 90_000 })) },
      'available',
      undefined,
    ],
    [
      'told when one read fails and another worker reports',
      { workers: two, loadState: both(told('b', 10), problem('a', failedRead)) },
      'available',
      undefined,
    ],
    [
      'told when a worker with role Cold is invalid',
      { workers: [grown('a', { desiredRole: 'Cold' })], loadState: problem('a', invalidReport) },
      'available',
      undefined,
    ],
    [
      'told when a worker that does not serve is invalid',
      { workers: [grown('a', { isServing: false }), young('b')], loadState: problem('a', invalidReport) },
      'available',
      undefined,
    ],
  ])('%s', (_, input, metrics, why) => {
    expect(view(input)).toMatchObject({ metrics, problem: why });
  });
});

describe('while no hot worker serves, figures are', () => {
  const away = (name: string, overrides: Partial<Worker> = {}) =>
    grown(name, { isServing: false, ...overrides });
  const ago = (seconds: number) => NOW - seconds * SECOND;

  test.each<[string, Partial<ViewInput>, string]>([
    ['doubtful while one boots', { workers: [away('a')] }, 'doubtful'],
    ['available while one still reports', { workers: [away('a')], loadState: told('a', 89) }, 'available'],
    ['doubtful 90 s after the last report', { workers: [away('a')], loadState: told('a', 90) }, 'doubtful'],
    ['available when another one serves', { workers: [away('a'), young('b')] }, 'available'],
    ['available when the boot is overdue', { workers: [away('a', { isOverdue: true })] }, 'available'],
    ['doubtful when one of two boots', { workers: [away('a', { isOverdue: true }), away('b')] }, 'doubtful'],
    ['available when it is being deleted', { workers: [away('a', { isDeleting: true })] }, 'available'],
    ['available when its role is Cold', { workers: [away('a', { desiredRole: 'Cold' })] }, 'available'],
    ['available in a group that was never ready', { workers: [away('a')], everReady: false }, 'available'],
    ['available when the source is the group', { workers: [away('a')], source: 'group' }, 'available'],
  ])('%s', (_, input, metrics) => {
    expect(view(input).metrics).toBe(metrics);
  });

  test.each<[string, readonly Worker[], boolean]>([
    ['after 90 s', [away('a')], true],
    ['not before 90 s', [away('a', { readySince: ago(89.999) })], false],
    ['not after a later creation', [away('a'), away('b', { createdAt: ago(80) })], false],
    ['not after a later wake', [away('a', { wokenAt: ago(80) })], false],
    [
      'without workers of the role Cold',
      [away('a'), away('b', { desiredRole: 'Cold', createdAt: ago(80) })],
      true,
    ],
  ])('reported as missing %s', (_, workers, isTold) => {
    expect(view({ workers })).toMatchObject({
      metrics: 'doubtful',
      problem: isTold ? { kind: 'silent' } : undefined,
    });
  });
});

describe('figures of a group are', () => {
  const problem = (what: LoadProblem) => withProblem(EMPTY_LOAD, GROUP_REPORTER, what);

  test.each<[string, LoadState, string, LoadProblem | undefined]>([
    ['available before the first read', EMPTY_LOAD, 'available', undefined],
    ['available when they arrived less than 90 s ago', told('', 89.999), 'available', undefined],
    ['missing after 90 s', told('', 90), 'missing', undefined],
    ['missing when the first read failed', problem(failedRead), 'missing', failedRead],
    [
      'available when only the last read failed',
      both(told('', 10), problem(failedRead)),
      'available',
      failedRead,
    ],
    [
      'doubtful when the last report is invalid',
      both(told('', 10), problem(invalidReport)),
      'doubtful',
      invalidReport,
    ],
  ])('%s', (_, loadState, metrics, why) => {
    // No reports of workers are expected there.
    const seen = view({ source: 'group', workers: [grown('a')], loadState });
    expect(seen).toMatchObject({ metrics, problem: why });
    expect(seen.workers.get('a')?.isMissing).toBe(false);
  });
});

describe('waiting work', () => {
  const two = [grown('a'), grown('b')];

  test('is all work of the workers when none separates it', () => {
    const loadState = both(told('a', 0, { currentLoad: 30 }), told('b', 0, { currentLoad: 12 }));
    expect(view({ workers: two, loadState })).toMatchObject({ waiting: 42, reportsWaiting: false });
  });

  test('is the separate work of one, and all work of the other', () => {
    const loadState = both(
      told('a', 0, { currentLoad: 30, waitingLoad: 2 }),
      told('b', 0, { currentLoad: 12 }),
    );
    expect(view({ workers: two, loadState })).toMatchObject({ waiting: 14, reportsWaiting: true });
  });

  test('is forgotten 90 s after the last report', () => {
    const loadState = told('a', 90, { currentLoad: 30, waitingLoad: 2, error: 'broken' });
    expect(view({ workers: two, loadState })).toMatchObject({ waiting: 0, reportsWaiting: false });
    const seen = view({ workers: two, loadState }).workers.get('a');
    expect(seen).toMatchObject({ currentLoad: 0, error: '', maxPerf: 100, isMissing: true });
  });

  test('is that of the group when the group is the source', () => {
    const loadState = both(told('', 0, { waitingLoad: 5 }), told('a', 0, { currentLoad: 30 }));
    expect(view({ source: 'group', workers: two, loadState }).waiting).toBe(5);
  });
});

describe('the rate of a reporter', () => {
  const load = (secondsAgo: number, rate = 50) => {
    const { history } = view({ workers: [grown('a')], loadState: told('a', secondsAgo, {}, rate) });
    return { arrived: history.arrivals, recently: loadOver(history, NOW, 10 * SECOND) };
  };

  test.each<[string, number, number]>([
    ['continues until the next report', 10, 50],
    ['continues for at most 90 s', 95, 25],
    ['is 0 after that', 100, 0],
  ])('%s', (_, secondsAgo, recently) => {
    expect(load(secondsAgo).recently).toBe(recently);
  });

  test('adds nothing at the time of a report, or without arrivals', () => {
    expect(load(0).arrived).toEqual([]);
    expect(load(10, 0).arrived).toEqual([]);
    expect(load(-10).arrived).toEqual([]);
  });
});

describe('the load of one worker', () => {
  const of = (one: Worker, loadState = EMPTY_LOAD) =>
    view({ workers: [one, grown('other')], loadState }).workers.get('a');

  test.each<[string, Partial<LoadRecord>, number]>([
    ['has the requests that it reports', { inFlight: 3, currentLoad: 500 }, 3],
    ['has one request when it has work and reports none', { inFlight: undefined, currentLoad: 500 }, 1],
    ['has no request without work', { inFlight: undefined, currentLoad: 0 }, 0],
  ])('%s', (_, more, count) => {
    expect(of(grown('a'), told('a', 5, more))?.inFlight).toEqual({ count, at: NOW - 5 * SECOND });
  });

  test.each<[string, Worker, boolean]>([
    ['is missing when a report is due', grown('a'), true],
    ['is not missing before that', young('a'), false],
    ['is not missing when its role is Cold', grown('a', { desiredRole: 'Cold' }), false],
    ['is not missing when it does not serve', grown('a', { isServing: false }), false],
  ])('%s', (_, one, isMissing) => {
    expect(of(one)).toEqual({
      currentLoad: 0,
      maxPerf: undefined,
      isMissing,
      error: '',
      inFlight: undefined,
    });
  });
});
