import { describe } from 'vitest';
import { groupDecisionTables } from '../../../test/builders/group-decision-table.ts';
import { condition, groupObject, workerObject } from '../../../test/builders/group-worker.ts';
import { calm, NOW, observedGroup, reports, worker } from '../../../test/builders/observed-group.ts';
import { annotations } from '../../api/v1alpha1/names.ts';
import { decide } from './decide.ts';
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
      'whose workers carry its load changes nothing',
      { workers: [worker('a'), worker('b')], loadState: reports(['a', 'b'], 800), memory: calm(2) },
      [],
    ],
    ['without load and workers is scaled to zero', { memory: calm(0) }, []],
    [
      'with a pool keeps it, and pays for the disks',
      {
        group: groupObject({ coldWorkers: 2 }),
        workers: [worker('a', STOPPED), worker('b', STOPPED)],
        memory: calm(0),
      },
      [],
    ],
    [
      'that finds no offers for its pool says what is missing and why',
      {
        group: groupObject({ coldWorkers: 3 }),
        workers: [worker('a', { ...UNRENTED, desiredRole: 'Cold' }), worker('b', STOPPED)],
        memory: calm(0),
      },
      ['create Cold 0'],
    ],
    [
      'that serves its load and finds no offers for its pool says so, too',
      {
        group: floor(50, { coldWorkers: 2 }),
        workers: [worker('a', { ...UNRENTED, desiredRole: 'Cold' }), worker('b')],
        loadState: reports(['b']),
        memory: calm(1),
      },
      [],
    ],
    [
      'counts what a worker costs by what it is: not rented, stopped, running, of a price that nobody told',
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
      'leads nowhere where its template has no port, and is ready all the same',
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
      'has the name of its Service from the spec',
      {
        group: floor(50, { endpointName: 'shared' }),
        workers: [worker('a')],
        loadState: reports(['a']),
        memory: calm(1),
      },
      [],
    ],
    [
      'echoes what was asked of it',
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
      'rents what a floor asks for',
      { group: floor(250), memory: calm(0) },
      ['create Hot 0', 'create Hot 1', 'create Hot 2'],
    ],
    [
      'waits for those that boot',
      { group: floor(150), workers: [worker('a', BOOTING), worker('b', BOOTING)], memory: calm(2) },
      [],
    ],
    [
      'waits for one of two',
      {
        group: floor(150),
        workers: [worker('a'), worker('b', BOOTING)],
        loadState: reports(['a']),
        memory: calm(2),
      },
      [],
    ],
    [
      'wakes one that sleeps',
      {
        group: floor(150),
        workers: [worker('a'), worker('b', STOPPED)],
        loadState: reports(['a']),
        memory: calm(1),
      },
      ['order b Hot Running'],
    ],
    [
      'waits for one that wakes, and looks when its time is over',
      { group: floor(50, { wakeTimeout: '25s' }), workers: [worker('a', WAKING)], memory: calm(1) },
      [],
    ],
    [
      'makes cold workers two at a time',
      { group: groupObject({ coldWorkers: 3 }), memory: calm(0) },
      ['create Cold 0', 'create Cold 1'],
    ],
    [
      'says that its load needs more than it may have',
      {
        group: floor(950, { maxWorkers: 2 }),
        workers: [worker('a'), worker('b')],
        loadState: reports(['a', 'b']),
        memory: calm(2),
      },
      [],
    ],
    [
      'says what its ceiling keeps it from',
      {
        group: floor(250, { maxSpendPerHour: '1.20' }),
        workers: [worker('a')],
        loadState: reports(['a']),
        memory: calm(1),
      },
      ['create Hot 0'],
    ],
    [
      'has as many hot workers as it is told to have, while its pool follows the load',
      {
        group: groupObject({ replicas: 2 }),
        workers: [worker('a')],
        loadState: reports(['a'], 9000),
        memory: calm(1),
      },
      ['create Hot 0', 'create Cold 1', 'create Cold 2'],
    ],
    [
      'counts a burst within ten seconds, adds two at a time, and keeps every hot worker for a minute',
      { workers: [worker('a')], loadState: reports(['a'], 4000), memory: calm(1) },
      ['create Hot 0', 'create Hot 1', 'create Cold 2', 'create Cold 3'],
    ],
    [
      'clears what waits within its target time',
      { workers: [worker('a')], loadState: reports(['a'], 100, { currentLoad: 2500 }), memory: calm(1) },
      ['create Hot 0', 'create Hot 1'],
    ],
    [
      'takes figures of any size for figures',
      { group: floor(50), workers: [worker('a')], loadState: reports(['a'], 5e15), memory: calm(1) },
      ['create Hot 0', 'create Hot 1', 'create Cold 2', 'create Cold 3'],
    ],
    [
      'measures one worker while nobody has told a performance',
      { group: floor(5000, { expectedPerf: undefined }), memory: calm(0) },
      ['create Hot 0'],
    ],
  ]);
});

describe('a group that shrinks', () => {
  const ready = { status: { everReady: true } };

  table([
    [
      'drains who serves before it goes, and takes it from the Service at once',
      { group: groupObject({}, ready), workers: [worker('a')], loadState: reports(['a']), memory: calm(1) },
      ['order a Gone Running'],
    ],
    [
      'parks who fits into the pool',
      {
        group: groupObject({ coldWorkers: 1 }, ready),
        workers: [worker('a')],
        loadState: reports(['a']),
        memory: calm(1),
      },
      ['order a Cold Running'],
    ],
    [
      'waits for who drains, and looks when nobody may wait any longer',
      {
        group: floor(50, { maxQueueTime: '15s' }),
        workers: [worker('a'), worker('b', { desiredRole: 'Gone', ...DRAINING })],
        loadState: reports(['a', 'b'], 0, { inFlight: 1 }),
        memory: calm(1),
      },
      [],
    ],
    [
      'destroys who has drained',
      {
        group: floor(50),
        workers: [worker('a'), worker('b', { desiredRole: 'Gone', ...DRAINING })],
        loadState: reports(['a', 'b']),
        memory: calm(1),
      },
      ['delete b'],
    ],
    [
      'stops who has drained and is wanted cold',
      {
        group: floor(50, { coldWorkers: 2 }),
        workers: [worker('a'), worker('b', { desiredRole: 'Cold', ...DRAINING })],
        loadState: reports(['a', 'b']),
        memory: calm(1),
      },
      ['order b Cold Stopped'],
    ],
    [
      'waits for who is being destroyed',
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
      'lets it go after that',
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
      'lets it go sooner by as much as scaling runs faster',
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
      'never goes to zero where it must not',
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

describe('a group that people hold', () => {
  const paused = (pause: object) => floor(250, { pause });

  table([
    ['rents nothing while scaling up is paused', { group: paused({ scaleUp: true }), memory: calm(0) }, []],
    [
      'destroys nothing while scaling down is paused',
      {
        group: groupObject({ pause: { scaleDown: true } }, { status: { everReady: true } }),
        workers: [worker('a')],
        loadState: reports(['a']),
        memory: calm(1),
      },
      [],
    ],
    [
      'does neither while both are',
      { group: paused({ scaleUp: true, scaleDown: true }), workers: [worker('a', BOOTING)], memory: calm(1) },
      [],
    ],
    [
      'keeps workers of an old template, cold ones and one that did not wake while both are',
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
      'leaves a held worker that has drained as it is',
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
      'replaces one of those that are away for a moment, and no more',
      {
        group: floor(150),
        workers: two.map((one) => ({ ...one, isServing: false, wasEverReady: false })),
        memory: calm(2),
      },
      ['delete a'],
    ],
    [
      'replaces all of them at once where all may be unavailable',
      {
        group: floor(150, { updateStrategy: { type: 'RollingUpdate', maxUnavailable: '100%' } }),
        workers: two,
        loadState: reports(['a', 'b']),
        memory: calm(2),
      },
      ['order a Gone Running', 'order b Gone Running'],
    ],
    [
      'waits for the new one while the old ones serve',
      {
        group: floor(150),
        workers: [worker('a', OLD), worker('b', BOOTING)],
        loadState: reports(['a']),
        memory: calm(2),
      },
      [],
    ],
    [
      'keeps all workers and says why if no machine can be rented by it (P1)',
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
      'keeps all workers while it is not known whether a machine can be rented by it (P1)',
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
      'ends no more workers than machines can be rented by it (P1)',
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
      'ends no further worker while a new one still rents (P1)',
      {
        group: floor(150, { updateStrategy: { type: 'RollingUpdate', maxUnavailable: '100%' } }),
        workers: [worker('a', OLD), worker('b', { ...BOOTING, isRented: false })],
        loadState: reports(['a']),
        memory: calm(2),
      },
      [],
    ],
    [
      'removes a worker that has no machine without another in hand (P1)',
      {
        group: floor(150),
        workers: [worker('a', { ...OLD, ...BOOTING, isRented: false, hasRun: false, wasEverReady: false })],
        memory: calm(2),
        outlook: undefined,
      },
      ['delete a', 'create Hot 0'],
    ],
    [
      'leaves its workers to people under OnDelete',
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
      'whose workers find no offer says so',
      { group: floor(150), workers: [worker('a', UNRENTED), worker('b', UNRENTED)], memory: calm(2) },
      [],
    ],
    [
      'has failed where no worker can go on',
      { group: floor(50), workers: [worker('a', { isServing: false, isStalled: true })], memory: calm(1) },
      [],
    ],
    [
      'says how many cannot go on',
      {
        group: floor(150),
        workers: [worker('a'), worker('b', { isServing: false, isStalled: true })],
        loadState: reports(['a']),
        memory: calm(2),
      },
      [],
    ],
    [
      'destroys and replaces who did not wake in time, and blames its host',
      { group: floor(50), workers: [worker('a', { ...WAKING, wokenAt: NOW - MINUTE })], memory: calm(1) },
      ['reportHostFailure a', 'delete a', 'create Hot 0'],
    ],
    [
      'says whose Service it is that stands in its way',
      {
        group: floor(50),
        workers: [worker('a')],
        loadState: reports(['a']),
        memory: calm(1),
        published: { type: 'problem', reason: 'NameTaken', detail: 'Service llm belongs to somebody else.' },
      },
      [],
    ],
    [
      'rents and wakes no worker while none could be published (B05)',
      {
        group: floor(150),
        workers: [worker('a', STOPPED)],
        memory: calm(2),
        published: {
          type: 'problem',
          reason: 'NameTaken',
          detail: 'Service llm belongs to somebody else.',
          forAll: true,
        },
      },
      [],
    ],
    [
      'rents on while the slice of one worker is taken (B05)',
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
      'says which address it may not publish',
      { group: floor(50), workers: [seenAt('a', '10.0.0.8')], loadState: reports(['a']), memory: calm(1) },
      [],
    ],
    [
      'says how many more addresses are like the first, and publishes the others',
      {
        group: floor(250),
        workers: [seenAt('a', undefined), seenAt('b', 'fe80::1'), seenAt('c', '2a00::8')],
        loadState: reports(['a', 'b', 'c']),
        memory: calm(3),
      },
      [],
    ],
    [
      'publishes a private address where the operator allows it',
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
      'is saturated where every ready worker is full',
      {
        group: floor(50, { maxWorkers: 1 }),
        workers: [worker('a')],
        loadState: reports(['a'], 0, { currentLoad: 3000 }),
        memory: calm(1),
      },
      [],
    ],
    [
      'is not called full where nobody knows what its worker can do, and says that it waits for that',
      {
        group: floor(50, { expectedPerf: undefined }),
        workers: [worker('a')],
        loadState: reports(['a'], 100, { currentLoad: 3000, maxPerf: undefined }),
        memory: calm(1),
      },
      [],
    ],
    [
      'needs to know of no performance where people say how many are hot',
      {
        group: floor(50, { expectedPerf: undefined, replicas: 1 }),
        workers: [worker('a')],
        loadState: reports(['a'], 100, { maxPerf: undefined }),
        memory: calm(1),
      },
      [],
    ],
    [
      'keeps its workers while all of them are away',
      {
        group: groupObject({}, { status: { everReady: true } }),
        workers: [worker('a', { isServing: false }), worker('b', { isServing: false })],
        memory: calm(2),
      },
      [],
    ],
    ['notes since when work looks like a queue', slow(undefined), []],
    ['says nothing of it before five minutes', slow(NOW - 5 * MINUTE + 1), []],
    ['calls the target too short after five minutes', slow(NOW - 5 * MINUTE), []],
    ['shrinks by no figures where none arrive', { workers: [worker('a'), worker('b')], memory: calm(2) }, []],
    [
      'shrinks by no figures where its source cannot be reached',
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
      'is not Ready where it sleeps and the source that alone knows of its load cannot be asked',
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
      'shrinks by no figures that cannot be true',
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

describe('writes that the API server refuses', () => {
  const refused = [
    { action: 'create 0', detail: 'Making a worker is refused: exceeded quota' },
    { action: 'create 1', detail: 'Making a worker is refused: exceeded quota' },
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
    ['are tried again at a tick', short, ['create Hot 0', 'create Hot 1']],
    ['wait for it between ticks', { ...short, memory, isTick: false }, []],
    [
      'are told of where none but a cold worker is missing',
      {
        group: floor(50, { coldWorkers: 2 }),
        workers: [worker('a')],
        loadState: reports(['a']),
        memory: calm(1),
        refused,
      },
      ['create Cold 0'],
    ],
    ['are told of no more where nothing asks for them', { ...short, group: floor(50), memory: calm(1) }, []],
  ]);
});

describe('a group that is deleted', () => {
  const deleted = groupObject(
    {},
    {
      metadata: { deletionTimestamp: '2026-11-20T11:59:00Z', generation: 2 },
      status: { conditions: [condition('AtMaxWorkers', 'True', '2026-11-20T11:00:00Z')], hot: 2, ready: 2 },
    },
  );

  table([
    [
      'destroys its workers',
      { group: deleted, workers: [worker('a'), worker('b', { isDeleting: true })] },
      ['delete a'],
    ],
    [
      'says which of them may not be destroyed',
      {
        group: deleted,
        workers: [worker('a')],
        refused: [{ action: 'delete a', detail: 'Deleting worker a is refused: no right' }],
      },
      ['delete a'],
    ],
    ['is released when they are gone', { group: deleted }, ['release']],
  ]);
});

close();
