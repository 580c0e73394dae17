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
/** A worker that has served for as long as a silence may last, and one that has not. */
const grown = (name: string, overrides: Partial<Worker> = {}) =>
  worker(name, { readySince: NOW - 90 * SECOND, ...overrides });
const young = (name: string) => worker(name, { readySince: NOW - 90 * SECOND + 1 });

const lie: LoadProblem = { kind: 'invalid', detail: 'it is negative', at: NOW };
const refusal: LoadProblem = { kind: 'unreachable', detail: 'refused', at: NOW };

/** A report of `name` that came so many seconds ago. */
function told(name: string, secondsAgo: number, more: Partial<LoadRecord> = {}, rate = 0): LoadState {
  const [[key, last] = ['', undefined]] = [...reports([name], 0, more).reporters];
  if (!last) throw new Error('Nobody reported.');
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
    ['told where nobody should have told any', {}, 'told', undefined],
    [
      'told where they came less than 90 s ago',
      { workers: a, loadState: told('a', 89.999) },
      'told',
      undefined,
    ],
    ['missing after 90 s', { workers: a, loadState: told('a', 90) }, 'missing', undefined],
    ['missing where none ever came', { workers: a }, 'missing', undefined],
    [
      'missing with the reason that is known',
      { workers: a, loadState: problem('a', refusal) },
      'missing',
      refusal,
    ],
    ['told while a worker is too young to tell any', { workers: [young('a')] }, 'told', undefined],
    ['told where one of two tells them', { workers: two, loadState: told('b', 10) }, 'told', undefined],
    ['missing where neither does', { workers: two, loadState: told('b', 90) }, 'missing', undefined],
    [
      'doubtful where one lies',
      { workers: two, loadState: both(told('b', 10), problem('a', lie)) },
      'doubtful',
      lie,
    ],
    [
      'doubtful less than 90 s after a lie',
      { workers: two, loadState: both(told('b', 10), problem('a', { ...lie, at: NOW - 89_999 })) },
      'doubtful',
      { ...lie, at: NOW - 89_999 },
    ],
    [
      'told where who lied 90 s ago has said nothing since, and another tells',
      { workers: two, loadState: both(told('b', 10), problem('a', { ...lie, at: NOW - 90_000 })) },
      'told',
      undefined,
    ],
    [
      'told where one is refused and another tells',
      { workers: two, loadState: both(told('b', 10), problem('a', refusal)) },
      'told',
      undefined,
    ],
    [
      'told whatever one says that is wanted cold',
      { workers: [grown('a', { desiredRole: 'Cold' })], loadState: problem('a', lie) },
      'told',
      undefined,
    ],
    [
      'told whatever one says that does not serve',
      { workers: [grown('a', { isServing: false }), young('b')], loadState: problem('a', lie) },
      'told',
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
    ['doubted while one is to come', { workers: [away('a')] }, 'doubtful'],
    ['told while one tells them all the same', { workers: [away('a')], loadState: told('a', 89) }, 'told'],
    ['doubted 90 s after one told them', { workers: [away('a')], loadState: told('a', 90) }, 'doubtful'],
    ['told where another serves', { workers: [away('a'), young('b')] }, 'told'],
    ['told where none is to come any more', { workers: [away('a', { isOverdue: true })] }, 'told'],
    [
      'doubted where one of two is to come',
      { workers: [away('a', { isOverdue: true }), away('b')] },
      'doubtful',
    ],
    ['told where it is being deleted', { workers: [away('a', { isDeleting: true })] }, 'told'],
    ['told where it is wanted cold', { workers: [away('a', { desiredRole: 'Cold' })] }, 'told'],
    ['told in a group that has never served', { workers: [away('a')], everReady: false }, 'told'],
    ['those of the group, where that has figures', { workers: [away('a')], source: 'group' }, 'told'],
  ])('%s', (_, input, metrics) => {
    expect(view(input).metrics).toBe(metrics);
  });

  test.each<[string, readonly Worker[], boolean]>([
    ['once it has lasted 90 s', [away('a')], true],
    ['not before', [away('a', { readySince: ago(89.999) })], false],
    ['not while one was made after that', [away('a'), away('b', { createdAt: ago(80) })], false],
    ['not while one was woken after that', [away('a', { wokenAt: ago(80) })], false],
    ['whatever is wanted cold', [away('a'), away('b', { desiredRole: 'Cold', createdAt: ago(80) })], true],
  ])('called missing %s', (_, workers, isTold) => {
    expect(view({ workers })).toMatchObject({
      metrics: 'doubtful',
      problem: isTold ? { kind: 'silent' } : undefined,
    });
  });
});

describe('figures of a group are', () => {
  const problem = (what: LoadProblem) => withProblem(EMPTY_LOAD, GROUP_REPORTER, what);

  test.each<[string, LoadState, string, LoadProblem | undefined]>([
    ['told before anything was tried', EMPTY_LOAD, 'told', undefined],
    ['told where they came less than 90 s ago', told('', 89.999), 'told', undefined],
    ['missing after 90 s', told('', 90), 'missing', undefined],
    ['missing where the first try failed', problem(refusal), 'missing', refusal],
    ['told where only the last try failed', both(told('', 10), problem(refusal)), 'told', refusal],
    ['doubtful where the last is a lie', both(told('', 10), problem(lie)), 'doubtful', lie],
  ])('%s', (_, loadState, metrics, why) => {
    // Workers say nothing there, and nothing is expected of them.
    const seen = view({ source: 'group', workers: [grown('a')], loadState });
    expect(seen).toMatchObject({ metrics, problem: why });
    expect(seen.workers.get('a')?.isMissing).toBe(false);
  });
});

describe('work that waits', () => {
  const two = [grown('a'), grown('b')];

  test('is all work of the workers when none reports it separately', () => {
    const loadState = both(told('a', 0, { currentLoad: 30 }), told('b', 0, { currentLoad: 12 }));
    expect(view({ workers: two, loadState })).toMatchObject({ waiting: 42, reportsWaiting: false });
  });

  test('is separate for one, and all work of the other', () => {
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

  test('in front of a group is that of the group, whatever a worker reported', () => {
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
    ['goes on until the next report', 10, 50],
    ['goes on for 90 s at most', 95, 25],
    ['is over after that', 100, 0],
  ])('%s', (_, secondsAgo, recently) => {
    expect(load(secondsAgo).recently).toBe(recently);
  });

  test('adds nothing at the moment of a report, nor where nothing arrived', () => {
    expect(load(0).arrived).toEqual([]);
    expect(load(10, 0).arrived).toEqual([]);
    expect(load(-10).arrived).toEqual([]);
  });
});

describe('of one worker', () => {
  const of = (one: Worker, loadState = EMPTY_LOAD) =>
    view({ workers: [one, grown('other')], loadState }).workers.get('a');

  test.each<[string, Partial<LoadRecord>, number]>([
    ['its requests are what it tells', { inFlight: 3, currentLoad: 500 }, 3],
    ['one request is in it where it has work and tells none', { inFlight: undefined, currentLoad: 500 }, 1],
    ['none is in it where it has no work', { inFlight: undefined, currentLoad: 0 }, 0],
  ])('%s', (_, more, count) => {
    expect(of(grown('a'), told('a', 5, more))?.inFlight).toEqual({ count, at: NOW - 5 * SECOND });
  });

  test.each<[string, Worker, boolean]>([
    ['silence is a fault once it should have told', grown('a'), true],
    ['silence is none before', young('a'), false],
    ['silence is none where it is wanted cold', grown('a', { desiredRole: 'Cold' }), false],
    ['silence is none where it does not serve', grown('a', { isServing: false }), false],
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
