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
    'does not serve while it is to be stopped',
    { spec: STOPPED },
    { isServing: false, isStopped: false, desiredRole: 'Cold' },
  ],
  [
    'does not serve while its machine does not run, whatever was said of it before',
    {
      status: {
        observedGeneration: 1,
        actualStatus: 'exited',
        conditions: [condition('Ready', 'True', '2026-11-20T11:10:00Z')],
      },
    },
    { isServing: false, isUp: false },
  ],
  [
    'does not serve while nothing was said of it',
    { status: { actualStatus: 'running' } },
    { isServing: false },
  ],
  [
    'does not serve by what was said before it was woken',
    { metadata: { generation: 3 }, ...noted('wokenAt', WOKEN) },
    { isServing: false, wokenAt: Date.parse(WOKEN) },
  ],
  [
    'serves by what is said after it was woken',
    { metadata: { generation: 1 }, ...noted('wokenAt', WOKEN) },
    { isServing: true },
  ],
  [
    'goes on serving while an edit of its spec is not judged yet',
    { metadata: { generation: 3 } },
    { isServing: true },
  ],
  [
    'was ready once where it was woken since',
    wokenAfter(condition('Ready', 'False', '2026-11-20T11:00:00Z')),
    { isServing: false, wasEverReady: true },
  ],
  ['was ready once where it is stopped', { spec: STOPPED, status: {} }, { wasEverReady: true }],
];

const RUN: readonly Row[] = [
  ['may have served once its machine was seen running', { status: { runningAt: WOKEN } }, { hasRun: true }],
  ['has not served while its machine was not', { status: { actualStatus: 'loading' } }, { hasRun: false }],
  ['may have served where it is stopped', { spec: STOPPED, status: {} }, { hasRun: true }],
];

const WAKING: readonly Row[] = [
  [
    'has not run since it was woken while it boots',
    wokenWhile({ actualStatus: 'loading', runningAt: '2026-11-20T11:00:00Z' }),
    { ranSinceWoken: false },
  ],
  [
    'has run since once it runs',
    wokenWhile({ actualStatus: 'running', runningAt: '2026-11-20T11:00:00Z' }),
    { ranSinceWoken: true },
  ],
  [
    'has run since where it runs no more',
    wokenWhile({
      ...{ actualStatus: 'exited', runningAt: '2026-11-20T11:00:00Z' },
      lastRunAt: '2026-11-20T12:00:00Z',
    }),
    { ranSinceWoken: true },
  ],
  ['has run since where nobody woke it', { status: {} }, { ranSinceWoken: true, wokenAt: undefined }],
  ['has not run since where nothing is known', wokenWhile({}), { ranSinceWoken: false }],
];

const LATE: readonly Row[] = [
  [
    'is late 25 minutes after its creation',
    { status: {}, metadata: { creationTimestamp: '2026-11-20T11:34:59Z' } },
    { isOverdue: true, wasEverReady: false, readySince: Date.parse('2026-11-20T11:34:59Z') },
  ],
  [
    'is not late until then',
    { status: {}, metadata: { creationTimestamp: '2026-11-20T11:35:00Z' } },
    { isOverdue: false, wasEverReady: false },
  ],
  [
    'is late 25 minutes after it was ready last',
    { status: { conditions: [condition('Ready', 'False', '2026-11-20T11:34:59Z')] } },
    { isOverdue: true, readySince: Date.parse('2026-11-20T11:34:59Z') },
  ],
  [
    'is not late until then, be it old',
    { status: { conditions: [condition('Ready', 'False', '2026-11-20T11:35:00Z')] } },
    { isOverdue: false },
  ],
  [
    'is not late 25 minutes after it was ready last where it was woken since',
    {
      ...noted('wokenAt', '2026-11-20T11:35:00Z'),
      status: { conditions: [condition('Ready', 'False', '2026-11-20T11:10:00Z')] },
    },
    { isOverdue: false },
  ],
  [
    'is late 25 minutes after it was woken',
    {
      ...noted('wokenAt', '2026-11-20T11:34:59Z'),
      status: { conditions: [condition('Ready', 'False', '2026-11-20T11:10:00Z')] },
    },
    { isOverdue: true },
  ],
  [
    'is not late while it serves',
    { metadata: { creationTimestamp: '2026-11-01T11:00:00Z' } },
    { isOverdue: false },
  ],
];

const MARKS: readonly Row[] = [
  [
    'is as it is wanted by nobody in particular',
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
  ['is wanted cold', noted('desiredRole', 'Cold'), { desiredRole: 'Cold' }],
  [
    'is wanted cold where a person has stopped it',
    { ...noted('desiredRole', 'Hot'), spec: STOPPED },
    { desiredRole: 'Cold' },
  ],
  [
    'is wanted hot where a person has stopped it and holds it',
    { annotations: { [annotations.desiredRole]: 'Hot', [annotations.hold]: '' }, spec: STOPPED },
    { desiredRole: 'Hot' },
  ],
  ['is wanted gone', noted('desiredRole', 'Gone'), { desiredRole: 'Gone' }],
  ['is wanted as it is where the mark means nothing', noted('desiredRole', 'Warm'), { desiredRole: 'Hot' }],
  ['is held, whatever the annotation says', noted('hold', ''), { isOnHold: true }],
  ['is to go first', noted('dropFirst', 'true'), { isMarked: true }],
  [
    'is not to go first where the annotation does not say so',
    noted('dropFirst', 'false'),
    { isMarked: false },
  ],
  ['drains', noted('drainSince', '2026-11-20T11:58:00Z'), { drainSince: Date.parse('2026-11-20T11:58:00Z') }],
  ['is of a template', noted('templateHash', 'v1:abc'), { templateHash: 'v1:abc' }],
  ['is being deleted', { metadata: { deletionTimestamp: '2026-11-20T11:58:00Z' } }, { isDeleting: true }],
  [
    'cannot go on',
    { status: { conditions: [condition('Stalled', 'True', '2026-11-20T11:58:00Z')] } },
    { isStalled: true },
  ],
];

const MACHINES: readonly Row[] = [
  ['reports by its machine', {}, { reporter: 'uid-w/7', uid: 'uid-w', gpu: undefined }],
  ['reports by its uid before it has one', { status: {} }, { reporter: 'uid-w/', isRented: false }],
  ['has a GPU', { status: { gpu: { name: 'RTX 4090', count: 2, memory: '24000M' } } }, { gpu: '2xRTX 4090' }],
  ['is stopped where it is to be and has no machine', { spec: STOPPED, status: {} }, { isStopped: true }],
  [
    'is stopped once its machine is',
    { spec: STOPPED, status: { instanceId: '7', actualStatus: 'exited' } },
    { isStopped: true, isRented: true },
  ],
  [
    'is not stopped while its machine runs on',
    { spec: STOPPED, status: { instanceId: '7', actualStatus: 'running' } },
    { isStopped: false },
  ],
  [
    'is not stopped where it is to run',
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
    'costs its offer before it runs',
    { status: { offerPricePerHour: '0.41' } },
    { pricePerHour: 410_000, coldPricePerHour: undefined, isRented: false },
  ],
  [
    'costs what is billed while it runs',
    { status: { offerPricePerHour: '0.41', actualStatus: 'running', cost: cost('0.43', '0.02') } },
    { pricePerHour: 430_000, coldPricePerHour: 20_000 },
  ],
  [
    'costs its offer while it runs and no bill is known',
    { status: { offerPricePerHour: '0.41', actualStatus: 'running' } },
    { pricePerHour: 410_000 },
  ],
  [
    'would cost its offer while it sleeps, and costs its disk',
    { spec: STOPPED, status: { offerPricePerHour: '0.41', actualStatus: 'exited', cost: cost('0.03') } },
    { pricePerHour: 410_000, coldPricePerHour: 30_000 },
  ],
  [
    'costs no price of a stop that has not come yet',
    { spec: STOPPED, status: { offerPricePerHour: '0.41', actualStatus: 'running', cost: cost('0.43') } },
    { pricePerHour: 410_000, coldPricePerHour: 430_000 },
  ],
  [
    'costs its offer while it boots, whatever is billed meanwhile',
    { status: { offerPricePerHour: '0.41', actualStatus: 'loading', cost: cost('0.03') } },
    { pricePerHour: 410_000, coldPricePerHour: undefined },
  ],
];

describe.each([
  ['serving', SERVING],
  ['its first run', RUN],
  ['waking', WAKING],
  ['lateness', LATE],
  ['marks', MARKS],
  ['its machine', MACHINES],
  ['prices', PRICES],
])('%s: a worker', (_, rows) => {
  test.each(rows)('%s', (_sentence, object, wanted) => {
    expect(workerOf(workerObject('w', object), NOW)).toMatchObject(wanted);
  });
});

test('a worker of which nothing is known yet serves no requests and costs nothing', () => {
  const { status: _, ...object } = workerObject('w');
  expect(workerOf(object, NOW)).toMatchObject({
    ...{ isServing: false, isRented: false, isStopped: false, isStalled: false },
    ...{ pricePerHour: undefined, coldPricePerHour: undefined, gpu: undefined, reporter: 'uid-w/' },
  });
});
