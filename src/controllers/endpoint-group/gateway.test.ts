import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { condition, groupObject, workerObject } from '../../../test/builders/group-worker.ts';
import '../../../test/builders/property-seed.ts';
import {
  calm,
  type GroupSituation,
  NOW,
  observedGroup,
  record,
  reports,
  worker,
} from '../../../test/builders/observed-group.ts';
import type { GatewayGroupReport } from '../../api/gateway-report.ts';
import { endpointGroupStatus } from '../../api/v1alpha1/endpoint-group.ts';
import { decide } from './decide.ts';
import { EMPTY_LOAD, type LoadState, withGatewayReport, withReport } from './load/state.ts';
import { defaultTimes } from './times.ts';
import type { Action } from './types.ts';
import type { Worker } from './workers/worker.ts';

const SECOND = 1000;
const times = defaultTimes;
const group = groupObject({ gateway: {}, drainTimeout: '5m' });
/** Workers of a known price. */
const cheap = {
  spec: {
    image: 'example/worker:1',
    offers: [{ maxPricePerHour: '0.40' }],
    ports: [{ name: 'http', containerPort: 8000 }],
  },
};

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

const decided = (overrides: GroupSituation) =>
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
        reason: 'LoadUnavailable',
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

describe('behind a gateway the last worker', () => {
  const idle = (seconds: number, more: Parameters<typeof groupObject>[1] = {}) =>
    groupObject({ gateway: {}, inactivityTimeout: `${seconds}s` }, more);

  test('stays while it has a request, whose picker has nothing new to report', () => {
    const loadState = reported(
      steady({ workers: inFlight(1) }).map((one) => ({ ...one, secondsAgo: one.secondsAgo + 4 })),
    );
    const served = idle(4, { status: { everReady: true } });
    const { actions, status } = decided({
      group: served,
      workers: [worker('a')],
      memory: calm(1),
      loadState,
    });
    expect(actions).toEqual([]);
    expect(status).toMatchObject({ lastActivity: new Date(NOW).toISOString().replace('.000', '') });
  });

  test('goes when it has none for as long as inactivityTimeout says', () => {
    const loadState = reported([...steady({ workers: inFlight(1) }), { secondsAgo: 0 }]);
    const served = idle(1, { status: { everReady: true } });
    const { actions } = decided({ group: served, workers: [worker('a')], memory: calm(1), loadState });
    expect(kinds(actions)).toEqual(['order']);
  });

  test('is not rented for a new group before its first request', () => {
    const young = { metadata: { creationTimestamp: new Date(NOW - SECOND).toISOString() } };
    const { actions, status } = decided({ group: idle(600, young), loadState: reported(steady()) });
    expect(actions).toEqual([]);
    expect(status.lastActivity).toBeUndefined();
  });

  test('is rented for a new group without a gateway, where no request could be seen', () => {
    const young = { metadata: { creationTimestamp: new Date(NOW - SECOND).toISOString() } };
    const { actions } = decided({
      group: groupObject({ inactivityTimeout: '10m' }, young),
      source: 'workers',
    });
    expect(kinds(actions)).toEqual(['create']);
  });
});

describe('behind a gateway the slice of a worker', () => {
  const draining = { desiredRole: 'Gone', drainSince: NOW - SECOND } as const;
  const published = (overrides: Partial<Worker>, given: GroupSituation = {}) => {
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
  const actionsAfter = (seconds: number, sent: readonly Sent[], overrides: GroupSituation = {}) =>
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

describe('workers of a group with a gateway are blocked', () => {
  const because = (type: string, reason: string, message: string) => ({
    ...condition(type, 'False', '2026-11-20T11:10:00Z'),
    reason,
    message,
  });
  const booting = { isServing: false, wasEverReady: false, hasRun: false } as const;
  /** A hot worker that does not serve, and says why. */
  const waiting = (name: string, reason: string, overrides: Partial<Worker> = {}) => {
    const status = { observedGeneration: 1, conditions: [because('Rented', reason, 'The reason.')] };
    return worker(name, {
      ...booting,
      isRented: false,
      object: workerObject(name, { status }),
      ...overrides,
    });
  };
  const waking = (reason: string) =>
    worker('a', {
      ...{ isServing: false, ranSinceWoken: false, wokenAt: NOW - SECOND },
      object: workerObject('a', {
        status: {
          ...{ observedGeneration: 1, instanceId: '7', actualStatus: 'exited' },
          conditions: [because('Ready', reason, 'The reason.')],
        },
      }),
    });
  const loadState = reported(steady({ heldRequests: 1, heldWork: 1 }));
  const blocked = (given: GroupSituation) => {
    const { status } = decided({ loadState, memory: calm(1), wakeAsked: true, ...given });
    const found = status.conditions?.find(({ type }) => type === 'WorkersBlocked');
    return found && `${found.status} ${found.reason}: ${found.message}`;
  };
  const paused = { scaleUp: true };
  const SILENT = { observedGeneration: 1 } as const;

  test.each<[string, GroupSituation, string]>([
    [
      'by offers that are not there',
      { workers: [waiting('a', 'NoOffers')] },
      'NoOffers: Worker a: The reason.',
    ],
    [
      'by what the first of them says, where each has its own reason',
      { workers: [waiting('b', 'NoOffers'), waiting('a', 'InsufficientCredit')] },
      'InsufficientCredit: Worker a: The reason.',
    ],
    [
      'by what the first of them says, in whichever order they come',
      { workers: [waiting('a', 'NoOffers'), waiting('b', 'InsufficientCredit')] },
      'NoOffers: Worker a: The reason.',
    ],
    [
      'by hot ones alone, while cold ones wait for something else',
      { workers: [waiting('a', 'Queued', { desiredRole: 'Cold' }), waiting('b', 'NoOffers')] },
      'NoOffers: Worker b: The reason.',
    ],
    [
      'by the credit of one that wakes',
      { workers: [waking('InsufficientCredit')] },
      'InsufficientCredit: Worker a: The reason.',
    ],
    [
      'by a pause',
      { group: groupObject({ gateway: {}, pause: paused }), memory: calm(0) },
      'Paused: spec.pause.scaleUp is true.',
    ],
    [
      'by a person who asks for none',
      { group: groupObject({ gateway: {}, replicas: 0 }), memory: calm(0) },
      'NoReadyWorkers: spec.replicas is 0.',
    ],
    [
      'by their ceiling',
      { group: groupObject({ gateway: {}, maxSpendPerHour: '0.10', template: cheap }), memory: calm(0) },
      'AtLimit: maxSpendPerHour $0.10 leaves no room for a worker.',
    ],
    [
      'by a write that is refused',
      {
        memory: calm(0),
        refused: [{ action: 'create 0', detail: 'Making a worker is refused: quota' }],
      },
      'NotPermitted: Making a worker is refused: quota.',
    ],
    [
      'by a Service that cannot be written, since no worker is led to then',
      {
        workers: [worker('a', { isServing: false })],
        published: { type: 'problem', reason: 'NotPermitted', detail: 'no right' },
      },
      'NotPermitted: no right',
    ],
  ])('%s', (_, given, expected) => {
    expect(blocked(given)).toBe(`True ${expected}`);
  });

  test('by an error that all of them report themselves', () => {
    const pulled = groupObject({ gateway: {}, load: { type: 'HTTPPull' } });
    const broken = reports(['a'], 0, { error: 'CUDA error' });
    expect(blocked({ group: pulled, source: 'workers', workers: [worker('a')], loadState: broken })).toBe(
      'True WorkersFailing: Worker a reports: "CUDA error".',
    );
  });

  test('by what stalls one for good', () => {
    const stalled = { ...because('Stalled', 'LoginChanged', 'Another login.'), status: 'True' as const };
    const object = workerObject('a', { status: { observedGeneration: 1, conditions: [stalled] } });
    expect(
      blocked({ workers: [worker('a', { ...booting, isRented: false, isStalled: true, object })] }),
    ).toBe('True LoginChanged: Worker a: Another login.');
  });

  test.each<[string, GroupSituation]>([
    ['one is ready', { workers: [worker('a'), waiting('b', 'NoOffers')] }],
    ['one is on its way', { workers: [waiting('a', 'NoOffers'), worker('b', booting)] }],
    ['the rental of one is under way', { workers: [waiting('a', 'Provisioning')] }],
    ['one was refused by a host and tries another', { workers: [waiting('a', 'RentalRefused')] }],
    [
      'what one says is of its spec before',
      {
        workers: [
          waiting('a', 'NoOffers', {
            object: workerObject('a', {
              metadata: { generation: 2 },
              status: { observedGeneration: 1, conditions: [because('Rented', 'NoOffers', '')] },
            }),
          }),
        ],
      },
    ],
    ['the first is about to be rented', { memory: calm(0) }],
    ['none is wanted', { wakeAsked: false, memory: calm(0), loadState: reported(steady()) }],
    [
      'one can be woken, and the ceiling holds back others',
      {
        group: groupObject({ gateway: {}, coldWorkers: 3, maxSpendPerHour: '0.41', template: cheap }),
        workers: [
          worker('a', { desiredRole: 'Cold', powerState: 'Stopped', isServing: false, isStopped: true }),
        ],
        memory: calm(0),
      },
    ],
    [
      'one is on its way and the group is paused for others',
      { group: groupObject({ gateway: {}, pause: paused }), workers: [worker('a', booting)] },
    ],
    [
      'none is wanted, be it that one for the pool was refused',
      {
        ...{ wakeAsked: false, memory: calm(0), loadState: reported(steady()) },
        group: groupObject({ gateway: {}, coldWorkers: 1 }),
        refused: [{ action: 'create 0', detail: 'Making a worker is refused: quota' }],
      },
    ],
    [
      'the last one makes room for it',
      {
        group: groupObject({ gateway: {}, maxWorkers: 1 }),
        workers: [worker('a', { desiredRole: 'Gone', isDeleting: true })],
        memory: calm(0),
      },
    ],
    [
      'one serves already and the Service cannot be written',
      {
        workers: [worker('a')],
        published: { type: 'problem', reason: 'NotPermitted', detail: 'no right' },
      },
    ],
    [
      'one has said nothing yet',
      {
        workers: [
          worker('a', { ...booting, isRented: false, object: workerObject('a', { status: SILENT }) }),
        ],
      },
    ],
    [
      'the account of the one that waits is not ready, as after each start of the operator',
      { workers: [waiting('a', 'AccountNotReady')] },
    ],
    ['there is no gateway', { group: groupObject(), workers: [waiting('a', 'NoOffers')] }],
  ])('never while %s', (_, given) => {
    expect(blocked(given)).toBeUndefined();
  });
});

describe('a group says of its gateway', () => {
  const says = (sent: readonly Sent[], given: GroupSituation = {}) => {
    const { status } = decided({ loadState: reported(sent), ...given });
    const found = status.conditions?.find(({ type }) => type === 'GatewayConnected');
    const condition = found && `${found.status} ${found.reason}: ${found.message}`;
    return { condition, gateway: status.gateway };
  };

  test('who reports, what waits and where it is', () => {
    const sent = [...steady({ heldRequests: 2 }), ...steady({ heldRequests: 1 }, 'b')];
    expect(says(sent, { gatewayUrl: 'https://gateway.example/' })).toEqual({
      condition: 'True Ready: 2 pickers report what the gateway counts.',
      gateway: {
        url: 'https://gateway.example/team/llm',
        pickers: 2,
        heldRequests: 3,
        reportedAt: '2026-11-20T11:59:59Z',
      },
    });
  });

  test('that one reports', () => {
    expect(says(steady()).condition).toBe('True Ready: 1 picker reports what the gateway counts.');
  });

  test('that none has reported yet', () => {
    expect(says([])).toEqual({
      condition: 'Unknown LoadUnavailable: No picker of the gateway has reported since this operator leads.',
      gateway: { pickers: 0, heldRequests: 0 },
    });
  });

  test('that all fell silent', () => {
    expect(says([{ secondsAgo: 15, heldRequests: 2 }])).toEqual({
      condition: 'False LoadUnavailable: No picker of the gateway has reported for 15 s.',
      gateway: { pickers: 0, heldRequests: 0, reportedAt: '2026-11-20T11:59:45Z' },
    });
  });

  test('nothing where it has none', () => {
    expect(says([], { group: groupObject() })).toEqual({ condition: undefined, gateway: undefined });
  });
});

describe('the status of a gateway', () => {
  /** What is written by a second pass, a second after the first, with other figures. */
  const rewritten = (before: Partial<GatewayGroupReport>, sent: readonly Sent[]) => {
    const first = decided({ loadState: reported(steady(before)) });
    const known = { ...group, status: first.status };
    return [first.status.gateway, decided({ group: known, loadState: reported(sent) }).status.gateway];
  };

  test('is not written for requests that come and go', () => {
    const [first, second] = rewritten({}, steady({ heldRequests: 7 }));
    expect(second).toEqual(first);
  });

  test('says what workers of the group have by all pickers, the busiest first', () => {
    const rows = (requests: number, perf: number) => [
      { name: 'a', requests: 1, work: 1.5 },
      { name: 'b', requests, work: 2, perf },
      { name: 'stranger', requests: 9, work: 9 },
    ];
    const loadState = reported([
      ...steady({ workers: rows(2, 4) }),
      ...steady({ workers: rows(3, 5.5) }, 'b'),
    ]);
    expect(decided({ loadState, workers: [worker('a'), worker('b')] }).status.gateway).toMatchObject({
      inFlightRequests: 7,
      workers: [
        { name: 'b', requests: 5, work: '4', perf: '5.5' },
        { name: 'a', requests: 2, work: '3' },
      ],
    });
  });

  test('is not written for requests that workers get and finish', () => {
    const floor = groupObject({ gateway: {}, minLoad: '50' });
    const given = { workers: [worker('a')], memory: calm(1) };
    const loadState = (requests: number) => reported(steady({ workers: inFlight(requests) }));
    const { status } = decided({ ...given, group: floor, loadState: loadState(1) });
    const next = decided({ ...given, group: { ...floor, status }, loadState: loadState(5) });
    expect(status.gateway).toMatchObject({ inFlightRequests: 1 });
    expect(next.status.gateway).toEqual(status.gateway);
  });

  test('is written when another picker reports', () => {
    const [, second] = rewritten({}, [...steady({ heldRequests: 7 }), ...steady({}, 'b')]);
    expect(second).toMatchObject({ pickers: 2, heldRequests: 7 });
  });
});

describe('whatever pickers report', () => {
  const figure = fc.oneof(fc.constantFrom(0, 1, 1e12, 2 ** 53), fc.double({ min: 0, max: 1e6, noNaN: true }));
  const requests = fc.oneof(fc.constantFrom(0, 0, 1, 1e12), fc.integer({ min: 0, max: 50 }));
  const work = fc.oneof(fc.constantFrom(0, 1e-9, 1e12), fc.double({ min: 0, max: 1e6, noNaN: true }));
  const row = fc.record({
    name: fc.constantFrom('a', 'b', 'stranger'),
    ...{ requests, work },
    perf: fc.option(work, { nil: undefined }),
  });
  const sent = fc.record({
    by: fc.constantFrom('liar-1', 'liar-2'),
    secondsAgo: fc.integer({ min: 0, max: 120 }),
    first: fc.boolean(),
    ...{ arrivedWork: figure, overestimatedWork: figure, refusedWork: figure },
    ...{ heldRequests: requests, heldWork: work },
    workers: fc.array(row, { maxLength: 3 }),
  });
  const inOrder = fc
    .array(sent, { maxLength: 12 })
    .map((all) => all.toSorted((one, other) => other.secondsAgo - one.secondsAgo));

  test('no more workers are made than the group may have', () => {
    const small = groupObject({ gateway: {}, maxWorkers: 3 });
    fc.assert(
      fc.property(inOrder, fc.boolean(), (lies, wakeAsked) => {
        const workers = [worker('a'), worker('b', { desiredRole: 'Cold', drainSince: NOW - 60 * SECOND })];
        const given = { group: small, workers, loadState: reported(lies), wakeAsked, memory: calm(1) };
        const made = kinds(decided(given).actions).filter((type) => type === 'create');
        expect(made.length).toBeLessThanOrEqual(1);
      }),
    );
  });

  test('no draining worker goes that an honest picker has a request of', () => {
    fc.assert(
      fc.property(inOrder, (lies) => {
        const honest = steady({ workers: inFlight(1, 'b') }, 'honest');
        const both = [...lies, ...honest].toSorted((one, other) => other.secondsAgo - one.secondsAgo);
        const workers = [worker('b', { desiredRole: 'Gone', drainSince: NOW - 60 * SECOND })];
        const { actions } = decided({ workers, loadState: reported(both), memory: calm(0) });
        expect(actions.filter(({ type }) => type === 'delete')).toEqual([]);
      }),
    );
  });

  test('the status can be written', () => {
    fc.assert(
      fc.property(inOrder, (lies) => {
        const { status } = decided({ loadState: reported(lies), workers: [worker('a')] });
        expect(endpointGroupStatus.safeParse(status).error).toBeUndefined();
      }),
    );
  });
});

describe('B09: a group says of the keys of its callers', () => {
  const keyed = groupObject({ gateway: { keys: { secretName: 'llm-callers' } } });
  const says = (sent: readonly Sent[], of = keyed) => {
    const { status } = decided({ group: of, loadState: reported(sent) });
    const found = status.conditions?.find(({ type }) => type === 'CallerKeysUsable');
    return found && `${found.status} ${found.reason}: ${found.message}`;
  };
  const read = { state: 'Read', unusable: [] } as const;

  test.each([
    [read, 'True Ready: The gateway knows callers by Secret llm-callers.'],
    [{ state: 'Missing', unusable: [] }, 'False InputMissing: There is no Secret llm-callers.'],
    [
      { state: 'Unread', unusable: [] },
      'Unknown InputMissing: No picker has read Secret llm-callers. Allow pickers to get it (chart: gateway.secrets).',
    ],
    [
      { state: 'Unusable', unusable: ['alice', 'bob'] },
      'False InputMissing: Secret llm-callers has no usable key. Store the SHA-256 of each key: printf %s "$KEY" | sha256sum. No SHA-256: alice, bob.',
    ],
    [
      { state: 'Read', unusable: ['bob'] },
      'False InputMissing: Secret llm-callers: values of bob are no SHA-256. Store the SHA-256 of each key: printf %s "$KEY" | sha256sum.',
    ],
  ] as const)('when a picker reports %o', (keys, condition_) => {
    expect(says(steady({ keys: { ...keys, unusable: [...keys.unusable] } }))).toBe(condition_);
  });

  test('when one of two pickers has not read them yet', () => {
    const other = { state: 'Unread' as const, unusable: [] };
    const sent = [...steady({ keys: { ...read, unusable: [] } }), ...steady({ keys: other }, 'b')];
    expect(says(sent)).toMatch(/^True Ready/);
  });

  test('never without keys', () => {
    expect(says(steady(), group)).toBeUndefined();
  });
});
