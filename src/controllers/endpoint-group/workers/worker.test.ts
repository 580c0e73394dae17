import { describe, expect, test } from 'vitest';
import { condition, workerObject } from '../../../../test/builders/group-worker.ts';
import { NOW } from '../../../../test/builders/observed-group.ts';
import { annotations } from '../../../api/v1alpha1/names.ts';
import { type Worker, workerOf } from './worker.ts';

type More = NonNullable<Parameters<typeof workerObject>[1]>;
type Row = readonly [what: string, object: More, wanted: Partial<Worker>];

const noted = (key: keyof typeof annotations, value: string): More => ({
  annotations: { [annotations[key]]: value },
});
const STOPPED = { powerState: 'Stopped' };
const WOKEN = '2026-11-20T11:59:59Z';
const wokenAfter = (...conditions: ReturnType<typeof condition>[]): More => ({
  ...noted('wokenAt', WOKEN),
  status: { observedGeneration: 1, instanceId: '7', actualStatus: 'running', conditions },
});

const wokenWhile = (status: NonNullable<More['status']>): More => ({
  ...noted('wokenAt', WOKEN),
  status: { observedGeneration: 1, instanceId: '7', ...status },
});

const SERVING: readonly Row[] = [
  ['serves', {}, { isServing: true, isUp: true, isStopped: false, isRented: true, wasEverReady: true }],
  [
    'does not serve when it is to stop',
    { spec: STOPPED },
    { isServing: false, isStopped: false, desiredRole: 'Cold' },
  ],
  [
    'does not serve when its machine does not run but its Ready condition is True',
    {
      status: {
        observedGeneration: 1,
        actualStatus: 'exited',
        conditions: [condition('Ready', 'True', '2026-11-20T11:10:00Z')],
      },
    },
    { isServing: false, isUp: false },
  ],
  ['does not serve without a Ready condition', { status: { actualStatus: 'running' } }, { isServing: false }],
  [
    'does not serve when its status is older than its wake',
    { metadata: { generation: 3 }, ...noted('wokenAt', WOKEN) },
    { isServing: false, wokenAt: Date.parse(WOKEN) },
  ],
  [
    'serves when its status is newer than its wake',
    { metadata: { generation: 1 }, ...noted('wokenAt', WOKEN) },
    { isServing: true },
  ],
  [
    'keeps serving when its spec was edited and not reconciled yet',
    { metadata: { generation: 3 } },
    { isServing: true },
  ],
  [
    'was ready once when it has been woken',
    wokenAfter(condition('Ready', 'False', '2026-11-20T11:00:00Z')),
    { isServing: false, wasEverReady: true },
  ],
  ['was ready once when it is stopped', { spec: STOPPED, status: {} }, { wasEverReady: true }],
];

const RUN: readonly Row[] = [
  ['may have served when its machine was seen running', { status: { runningAt: WOKEN } }, { hasRun: true }],
  ['has not served when its machine never ran', { status: { actualStatus: 'loading' } }, { hasRun: false }],
  ['may have served when it is stopped', { spec: STOPPED, status: {} }, { hasRun: true }],
];

const WAKING: readonly Row[] = [
  [
    'has not run since its wake while it boots',
    wokenWhile({ actualStatus: 'loading', runningAt: '2026-11-20T11:00:00Z' }),
    { ranSinceWoken: false },
  ],
  [
    'has run since its wake when it runs',
    wokenWhile({ actualStatus: 'running', runningAt: '2026-11-20T11:00:00Z' }),
    { ranSinceWoken: true },
  ],
  [
    'has run since its wake when it ran and no longer runs',
    wokenWhile({
      ...{ actualStatus: 'exited', runningAt: '2026-11-20T11:00:00Z' },
      lastRunAt: '2026-11-20T12:00:00Z',
    }),
    { ranSinceWoken: true },
  ],
  [
    'has run since its wake when it was never woken',
    { status: {} },
    { ranSinceWoken: true, wokenAt: undefined },
  ],
  ['has not run since its wake when its state is unknown', wokenWhile({}), { ranSinceWoken: false }],
];

const LATE: readonly Row[] = [
  [
    'is overdue 25 minutes after its creation',
    { status: {}, metadata: { creationTimestamp: '2026-11-20T11:34:59Z' } },
    { isOverdue: true, wasEverReady: false, readySince: Date.parse('2026-11-20T11:34:59Z') },
  ],
  [
    'is not overdue before 25 minutes after its creation',
    { status: {}, metadata: { creationTimestamp: '2026-11-20T11:35:00Z' } },
    { isOverdue: false, wasEverReady: false },
  ],
  [
    'is overdue 25 minutes after it was last ready',
    { status: { conditions: [condition('Ready', 'False', '2026-11-20T11:34:59Z')] } },
    { isOverdue: true, readySince: Date.parse('2026-11-20T11:34:59Z') },
  ],
  [
    'is not overdue before 25 minutes after it was last ready',
    { status: { conditions: [condition('Ready', 'False', '2026-11-20T11:35:00Z')] } },
    { isOverdue: false },
  ],
  [
    'is not overdue when it was woken within 25 minutes',
    {
      ...noted('wokenAt', '2026-11-20T11:35:00Z'),
      status: { conditions: [condition('Ready', 'False', '2026-11-20T11:10:00Z')] },
    },
    { isOverdue: false },
  ],
  [
    'is overdue 25 minutes after its wake',
    {
      ...noted('wokenAt', '2026-11-20T11:34:59Z'),
      status: { conditions: [condition('Ready', 'False', '2026-11-20T11:10:00Z')] },
    },
    { isOverdue: true },
  ],
  [
    'is not overdue while it serves',
    { metadata: { creationTimestamp: '2026-11-01T11:00:00Z' } },
    { isOverdue: false },
  ],
];

const MARKS: readonly Row[] = [
  [
    'is desired Hot without annotations',
    { metadata: { annotations: undefined } },
    {
      desiredRole: 'Hot',
      isOnHold: false,
      isMarked: false,
      templateHash: undefined,
      isDeleting: false,
      isStalled: false,
    },
  ],
  ['is desired Cold by its annotation', noted('desiredRole', 'Cold'), { desiredRole: 'Cold' }],
  [
    'is desired Cold when a person stopped it',
    { ...noted('desiredRole', 'Hot'), spec: STOPPED },
    { desiredRole: 'Cold' },
  ],
  [
    'is desired Hot when a person stopped and holds it',
    { annotations: { [annotations.desiredRole]: 'Hot', [annotations.hold]: '' }, spec: STOPPED },
    { desiredRole: 'Hot' },
  ],
  ['is desired Gone by its annotation', noted('desiredRole', 'Gone'), { desiredRole: 'Gone' }],
  [
    'is desired by its power state when the annotation is invalid',
    noted('desiredRole', 'Warm'),
    { desiredRole: 'Hot' },
  ],
  ['is on hold with any value of the annotation', noted('hold', ''), { isOnHold: true }],
  ['is dropped first by its annotation', noted('dropFirst', 'true'), { isMarked: true }],
  [
    'is not dropped first with another value of the annotation',
    noted('dropFirst', 'false'),
    { isMarked: false },
  ],
  [
    'drains since its annotation',
    noted('drainSince', '2026-11-20T11:58:00Z'),
    { drainSince: Date.parse('2026-11-20T11:58:00Z') },
  ],
  ['has the template hash of its annotation', noted('templateHash', 'v1:abc'), { templateHash: 'v1:abc' }],
  ['is being deleted', { metadata: { deletionTimestamp: '2026-11-20T11:58:00Z' } }, { isDeleting: true }],
  [
    'is stalled by its condition',
    { status: { conditions: [condition('Stalled', 'True', '2026-11-20T11:58:00Z')] } },
    { isStalled: true },
  ],
];

const MACHINES: readonly Row[] = [
  ['reports under its machine', {}, { reporter: 'uid-w/7', uid: 'uid-w', gpu: undefined }],
  ['reports under its uid before it has a machine', { status: {} }, { reporter: 'uid-w/', isRented: false }],
  ['has a GPU', { status: { gpu: { name: 'RTX 4090', count: 2, memory: '24000M' } } }, { gpu: '2xRTX 4090' }],
  ['is stopped when it is to stop and has no machine', { spec: STOPPED, status: {} }, { isStopped: true }],
  [
    'is stopped when its machine is stopped',
    { spec: STOPPED, status: { instanceId: '7', actualStatus: 'exited' } },
    { isStopped: true, isRented: true },
  ],
  [
    'is not stopped while its machine still runs',
    { spec: STOPPED, status: { instanceId: '7', actualStatus: 'running' } },
    { isStopped: false },
  ],
  [
    'is not stopped when it is to run',
    { status: { instanceId: '7', actualStatus: 'exited' } },
    { isStopped: false, powerState: 'Running' },
  ],
];

const cost = (pricePerHour: string, storagePricePerHour?: string) => ({
  accrued: '0',
  pricePerHour,
  ...(storagePricePerHour !== undefined && { storagePricePerHour }),
});
const PRICES: readonly Row[] = [
  [
    'costs its offered price before it runs',
    { status: { offerPricePerHour: '0.41' } },
    { pricePerHour: 410_000, coldPricePerHour: undefined, isRented: false },
  ],
  [
    'costs the billed price while it runs',
    { status: { offerPricePerHour: '0.41', actualStatus: 'running', cost: cost('0.43', '0.02') } },
    { pricePerHour: 430_000, coldPricePerHour: 20_000 },
  ],
  [
    'costs its offered price while it runs and no billed price is known',
    { status: { offerPricePerHour: '0.41', actualStatus: 'running' } },
    { pricePerHour: 410_000 },
  ],
  [
    'costs its disk while stopped, and its offered price when it runs',
    { spec: STOPPED, status: { offerPricePerHour: '0.41', actualStatus: 'exited', cost: cost('0.03') } },
    { pricePerHour: 410_000, coldPricePerHour: 30_000 },
  ],
  [
    'keeps its offered price until the stop completes',
    { spec: STOPPED, status: { offerPricePerHour: '0.41', actualStatus: 'running', cost: cost('0.43') } },
    { pricePerHour: 410_000, coldPricePerHour: 430_000 },
  ],
  [
    'costs its offered price while it boots',
    { status: { offerPricePerHour: '0.41', actualStatus: 'loading', cost: cost('0.03') } },
    { pricePerHour: 410_000, coldPricePerHour: undefined },
  ],
];

describe.each([
  ['serving', SERVING],
  ['its first run', RUN],
  ['waking', WAKING],
  ['overdue', LATE],
  ['marks', MARKS],
  ['its machine', MACHINES],
  ['prices', PRICES],
])('%s: a worker', (_, rows) => {
  test.each(rows)('%s', (_sentence, object, wanted) => {
    expect(workerOf(workerObject('w', object), NOW)).toMatchObject(wanted);
  });
});

test('a worker without a status does not serve and costs nothing', () => {
  const { status: _, ...object } = workerObject('w');
  expect(workerOf(object, NOW)).toMatchObject({
    ...{ isServing: false, isRented: false, isStopped: false, isStalled: false },
    ...{ pricePerHour: undefined, coldPricePerHour: undefined, gpu: undefined, reporter: 'uid-w/' },
  });
});
