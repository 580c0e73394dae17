import { describe, expect, test } from 'vitest';
import { groupObject } from '../../../test/builders/group-worker.ts';
import { calm, NOW, observedGroup, record, worker } from '../../../test/builders/observed-group.ts';
import type { GatewayGroupReport } from '../../api/gateway-report.ts';
import { defaultTimes } from './autoscale/times.ts';
import { decide } from './decide.ts';
import { EMPTY_LOAD, type LoadState, withGatewayReport, withReport } from './load/state.ts';
import type { Action, Observed } from './types.ts';
import type { Worker } from './workers/worker.ts';

const SECOND = 1000;
const times = defaultTimes;
const group = groupObject({ gateway: {}, drainTimeout: '5m' });

interface Sent extends Partial<GatewayGroupReport> {
  readonly by?: string;
  readonly secondsAgo: number;
  readonly first?: boolean;
}

/** What these reports of pickers leave behind. */
function reported(sent: readonly Sent[], before: LoadState = EMPTY_LOAD): LoadState {
  return sent.reduce((state, { by = 'a', secondsAgo, first = false, ...figures }) => {
    const report = {
      ...{ namespace: 'team', name: 'llm', arrivedWork: 0, overestimatedWork: 0, refusedWork: 0 },
      ...{ heldRequests: 0, heldWork: 0, workers: [], ...figures },
    };
    const at = NOW - secondsAgo * SECOND;
    return withGatewayReport(state, { picker: by, isFirst: first, report, at, isSource: true, times });
  }, before);
}

/** A picker that has reported the same for a minute, at last a second ago. */
const steady = (figures: Partial<GatewayGroupReport> = {}, by = 'a'): readonly Sent[] =>
  Array.from({ length: 12 }, (_, index) => ({ by, ...figures, secondsAgo: 56 - index * 5 }));

const decided = (overrides: Partial<Observed>) =>
  decide(observedGroup({ group, source: 'gateway', memory: calm(0), ...overrides }));

const kinds = (actions: readonly Action[]) => actions.map(({ type }) => type);
const inFlight = (requests: number, name = 'a', work = requests) => [{ name, requests, work }];

describe('the load of a gateway', () => {
  test('is what arrived, by which workers are rented', () => {
    const loadState = reported([...steady(), { secondsAgo: 0, arrivedWork: 6000 }]);
    const { status, memory } = decided({ loadState });
    expect(status.load).toBe('107.143');
    expect(status.autoscaling).toMatchObject({ burstLoad: '600', rule: 'Load' });
    expect(memory.decision?.hot).toBe(7);
  });

  test('is also what waits, be it that it arrived long ago', () => {
    const loadState = reported(steady({ heldRequests: 5, heldWork: 2500 }));
    const { status, memory } = decided({ loadState });
    expect(status.autoscaling).toMatchObject({ queue: '2500', rule: 'Queue' });
    expect(memory.decision?.hot).toBe(3);
  });

  test('is no more than the group may have workers, whatever a picker says', () => {
    const loadState = reported([
      ...steady(),
      { secondsAgo: 0, arrivedWork: 1e12, heldRequests: 1e9, heldWork: 1e12, workers: inFlight(1e9) },
    ]);
    const { actions } = decided({ loadState });
    expect(kinds(actions)).toEqual(Array.from({ length: group.spec.maxWorkers }, () => 'create'));
  });

  test('makes a worker full that has more of it than fits into maxQueueTime', () => {
    const loadState = reported(steady({ workers: inFlight(9, 'a', 3001) }));
    const conditions = decided({ loadState, workers: [worker('a')] }).status.conditions;
    expect(conditions).toContainEqual(expect.objectContaining({ type: 'Saturated', status: 'True' }));
  });

  test('is measured against what pickers say that workers can do', () => {
    const loadState = reported(steady({ workers: [{ name: 'a', requests: 1, work: 1, perf: 250 }] }));
    expect(decided({ loadState, workers: [worker('a')] }).status.autoscaling).toMatchObject({
      perf: '250',
      capacity: '250',
    });
  });

  test('is unknown while no picker reports, and no worker goes', () => {
    const ready = { ...group, status: { everReady: true } };
    const workers = [worker('a'), worker('b')];
    const { status, actions } = decided({ group: ready, workers, memory: calm(2) });
    expect(actions).toEqual([]);
    expect(status.conditions).toContainEqual(
      expect.objectContaining({
        type: 'MetricsAvailable',
        status: 'False',
        reason: 'MetricsMissing',
        message: expect.stringContaining('no picker of the gateway reports'),
      }),
    );
  });

  test('is nothing once a picker says so, and workers go', () => {
    const ready = { ...group, status: { everReady: true } };
    const { actions } = decided({
      ...{ group: ready, workers: [worker('a'), worker('b')], memory: calm(2) },
      loadState: reported(steady()),
    });
    expect(kinds(actions)).toEqual(['order', 'order']);
  });
});

describe('behind a gateway the slice of a worker', () => {
  const draining = { desiredRole: 'Gone', drainSince: NOW - SECOND } as const;
  const published = (overrides: Partial<Worker>, given: Partial<Observed> = {}) => {
    const loadState = reported(steady({ workers: inFlight(1) }));
    const { endpoints = [] } = decided({ workers: [worker('a', overrides)], loadState, ...given });
    return endpoints.map(({ worker: { metadata }, isDraining }) => [metadata.name, isDraining]);
  };

  test.each<[string, Partial<Worker>, readonly unknown[]]>([
    ['that drains stays, and says that it ends', draining, [['a', true]]],
    ['stays while it does not answer for a moment', { ...draining, isServing: false }, [['a', true]]],
    ['that goes cold stays until it is stopped', { ...draining, desiredRole: 'Cold' }, [['a', true]]],
    ['whose machine stopped goes', { ...draining, isServing: false, isUp: false }, []],
    ['goes once it is deleted', { ...draining, isDeleting: true }, []],
    ['goes when it is told to go before it served', { desiredRole: 'Gone' }, []],
  ])('%s', (_, overrides, expected) => {
    expect(published(overrides)).toEqual(expected);
  });

  test('that is wanted says that it is ready', () => {
    const floor = groupObject({ gateway: {}, minLoad: '50' });
    expect(published({}, { group: floor, memory: calm(1) })).toEqual([['a', false]]);
  });

  test('goes with the worker once it has no request any more', () => {
    const loadState = reported(steady());
    expect(published({ ...draining, drainSince: NOW - 10 * SECOND }, { loadState })).toEqual([]);
  });

  test('says that it ends in the pass that orders it', () => {
    const { actions, endpoints } = decided({
      group: { ...group, status: { everReady: true } },
      ...{ workers: [worker('a')], memory: calm(1), loadState: reported(steady()) },
    });
    expect(actions).toMatchObject([{ type: 'order', order: { desiredRole: 'Gone' } }]);
    expect(endpoints).toMatchObject([{ isDraining: true }]);
  });

  test('is taken back at once where there is no gateway', () => {
    const off = groupObject({ gateway: { enabled: false } });
    expect(published(draining, { group: off, source: 'workers' })).toEqual([]);
  });
});

describe('a worker that drains behind a gateway', () => {
  const leaving = (seconds: number, overrides: Partial<Worker> = {}) =>
    worker('a', { desiredRole: 'Gone', drainSince: NOW - seconds * SECOND, ...overrides });
  const actionsAfter = (seconds: number, sent: readonly Sent[], overrides: Partial<Observed> = {}) =>
    kinds(decided({ workers: [leaving(seconds)], loadState: reported(sent), ...overrides }).actions);

  test('goes when no picker has a request of it', () => {
    expect(actionsAfter(10, [...steady(), ...steady({}, 'b')])).toEqual(['delete']);
  });

  test.each<[string, number, readonly Sent[]]>([
    ['one picker has a request of it', 60, [...steady(), ...steady({ workers: inFlight(1, 'a', 0) }, 'b')]],
    ['a picker has not reported since it leaves', 10, [...steady(), { by: 'b', secondsAgo: 10 }]],
    ['another picker may be yet to report', 60, [{ secondsAgo: 14 }, { secondsAgo: 9 }, { secondsAgo: 4 }]],
    ['no picker reports', 299, []],
    [
      'a picker that had a request of it fell silent',
      290,
      [{ by: 'b', secondsAgo: 100, workers: inFlight(1) }, ...steady()],
    ],
  ])('stays while %s', (_, seconds, sent) => {
    expect(actionsAfter(seconds, sent)).toEqual([]);
  });

  test('goes at drainTimeout, whatever is said', () => {
    expect(actionsAfter(300, steady({ workers: inFlight(1) }))).toEqual(['delete']);
    expect(actionsAfter(300, [])).toEqual(['delete']);
  });

  describe('and says itself what it has', () => {
    const pulled = groupObject({ gateway: {}, drainTimeout: '5m', load: { type: 'HTTPPull' } });
    const own = (count: number, sent: readonly Sent[]) => {
      const known = reported(sent);
      const one = { reporter: 'uid-a/7', record: record({ inFlight: count }), at: NOW, times };
      return actionsAfter(60, [], { group: pulled, source: 'workers', loadState: withReport(known, one) });
    };

    test.each<[string, number, readonly Sent[], readonly string[]]>([
      ['goes when it and every picker have none', 0, steady(), ['delete']],
      ['stays while a picker has some', 0, steady({ workers: inFlight(1) }), []],
      ['stays while it has some', 1, steady(), []],
      ['stays while the pickers are silent', 0, [{ secondsAgo: 30 }], []],
      ['goes by its own word where pickers never reported', 0, [], ['delete']],
    ])('%s', (_, count, sent, actions) => {
      expect(own(count, sent)).toEqual(actions);
    });
  });
});
