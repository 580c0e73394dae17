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
/** Template of workers at $0.40 per hour. */
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

/** Returns the load state after these reports of pickers. */
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

/** Returns equal reports of a picker over the last minute; the last is a second old. */
const steady = (figures: Partial<GatewayGroupReport> = {}, by = 'a'): readonly Sent[] =>
  Array.from({ length: 12 }, (_, index) => ({ by, ...figures, secondsAgo: 56 - index * 5 }));

const decided = (overrides: GroupSituation) =>
  decide(observedGroup({ group, source: 'gateway', memory: calm(0), ...overrides }));

const kinds = (actions: readonly Action[]) => actions.map(({ type }) => type);
const inFlight = (requests: number, name = 'a', work = requests) => [{ name, requests, work }];

describe('the load of a gateway', () => {
  test('is the arrived work, for which workers are rented', () => {
    const loadState = reported([...steady(), { secondsAgo: 0, arrivedWork: 6000 }]);
    const { status, memory } = decided({ loadState });
    expect(status.load).toBe('107.143');
    expect(status.autoscaling).toMatchObject({ burstLoad: '600', rule: 'Load' });
    expect(memory.decision?.hot).toBe(7);
  });

  test('includes work that has waited for long', () => {
    const loadState = reported(steady({ heldRequests: 5, heldWork: 2500 }));
    const { status, memory } = decided({ loadState });
    expect(status.autoscaling).toMatchObject({ queue: '2500', rule: 'Queue' });
    expect(memory.decision?.hot).toBe(3);
  });

  test('rents at most maxWorkers for any reported figure', () => {
    const loadState = reported([
      ...steady(),
      { secondsAgo: 0, arrivedWork: 1e12, heldRequests: 1e9, heldWork: 1e12, workers: inFlight(1e9) },
    ]);
    const { actions } = decided({ loadState });
    expect(kinds(actions)).toEqual(Array.from({ length: group.spec.maxWorkers }, () => 'create'));
  });

  test('makes a worker full when its work exceeds maxQueueTime', () => {
    const loadState = reported(steady({ workers: inFlight(9, 'a', 3001) }));
    const conditions = decided({ loadState, workers: [worker('a')] }).status.conditions;
    expect(conditions).toContainEqual(expect.objectContaining({ type: 'Saturated', status: 'True' }));
  });

  test('is compared with the performance that pickers report', () => {
    const loadState = reported(steady({ workers: [{ name: 'a', requests: 1, work: 1, perf: 250 }] }));
    expect(decided({ loadState, workers: [worker('a')] }).status.autoscaling).toMatchObject({
      perf: '250',
      capacity: '250',
    });
  });

  test('is unknown while no picker reports, so every worker stays', () => {
    const ready = { ...group, status: { everReady: true } };
    const workers = [worker('a'), worker('b')];
    const { status, actions } = decided({ group: ready, workers, memory: calm(2) });
    expect(actions).toEqual([]);
    expect(status.conditions).toContainEqual(
      expect.objectContaining({
        type: 'MetricsAvailable',
        status: 'False',
        reason: 'LoadUnavailable',
        message: expect.stringContaining('no gateway picker reports'),
      }),
    );
  });

  test('is zero when a picker reports none, so workers drain', () => {
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

  test('stays while it has a request that its picker reported before', () => {
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

  test('drains when it had no request for inactivityTimeout', () => {
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

  test('is rented for a new group without a gateway', () => {
    const young = { metadata: { creationTimestamp: new Date(NOW - SECOND).toISOString() } };
    const { actions } = decided({
      group: groupObject({ inactivityTimeout: '10m' }, young),
      source: 'workers',
    });
    expect(kinds(actions)).toEqual(['create']);
  });
});

describe('behind a gateway the endpoint of a worker', () => {
  const draining = { desiredRole: 'Gone', drainSince: NOW - SECOND } as const;
  const published = (overrides: Partial<Worker>, given: GroupSituation = {}) => {
    const loadState = reported(steady({ workers: inFlight(1) }));
    const { endpoints = [] } = decided({ workers: [worker('a', overrides)], loadState, ...given });
    return endpoints.map(({ worker: { metadata }, isDraining }) => [metadata.name, isDraining]);
  };

  test.each<[string, Partial<Worker>, readonly unknown[]]>([
    ['stays as draining while the worker drains', draining, [['a', true]]],
    ['stays while the draining worker is briefly unready', { ...draining, isServing: false }, [['a', true]]],
    ['stays while the worker drains for the cold pool', { ...draining, desiredRole: 'Cold' }, [['a', true]]],
    ['is removed when the machine stopped', { ...draining, isServing: false, isUp: false }, []],
    ['is removed when the worker is being deleted', { ...draining, isDeleting: true }, []],
    ['is removed when the worker leaves before it served', { desiredRole: 'Gone' }, []],
  ])('%s', (_, overrides, expected) => {
    expect(published(overrides)).toEqual(expected);
  });

  test('is ready while the worker is hot', () => {
    const floor = groupObject({ gateway: {}, minLoad: '50' });
    expect(published({}, { group: floor, memory: calm(1) })).toEqual([['a', false]]);
  });

  test('is removed with the worker when no request remains', () => {
    const loadState = reported(steady());
    expect(published({ ...draining, drainSince: NOW - 10 * SECOND }, { loadState })).toEqual([]);
  });

  test('becomes draining in the reconcile that orders it', () => {
    const { actions, endpoints } = decided({
      group: { ...group, status: { everReady: true } },
      ...{ workers: [worker('a')], memory: calm(1), loadState: reported(steady()) },
    });
    expect(actions).toMatchObject([{ type: 'order', order: { desiredRole: 'Gone' } }]);
    expect(endpoints).toMatchObject([{ isDraining: true }]);
  });

  test('is removed at once when the gateway is disabled', () => {
    const off = groupObject({ gateway: { enabled: false } });
    expect(published(draining, { group: off, source: 'workers' })).toEqual([]);
  });
});

describe('a worker that drains behind a gateway', () => {
  const leaving = (seconds: number, overrides: Partial<Worker> = {}) =>
    worker('a', { desiredRole: 'Gone', drainSince: NOW - seconds * SECOND, ...overrides });
  const actionsAfter = (seconds: number, sent: readonly Sent[], overrides: GroupSituation = {}) =>
    kinds(decided({ workers: [leaving(seconds)], loadState: reported(sent), ...overrides }).actions);

  test('is deleted when no picker has a request for it', () => {
    expect(actionsAfter(10, [...steady(), ...steady({}, 'b')])).toEqual(['delete']);
  });

  test.each<[string, number, readonly Sent[]]>([
    ['one picker has a request for it', 60, [...steady(), ...steady({ workers: inFlight(1, 'a', 0) }, 'b')]],
    ['a picker has not reported since the drain began', 10, [...steady(), { by: 'b', secondsAgo: 10 }]],
    [
      'another picker may not have reported yet',
      60,
      [{ secondsAgo: 14 }, { secondsAgo: 9 }, { secondsAgo: 4 }],
    ],
    ['no picker reports', 299, []],
    [
      'a silent picker had a request for it',
      290,
      [{ by: 'b', secondsAgo: 100, workers: inFlight(1) }, ...steady()],
    ],
  ])('stays while %s', (_, seconds, sent) => {
    expect(actionsAfter(seconds, sent)).toEqual([]);
  });

  test('is deleted at drainTimeout regardless of reports', () => {
    expect(actionsAfter(300, steady({ workers: inFlight(1) }))).toEqual(['delete']);
    expect(actionsAfter(300, [])).toEqual(['delete']);
  });

  describe('and reports its own requests', () => {
    const pulled = groupObject({ gateway: {}, drainTimeout: '5m', load: { type: 'HTTPPull' } });
    const own = (count: number, sent: readonly Sent[]) => {
      const known = reported(sent);
      const one = { reporter: 'uid-a/7', record: record({ inFlight: count }), at: NOW, times };
      return actionsAfter(60, [], { group: pulled, source: 'workers', loadState: withReport(known, one) });
    };

    test.each<[string, number, readonly Sent[], readonly string[]]>([
      ['is deleted when it and every picker have none', 0, steady(), ['delete']],
      ['stays while a picker has some', 0, steady({ workers: inFlight(1) }), []],
      ['stays while it has some', 1, steady(), []],
      ['stays while the pickers are silent', 0, [{ secondsAgo: 30 }], []],
      ['is deleted by its own report when pickers never reported', 0, [], ['delete']],
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
  /** Returns a hot worker that does not serve, with the reason of its condition Rented. */
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
    ['by missing offers', { workers: [waiting('a', 'NoOffers')] }, 'NoOffers: Worker a: The reason.'],
    [
      'by the reason of the first worker by name when reasons differ',
      { workers: [waiting('b', 'NoOffers'), waiting('a', 'InsufficientCredit')] },
      'InsufficientCredit: Worker a: The reason.',
    ],
    [
      'by the reason of the first worker by name in another order',
      { workers: [waiting('a', 'NoOffers'), waiting('b', 'InsufficientCredit')] },
      'NoOffers: Worker a: The reason.',
    ],
    [
      'by the reason of a hot worker beside a cold one',
      { workers: [waiting('a', 'Queued', { desiredRole: 'Cold' }), waiting('b', 'NoOffers')] },
      'NoOffers: Worker b: The reason.',
    ],
    [
      'by missing credit of a waking worker',
      { workers: [waking('InsufficientCredit')] },
      'InsufficientCredit: Worker a: The reason.',
    ],
    [
      'by a pause',
      { group: groupObject({ gateway: {}, pause: paused }), memory: calm(0) },
      'Paused: spec.pause.scaleUp is true.',
    ],
    [
      'by zero replicas',
      { group: groupObject({ gateway: {}, replicas: 0 }), memory: calm(0) },
      'NoReadyWorkers: spec.replicas is 0.',
    ],
    [
      'by maxSpendPerHour',
      { group: groupObject({ gateway: {}, maxSpendPerHour: '0.10', template: cheap }), memory: calm(0) },
      'AtLimit: maxSpendPerHour $0.10 allows no worker.',
    ],
    [
      'by a refused write',
      {
        memory: calm(0),
        refused: [{ action: 'create 0', detail: 'Cannot create a worker: quota' }],
      },
      'NotPermitted: Cannot create a worker: quota.',
    ],
    [
      'by a Service that cannot be written',
      {
        workers: [worker('a', { isServing: false })],
        published: { type: 'problem', reason: 'NotPermitted', detail: 'no right' },
      },
      'NotPermitted: no right',
    ],
  ])('%s', (_, given, expected) => {
    expect(blocked(given)).toBe(`True ${expected}`);
  });

  test('by an error that every worker reports', () => {
    const pulled = groupObject({ gateway: {}, load: { type: 'HTTPPull' } });
    const broken = reports(['a'], 0, { error: 'CUDA error' });
    expect(blocked({ group: pulled, source: 'workers', workers: [worker('a')], loadState: broken })).toBe(
      'True WorkersFailing: Worker a reports: "CUDA error".',
    );
  });

  test('by the reason of a stalled worker', () => {
    const stalled = { ...because('Stalled', 'LoginChanged', 'Another login.'), status: 'True' as const };
    const object = workerObject('a', { status: { observedGeneration: 1, conditions: [stalled] } });
    expect(
      blocked({ workers: [worker('a', { ...booting, isRented: false, isStalled: true, object })] }),
    ).toBe('True LoginChanged: Worker a: Another login.');
  });

  test.each<[string, GroupSituation]>([
    ['one worker is ready', { workers: [worker('a'), waiting('b', 'NoOffers')] }],
    ['one worker boots', { workers: [waiting('a', 'NoOffers'), worker('b', booting)] }],
    ['one worker is being rented', { workers: [waiting('a', 'Provisioning')] }],
    ['one worker tries another host after a refusal', { workers: [waiting('a', 'RentalRefused')] }],
    [
      'the status of a worker is of an earlier generation',
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
    ['the first worker is created now', { memory: calm(0) }],
    ['no worker is desired', { wakeAsked: false, memory: calm(0), loadState: reported(steady()) }],
    [
      'one worker can wake although maxSpendPerHour blocks others',
      {
        group: groupObject({ gateway: {}, coldWorkers: 3, maxSpendPerHour: '0.41', template: cheap }),
        workers: [
          worker('a', { desiredRole: 'Cold', powerState: 'Stopped', isServing: false, isStopped: true }),
        ],
        memory: calm(0),
      },
    ],
    [
      'one worker boots although scale-up is paused',
      { group: groupObject({ gateway: {}, pause: paused }), workers: [worker('a', booting)] },
    ],
    [
      'no hot worker is desired although a cold one was refused',
      {
        ...{ wakeAsked: false, memory: calm(0), loadState: reported(steady()) },
        group: groupObject({ gateway: {}, coldWorkers: 1 }),
        refused: [{ action: 'create 0', detail: 'Cannot create a worker: quota' }],
      },
    ],
    [
      'a deleted worker still counts for maxWorkers',
      {
        group: groupObject({ gateway: {}, maxWorkers: 1 }),
        workers: [worker('a', { desiredRole: 'Gone', isDeleting: true })],
        memory: calm(0),
      },
    ],
    [
      'one worker serves although the Service cannot be written',
      {
        workers: [worker('a')],
        published: { type: 'problem', reason: 'NotPermitted', detail: 'no right' },
      },
    ],
    [
      'one worker has no conditions yet',
      {
        workers: [
          worker('a', { ...booting, isRented: false, object: workerObject('a', { status: SILENT }) }),
        ],
      },
    ],
    [
      'the account of a worker is not ready, as after each start of the operator',
      { workers: [waiting('a', 'AccountNotReady')] },
    ],
    ['the group has no gateway', { group: groupObject(), workers: [waiting('a', 'NoOffers')] }],
  ])('not when %s', (_, given) => {
    expect(blocked(given)).toBeUndefined();
  });
});

describe('the gateway of a group', () => {
  const conditionOf = (sent: readonly Sent[], given: GroupSituation = {}) => {
    const { status } = decided({ loadState: reported(sent), ...given });
    const found = status.conditions?.find(({ type }) => type === 'GatewayConnected');
    const condition = found && `${found.status} ${found.reason}: ${found.message}`;
    return { condition, gateway: status.gateway };
  };

  test('is reported with pickers, held requests and URL', () => {
    const sent = [...steady({ heldRequests: 2 }), ...steady({ heldRequests: 1 }, 'b')];
    expect(conditionOf(sent, { gatewayUrl: 'https://gateway.example/' })).toEqual({
      condition: 'True Ready: 2 pickers are reporting.',
      gateway: {
        url: 'https://gateway.example/team/llm',
        pickers: 2,
        heldRequests: 3,
        reportedAt: '2026-11-20T11:59:59Z',
      },
    });
  });

  test('is connected when one picker reports', () => {
    expect(conditionOf(steady()).condition).toBe('True Ready: 1 picker is reporting.');
  });

  test('is unknown before the first report', () => {
    expect(conditionOf([])).toEqual({
      condition: 'Unknown LoadUnavailable: No picker has reported since this operator became the leader.',
      gateway: { pickers: 0, heldRequests: 0 },
    });
  });

  test('is disconnected when every picker is silent', () => {
    expect(conditionOf([{ secondsAgo: 15, heldRequests: 2 }])).toEqual({
      condition: 'False LoadUnavailable: No picker has reported for 15 s.',
      gateway: { pickers: 0, heldRequests: 0, reportedAt: '2026-11-20T11:59:45Z' },
    });
  });

  test('has no condition without a gateway', () => {
    expect(conditionOf([], { group: groupObject() })).toEqual({ condition: undefined, gateway: undefined });
  });
});

describe('the status of a gateway', () => {
  /** Returns the gateway status of two reconciles, the second with other figures. */
  const rewritten = (before: Partial<GatewayGroupReport>, sent: readonly Sent[]) => {
    const first = decided({ loadState: reported(steady(before)) });
    const known = { ...group, status: first.status };
    return [first.status.gateway, decided({ group: known, loadState: reported(sent) }).status.gateway];
  };

  test('is unchanged when only held requests change', () => {
    const [first, second] = rewritten({}, steady({ heldRequests: 7 }));
    expect(second).toEqual(first);
  });

  test('contains the requests of workers over all pickers, the busiest first', () => {
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

  test('is unchanged when only requests in workers change', () => {
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

describe('with any reports of pickers', () => {
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

  test('at most maxWorkers exist', { tags: 'long' }, () => {
    const small = groupObject({ gateway: {}, maxWorkers: 3 });
    fc.assert(
      fc.property(inOrder, fc.boolean(), (lies, wakeAsked) => {
        const workers = [worker('a'), worker('b', { desiredRole: 'Cold', drainSince: NOW - 60 * SECOND })];
        const given = { group: small, workers, loadState: reported(lies), wakeAsked, memory: calm(1) };
        const creates = kinds(decided(given).actions).filter((type) => type === 'create');
        expect(creates.length).toBeLessThanOrEqual(1);
      }),
    );
  });

  test('no draining worker is deleted while an honest picker has a request for it', { tags: 'long' }, () => {
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

  test('the status is valid', { tags: 'long' }, () => {
    fc.assert(
      fc.property(inOrder, (lies) => {
        const { status } = decided({ loadState: reported(lies), workers: [worker('a')] });
        expect(endpointGroupStatus.safeParse(status).error).toBeUndefined();
      }),
    );
  });
});

describe('B09: the condition of caller keys', () => {
  const keyed = groupObject({ gateway: { keys: { secretName: 'llm-callers' } } });
  const conditionOf = (sent: readonly Sent[], of = keyed) => {
    const { status } = decided({ group: of, loadState: reported(sent) });
    const found = status.conditions?.find(({ type }) => type === 'CallerKeysUsable');
    return found && `${found.status} ${found.reason}: ${found.message}`;
  };
  const read = { state: 'Read', unusable: [] } as const;

  test.each([
    [read, 'True Ready: Pickers identify callers by Secret llm-callers.'],
    [{ state: 'Missing', unusable: [] }, 'False InputMissing: Secret llm-callers does not exist.'],
    [
      { state: 'Unread', unusable: [] },
      'Unknown InputMissing: No picker has read Secret llm-callers. Allow pickers to get it (chart: gateway.secrets).',
    ],
    [
      { state: 'Unusable', unusable: ['alice', 'bob'] },
      'False InputMissing: Secret llm-callers has no usable key. Store the SHA-256 of each key: printf %s "$KEY" | sha256sum. Not a SHA-256: alice, bob.',
    ],
    [
      { state: 'Read', unusable: ['bob'] },
      'False InputMissing: Secret llm-callers: not a SHA-256: bob. Store the SHA-256 of each key: printf %s "$KEY" | sha256sum.',
    ],
  ] as const)('is set when a picker reports %o', (keys, condition_) => {
    expect(conditionOf(steady({ keys: { ...keys, unusable: [...keys.unusable] } }))).toBe(condition_);
  });

  test('is True when one of two pickers has read the Secret', () => {
    const other = { state: 'Unread' as const, unusable: [] };
    const sent = [...steady({ keys: { ...read, unusable: [] } }), ...steady({ keys: other }, 'b')];
    expect(conditionOf(sent)).toMatch(/^True Ready/);
  });

  test('is absent without keys', () => {
    expect(conditionOf(steady(), group)).toBeUndefined();
  });
});
