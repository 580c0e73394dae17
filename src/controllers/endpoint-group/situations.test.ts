import { describe, expect, test } from 'vitest';
import { groupDecisionTables } from '../../../test/builders/group-decision-table.ts';
import { condition, groupObject, workerObject } from '../../../test/builders/group-worker.ts';
import { calm, NOW, observedGroup, reports, worker } from '../../../test/builders/observed-group.ts';
import { annotations } from '../../api/v1alpha1/names.ts';
import { statusCodec } from '../../api/v1alpha1/status-codec.ts';
import { storedForm, withStoredForm } from '../../lib/stored-form.ts';
import { decide, endingForTemplate } from './decide.ts';
import { EMPTY_LOAD, GROUP_REPORTER, withProblem } from './load/state.ts';

const { table, close } = groupDecisionTables('endpoint-group');

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const OLD = { templateHash: 'v1:0000000000000000' };
const STOPPED = { desiredRole: 'Cold', powerState: 'Stopped', isServing: false, isStopped: true } as const;
const BOOTING = { isServing: false, wasEverReady: false, hasRun: false } as const;
const NO_OFFERS = { ...condition('Rented', 'False', '2026-11-20T11:10:00Z'), reason: 'NoOffers' };
const UNRENTED = {
  ...BOOTING,
  isRented: false,
  object: workerObject('a', { status: { observedGeneration: 1, conditions: [NO_OFFERS] } }),
} as const;
const WAKING = { isServing: false, ranSinceWoken: false, wokenAt: NOW - 20 * SECOND } as const;
const DRAINING = { drainSince: NOW - 10 * SECOND } as const;
const floor = (load: number, spec: object = {}) => groupObject({ minLoad: String(load), ...spec });
const at = (address: string | undefined) => ({
  observedGeneration: 1,
  instanceId: '8',
  actualStatus: 'running',
  ports: [{ containerPort: 8000, protocol: 'TCP' as const, publicPort: 20_008, name: 'http' }],
  conditions: [condition('Ready', 'True', '2026-11-20T11:10:00Z')],
  ...(address !== undefined && { publicAddress: address }),
});
const seenAt = (name: string, address: string | undefined) =>
  worker(name, { object: workerObject(name, { status: at(address) }) });

describe('a group at rest', () => {
  table([
    [
      'changes nothing when its workers carry the load',
      { workers: [worker('a'), worker('b')], loadState: reports(['a', 'b'], 800), memory: calm(2) },
      [],
    ],
    ['is scaled to zero without load and workers', { memory: calm(0) }, []],
    [
      'reports pickers, keys of callers and the published list when its gateway has them',
      {
        group: groupObject({
          gateway: { keys: { secretName: 'llm-callers' }, publish: 'FileDiscovery' },
        }),
        memory: calm(0),
      },
      [],
    ],
    [
      'keeps its cold pool and counts the price of its disks',
      {
        group: groupObject({ coldWorkers: 2 }),
        workers: [worker('a', STOPPED), worker('b', STOPPED)],
        memory: calm(0),
      },
      [],
    ],
    [
      'reports missing offers for its cold pool',
      {
        group: groupObject({ coldWorkers: 3 }),
        workers: [worker('a', { ...UNRENTED, desiredRole: 'Cold' }), worker('b', STOPPED)],
        memory: calm(0),
      },
      ['create Cold 0'],
    ],
    [
      'reports missing offers for its cold pool while it serves its load',
      {
        group: floor(50, { coldWorkers: 2 }),
        workers: [worker('a', { ...UNRENTED, desiredRole: 'Cold' }), worker('b')],
        loadState: reports(['b']),
        memory: calm(1),
      },
      [],
    ],
    [
      'reports that coldWorkers has no effect when its market cannot stop machines',
      {
        group: floor(50, { coldWorkers: 2 }),
        workers: [worker('b')],
        loadState: reports(['b']),
        memory: calm(1),
        market: { hasStop: false, namesHosts: true },
      },
      [],
    ],
    [
      'reports that spreadBy has no effect when offers of its market do not identify hosts',
      {
        group: floor(50, { spreadBy: 'Machine' }),
        workers: [worker('b')],
        loadState: reports(['b']),
        memory: calm(1),
        market: { hasStop: true, namesHosts: false },
      },
      [],
    ],
    [
      'reports nothing about a spread by region when offers of its market do not identify hosts',
      {
        group: floor(50, { spreadBy: 'Region' }),
        workers: [worker('b')],
        loadState: reports(['b']),
        memory: calm(1),
        market: { hasStop: true, namesHosts: false },
      },
      [],
    ],
    [
      'counts the price of unrented, stopped and running workers, and of unknown prices',
      {
        group: floor(250, { coldWorkers: 4 }),
        workers: [
          worker('a', { isRented: false, isServing: false }),
          worker('b', STOPPED),
          worker('c'),
          worker('d', { pricePerHour: undefined }),
        ],
        loadState: reports(['c', 'd']),
        memory: calm(3),
      },
      [],
    ],
    [
      'is ready without endpoints when its template has no port',
      {
        group: floor(50, {
          template: { spec: { image: 'example/worker:1', offers: [{ maxPricePerHour: '0.60' }] } },
        }),
        workers: [worker('a', { templateHash: undefined })],
        loadState: reports(['a']),
        memory: calm(1),
      },
      [],
    ],
    [
      'has the Service name of the spec',
      {
        group: floor(50, { endpointName: 'shared' }),
        workers: [worker('a')],
        loadState: reports(['a']),
        memory: calm(1),
      },
      [],
    ],
    [
      'confirms requests by annotation',
      {
        group: groupObject(
          {},
          {
            metadata: {
              annotations: { [annotations.requestedAt]: 'r'.repeat(300), [annotations.wakeAt]: 'now' },
            },
            status: { wokenAt: 'now' },
          },
        ),
        memory: calm(0),
      },
      [],
    ],
  ]);
});

describe('a group that grows', () => {
  table([
    [
      'creates the workers of minLoad',
      { group: floor(250), memory: calm(0) },
      ['create Hot 0', 'create Hot 1', 'create Hot 2'],
    ],
    [
      'waits for booting workers',
      { group: floor(150), workers: [worker('a', BOOTING), worker('b', BOOTING)], memory: calm(2) },
      [],
    ],
    [
      'waits for one booting worker of two',
      {
        group: floor(150),
        workers: [worker('a'), worker('b', BOOTING)],
        loadState: reports(['a']),
        memory: calm(2),
      },
      [],
    ],
    [
      'wakes a stopped worker',
      {
        group: floor(150),
        workers: [worker('a'), worker('b', STOPPED)],
        loadState: reports(['a']),
        memory: calm(1),
      },
      ['order b Hot Running'],
    ],
    [
      'waits for a waking worker until wakeTimeout',
      { group: floor(50, { wakeTimeout: '25s' }), workers: [worker('a', WAKING)], memory: calm(1) },
      [],
    ],
    [
      'creates two cold workers at a time',
      { group: groupObject({ coldWorkers: 3 }), memory: calm(0) },
      ['create Cold 0', 'create Cold 1'],
    ],
    [
      'reports that its load needs more than maxWorkers',
      {
        group: floor(950, { maxWorkers: 2 }),
        workers: [worker('a'), worker('b')],
        loadState: reports(['a', 'b']),
        memory: calm(2),
      },
      [],
    ],
    [
      'reports workers that maxSpendPerHour blocks',
      {
        group: floor(250, { maxSpendPerHour: '1.20' }),
        workers: [worker('a')],
        loadState: reports(['a']),
        memory: calm(1),
      },
      ['create Hot 0'],
    ],
    [
      'has spec.replicas hot workers while its cold pool follows the load',
      {
        group: groupObject({ replicas: 2 }),
        workers: [worker('a')],
        loadState: reports(['a'], 9000),
        memory: calm(1),
      },
      ['create Hot 0', 'create Cold 1', 'create Cold 2'],
    ],
    [
      'adds two workers for a burst and keeps every hot worker for a minute',
      { workers: [worker('a')], loadState: reports(['a'], 4000), memory: calm(1) },
      ['create Hot 0', 'create Hot 1', 'create Cold 2', 'create Cold 3'],
    ],
    [
      'adds workers to clear waiting work within targetQueueTime',
      { workers: [worker('a')], loadState: reports(['a'], 100, { currentLoad: 2500 }), memory: calm(1) },
      ['create Hot 0', 'create Hot 1'],
    ],
    [
      'accepts figures of any size',
      { group: floor(50), workers: [worker('a')], loadState: reports(['a'], 5e15), memory: calm(1) },
      ['create Hot 0', 'create Hot 1', 'create Cold 2', 'create Cold 3'],
    ],
    [
      'creates one worker to measure performance',
      { group: floor(5000, { expectedPerf: undefined }), memory: calm(0) },
      ['create Hot 0'],
    ],
  ]);
});

describe('a group that shrinks', () => {
  const ready = { status: { everReady: true } };

  table([
    [
      'unpublishes and drains a serving worker before its deletion',
      { group: groupObject({}, ready), workers: [worker('a')], loadState: reports(['a']), memory: calm(1) },
      ['order a Gone Running'],
    ],
    [
      'drains a worker for the cold pool',
      {
        group: groupObject({ coldWorkers: 1 }, ready),
        workers: [worker('a')],
        loadState: reports(['a']),
        memory: calm(1),
      },
      ['order a Cold Running'],
    ],
    [
      'waits for a draining worker until maxQueueTime',
      {
        group: floor(50, { maxQueueTime: '15s' }),
        workers: [worker('a'), worker('b', { desiredRole: 'Gone', ...DRAINING })],
        loadState: reports(['a', 'b'], 0, { inFlight: 1 }),
        memory: calm(1),
      },
      [],
    ],
    [
      'deletes a drained worker',
      {
        group: floor(50),
        workers: [worker('a'), worker('b', { desiredRole: 'Gone', ...DRAINING })],
        loadState: reports(['a', 'b']),
        memory: calm(1),
      },
      ['delete b'],
    ],
    [
      'stops a drained worker of the cold pool',
      {
        group: floor(50, { coldWorkers: 2 }),
        workers: [worker('a'), worker('b', { desiredRole: 'Cold', ...DRAINING })],
        loadState: reports(['a', 'b']),
        memory: calm(1),
      },
      ['order b Cold Stopped'],
    ],
    [
      'waits for a worker that is being deleted',
      {
        group: floor(50),
        workers: [worker('a'), worker('b', { isDeleting: true, isServing: false })],
        loadState: reports(['a']),
        memory: calm(1),
      },
      [],
    ],
    [
      'keeps the last worker for inactivityTimeout after its last work',
      {
        group: groupObject(
          { inactivityTimeout: '10m' },
          { status: { everReady: true, lastActivity: new Date(NOW - 10 * MINUTE + 1000).toISOString() } },
        ),
        workers: [worker('a')],
        loadState: reports(['a']),
        memory: calm(1),
      },
      [],
    ],
    [
      'drains the last worker after inactivityTimeout',
      {
        group: groupObject(
          { inactivityTimeout: '10m' },
          { status: { everReady: true, lastActivity: new Date(NOW - 10 * MINUTE).toISOString() } },
        ),
        workers: [worker('a')],
        loadState: reports(['a']),
        memory: calm(1),
      },
      ['order a Gone Running'],
    ],
    [
      'divides inactivityTimeout by the speed of scaling',
      {
        group: groupObject(
          { inactivityTimeout: '10m' },
          { status: { everReady: true, lastActivity: new Date(NOW - 10 * SECOND).toISOString() } },
        ),
        workers: [worker('a')],
        loadState: reports(['a']),
        memory: calm(1),
        times: { ...observedGroup().clock.times, speed: 60 },
      },
      ['order a Gone Running'],
    ],
    [
      'keeps one worker when scaleToZero is Never',
      {
        group: groupObject({ scaleToZero: 'Never' }, ready),
        workers: [worker('a')],
        loadState: reports(['a']),
        memory: calm(1),
      },
      [],
    ],
  ]);
});

describe('a group that is paused or on hold', () => {
  const paused = (pause: object) => floor(250, { pause });

  table([
    ['creates nothing while scale-up is paused', { group: paused({ scaleUp: true }), memory: calm(0) }, []],
    [
      'deletes nothing while scale-down is paused',
      {
        group: groupObject({ pause: { scaleDown: true } }, { status: { everReady: true } }),
        workers: [worker('a')],
        loadState: reports(['a']),
        memory: calm(1),
      },
      [],
    ],
    [
      'neither creates nor deletes while both are paused',
      { group: paused({ scaleUp: true, scaleDown: true }), workers: [worker('a', BOOTING)], memory: calm(1) },
      [],
    ],
    [
      'keeps old, cold and unwoken workers while both are paused',
      {
        group: paused({ scaleUp: true, scaleDown: true }),
        workers: [
          worker('a', OLD),
          worker('b', { ...STOPPED, ...OLD }),
          worker('c', { ...WAKING, ...OLD, wokenAt: NOW - 5 * MINUTE }),
        ],
        loadState: reports(['a']),
        memory: calm(2),
      },
      [],
    ],
    [
      'keeps a drained worker on hold',
      {
        group: floor(50),
        workers: [worker('a'), worker('b', { desiredRole: 'Gone', isOnHold: true, ...DRAINING })],
        loadState: reports(['a', 'b']),
        memory: calm(1),
      },
      [],
    ],
  ]);
});

describe('a group with a new template', () => {
  const two = [worker('a', OLD), worker('b', OLD)];

  table([
    [
      'replaces its workers one at a time',
      { group: floor(150), workers: two, loadState: reports(['a', 'b']), memory: calm(2) },
      ['order a Gone Running'],
    ],
    [
      'replaces only one worker when all are briefly unready',
      {
        group: floor(150),
        workers: two.map((one) => ({ ...one, isServing: false, wasEverReady: false })),
        memory: calm(2),
      },
      ['delete a'],
    ],
    [
      'replaces all workers at once when maxUnavailable is 100 %',
      {
        group: floor(150, { updateStrategy: { type: 'RollingUpdate', maxUnavailable: '100%' } }),
        workers: two,
        loadState: reports(['a', 'b']),
        memory: calm(2),
      },
      ['order a Gone Running', 'order b Gone Running'],
    ],
    [
      'waits for the new worker while the old one serves',
      {
        group: floor(150),
        workers: [worker('a', OLD), worker('b', BOOTING)],
        loadState: reports(['a']),
        memory: calm(2),
      },
      [],
    ],
    [
      'keeps and reports all workers when no machine can be rented (P1)',
      {
        group: floor(150),
        workers: two,
        loadState: reports(['a', 'b']),
        memory: calm(2),
        outlook: { inHand: new Set(), blocked: { reason: 'NoOffers', detail: 'No offer matches.' } },
      },
      [],
    ],
    [
      'keeps all workers while the search for machines is pending (P1)',
      {
        group: floor(150),
        workers: two,
        loadState: reports(['a', 'b']),
        memory: calm(2),
        outlook: undefined,
      },
      [],
    ],
    [
      'replaces only as many workers as machines can be rented (P1)',
      {
        group: floor(150, { updateStrategy: { type: 'RollingUpdate', maxUnavailable: '100%' } }),
        workers: two,
        loadState: reports(['a', 'b']),
        memory: calm(2),
        outlook: { inHand: new Set(['b']), blocked: { reason: 'NoOffers', detail: 'No offer matches.' } },
      },
      ['order b Gone Running'],
    ],
    [
      'replaces no other worker while a new one is being rented (P1)',
      {
        group: floor(150, { updateStrategy: { type: 'RollingUpdate', maxUnavailable: '100%' } }),
        workers: [worker('a', OLD), worker('b', { ...BOOTING, isRented: false })],
        loadState: reports(['a']),
        memory: calm(2),
      },
      [],
    ],
    [
      'replaces a worker without a machine before the search ends (P1)',
      {
        group: floor(150),
        workers: [worker('a', { ...OLD, ...BOOTING, isRented: false, hasRun: false, wasEverReady: false })],
        memory: calm(2),
        outlook: undefined,
      },
      ['delete a', 'create Hot 0'],
    ],
    [
      'keeps its workers under OnDelete',
      {
        group: floor(150, { updateStrategy: { type: 'OnDelete' } }),
        workers: two,
        loadState: reports(['a', 'b']),
        memory: calm(2),
      },
      [],
    ],
  ]);
});

describe('a group in trouble', () => {
  const short = groupObject({ minLoad: '150', maxWorkers: 2, targetQueueTime: '1s', load: { type: 'Push' } });
  const slow = (since: number | undefined) => ({
    group: short,
    workers: [worker('a'), worker('b')],
    loadState: reports(['a', 'b'], 100, { currentLoad: 101 }),
    memory: calm(2, { slowSince: since }),
  });

  table([
    [
      'reports workers that find no offer',
      { group: floor(150), workers: [worker('a', UNRENTED), worker('b', UNRENTED)], memory: calm(2) },
      [],
    ],
    [
      'is Failed when all workers are stalled',
      { group: floor(50), workers: [worker('a', { isServing: false, isStalled: true })], memory: calm(1) },
      [],
    ],
    [
      'counts stalled workers',
      {
        group: floor(150),
        workers: [worker('a'), worker('b', { isServing: false, isStalled: true })],
        loadState: reports(['a']),
        memory: calm(2),
      },
      [],
    ],
    [
      'replaces a worker after wakeTimeout and reports its host',
      { group: floor(50), workers: [worker('a', { ...WAKING, wokenAt: NOW - MINUTE })], memory: calm(1) },
      ['reportHostFailure a', 'delete a', 'create Hot 0'],
    ],
    [
      'reports a Service with another owner',
      {
        group: floor(50),
        workers: [worker('a')],
        loadState: reports(['a']),
        memory: calm(1),
        published: {
          type: 'problem',
          reason: 'NameTaken',
          detail: 'Service llm is not owned by this group.',
        },
      },
      [],
    ],
    [
      'creates and wakes no worker while none can be published (B05)',
      {
        group: floor(150),
        workers: [worker('a', STOPPED)],
        memory: calm(2),
        published: {
          type: 'problem',
          reason: 'NameTaken',
          detail: 'Service llm is not owned by this group.',
          forAll: true,
        },
      },
      [],
    ],
    [
      'creates workers while one EndpointSlice is taken (B05)',
      {
        group: floor(100),
        workers: [worker('a')],
        loadState: reports(['a']),
        memory: calm(1),
        published: { type: 'problem', reason: 'NameTaken', detail: 'EndpointSlice a-endpoint is taken.' },
      },
      ['create Hot 0'],
    ],
    [
      'reports an address that it may not publish',
      { group: floor(50), workers: [seenAt('a', '10.0.0.8')], loadState: reports(['a']), memory: calm(1) },
      [],
    ],
    [
      'counts unpublished workers and publishes the others',
      {
        group: floor(250),
        workers: [seenAt('a', undefined), seenAt('b', 'fe80::1'), seenAt('c', '2a00::8')],
        loadState: reports(['a', 'b', 'c']),
        memory: calm(3),
      },
      [],
    ],
    [
      'publishes a private address when the operator allows it',
      {
        group: floor(50),
        workers: [seenAt('a', '10.0.0.8')],
        loadState: reports(['a']),
        memory: calm(1),
        allowPrivateAddresses: true,
      },
      [],
    ],
    [
      'is saturated when every ready worker is full',
      {
        group: floor(50, { maxWorkers: 1 }),
        workers: [worker('a')],
        loadState: reports(['a'], 0, { currentLoad: 3000 }),
        memory: calm(1),
      },
      [],
    ],
    [
      'reports unknown performance instead of saturation',
      {
        group: floor(50, { expectedPerf: undefined }),
        workers: [worker('a')],
        loadState: reports(['a'], 100, { currentLoad: 3000, maxPerf: undefined }),
        memory: calm(1),
      },
      [],
    ],
    [
      'does not report unknown performance when spec.replicas is set',
      {
        group: floor(50, { expectedPerf: undefined, replicas: 1 }),
        workers: [worker('a')],
        loadState: reports(['a'], 100, { maxPerf: undefined }),
        memory: calm(1),
      },
      [],
    ],
    [
      'keeps its workers while all are briefly unready',
      {
        group: groupObject({}, { status: { everReady: true } }),
        workers: [worker('a', { isServing: false }), worker('b', { isServing: false })],
        memory: calm(2),
      },
      [],
    ],
    ['notes the time since which work counts as a queue', slow(undefined), []],
    ['does not report a queue before five minutes', slow(NOW - 5 * MINUTE + 1), []],
    ['reports that targetQueueTime is too short after five minutes', slow(NOW - 5 * MINUTE), []],
    [
      'keeps its workers when no figures arrive',
      { workers: [worker('a'), worker('b')], memory: calm(2) },
      [],
    ],
    [
      'keeps its workers when the source is unreachable',
      {
        workers: [worker('a')],
        loadState: withProblem(EMPTY_LOAD, 'uid-a/7', {
          kind: 'unreachable',
          detail: 'worker a: refused',
          at: NOW,
        }),
        memory: calm(1),
      },
      [],
    ],
    [
      'is not Ready without workers when its only source cannot be read',
      {
        source: 'group',
        workers: [],
        loadState: withProblem(EMPTY_LOAD, GROUP_REPORTER, {
          kind: 'unreachable',
          detail: 'Prometheus: the operator runs without --prometheus-url',
          at: NOW,
        }),
        memory: calm(0),
      },
      [],
    ],
    [
      'keeps its workers when figures are invalid',
      {
        workers: [worker('a')],
        loadState: withProblem(reports(['a']), 'uid-a/7', {
          kind: 'invalid',
          detail: 'worker a: load is negative',
          at: NOW,
        }),
        memory: calm(1),
      },
      [],
    ],
  ]);
});

describe('refused writes', () => {
  const refused = [
    { action: 'create 0', detail: 'Cannot create a worker: exceeded quota' },
    { action: 'create 1', detail: 'Cannot create a worker: exceeded quota' },
  ];
  const short = {
    group: floor(250),
    workers: [worker('a')],
    loadState: reports(['a']),
    memory: calm(3),
    refused,
  };
  const { memory } = decide(observedGroup(short));

  table([
    ['are retried at a tick', short, ['create Hot 0', 'create Hot 1']],
    ['wait between ticks', { ...short, memory, isTick: false }, []],
    [
      'are reported when only a cold worker is missing',
      {
        group: floor(50, { coldWorkers: 2 }),
        workers: [worker('a')],
        loadState: reports(['a']),
        memory: calm(1),
        refused,
      },
      ['create Cold 0'],
    ],
    [
      'are reported no more when they are no longer needed',
      { ...short, group: floor(50), memory: calm(1) },
      [],
    ],
  ]);
});

describe('a group that is deleted', () => {
  const deleted = groupObject(
    {},
    {
      metadata: { deletionTimestamp: '2026-11-20T11:59:00Z', generation: 2 },
      status: {
        conditions: [condition('AtMaxWorkers', 'True', '2026-11-20T11:00:00Z')],
        replicas: 2,
        ready: 2,
      },
    },
  );

  table([
    [
      'deletes its workers',
      { group: deleted, workers: [worker('a'), worker('b', { isDeleting: true })] },
      ['delete a'],
    ],
    [
      'reports a worker that cannot be deleted',
      {
        group: deleted,
        workers: [worker('a')],
        refused: [{ action: 'delete a', detail: 'Cannot delete worker a: no right' }],
      },
      ['delete a'],
    ],
    ['is released when they are gone', { group: deleted }, ['release']],
  ]);
});

describe('a group whose record is of a newer version', () => {
  const record = '{"v":2,"pace":"slow"}';
  const newer = (more: object = {}) =>
    statusCodec.decode(
      groupObject(
        { minLoad: '500', ...more },
        {
          metadata: { generation: 2 },
          status: {
            record,
            replicas: 1,
            conditions: [condition('AtMaxWorkers', 'True', '2026-11-20T11:00:00Z')],
          } as object,
        },
      ),
    );
  const outdated = worker('a', { ...OLD });

  table([
    [
      'keeps its workers, and creates none for its load',
      { group: newer(), workers: [outdated, worker('b', DRAINING)] },
      [],
    ],
    [
      'reports WorkersBlocked to callers of its gateway without a ready worker',
      { group: newer({ gateway: {} }), workers: [worker('a', STOPPED)] },
      [],
    ],
  ]);

  test('keeps the record of the newer version', () => {
    const group = newer();
    const { status } = decide(observedGroup({ group, workers: [outdated] }));
    const written = statusCodec.encode({
      ...group,
      status: withStoredForm(status, storedForm(group.status)),
    });
    expect(written.status).toMatchObject({ record, replicas: 1 });
  });

  test('keeps the same status in the next reconcile', () => {
    const group = newer();
    const { status } = decide(observedGroup({ group, workers: [outdated] }));
    const next = decide(
      observedGroup({
        group: { ...group, status: withStoredForm(status, storedForm(group.status)) },
        workers: [outdated],
      }),
    );
    expect(next.status).toEqual(status);
  });

  test('searches for no machines for a new template', () => {
    expect(endingForTemplate(observedGroup({ group: newer(), workers: [outdated, worker('b')] }))).toEqual(
      [],
    );
  });

  test('is deleted with its workers', () => {
    const group = newer();
    const deleted = { ...group, metadata: { ...group.metadata, deletionTimestamp: '2026-11-20T11:59:00Z' } };
    expect(decide(observedGroup({ group: deleted, workers: [worker('a')] })).actions).toMatchObject([
      { type: 'delete' },
    ]);
  });
});

close();
