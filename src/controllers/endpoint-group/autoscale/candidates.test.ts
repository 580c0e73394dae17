import { describe, expect, test } from 'vitest';
import { groupObject, workerObject } from '../../../../test/builders/group-worker.ts';
import { NOW, reports, worker } from '../../../../test/builders/observed-group.ts';
import { annotations } from '../../../api/v1alpha1/names.ts';
import { EMPTY_LOAD, type LoadState } from '../load/state.ts';
import { loadView } from '../load/view.ts';
import { defaultTimes } from '../times.ts';
import { templateHash } from '../workers/template.ts';
import type { Worker } from '../workers/worker.ts';
import {
  expectedPerf,
  mostExpensiveOffer,
  priceOfNew,
  scalingWorkers,
  usualPrice,
  type WorkersInput,
} from './candidates.ts';

const SECOND = 1000;
const ENDED = {
  attempt: 1,
  instanceId: '1',
  reason: 'Exited',
  endedAt: '2026-01-01T00:00:00Z',
  rentedMinutes: 1,
  cost: '0.01',
};
const WAKING = { isServing: false, ranSinceWoken: false, wokenAt: NOW - 40 * SECOND } as const;
const OLD = 'v1:0000000000000000';

interface More
  extends Partial<
    Pick<WorkersInput, 'frozen' | 'unreachable' | 'recordedPerf' | 'accountCap' | 'brokenSince'>
  > {
  readonly loadState?: LoadState;
  readonly spec?: Readonly<Record<string, unknown>>;
}

function input(workers: readonly Worker[], more: More = {}): WorkersInput {
  const { loadState = EMPTY_LOAD, spec = {}, ...rest } = more;
  const group = groupObject(spec);
  return {
    workers,
    load: loadView({
      loadState,
      workers,
      source: 'workers',
      hasGateway: false,
      everReady: true,
      now: NOW,
      times: defaultTimes,
    }),
    templateHash: templateHash(groupObject()),
    now: NOW,
    recordedPerf: undefined,
    frozen: new Set(),
    unreachable: new Set(),
    ...rest,
    spec: group.spec,
  };
}
const offering = (...caps: readonly (string | undefined)[]) => ({
  template: {
    spec: {
      image: 'x',
      offers: caps.map((maxPricePerHour) => ({ ...(maxPricePerHour !== undefined && { maxPricePerHour }) })),
    },
  },
});
/** Returns a load with the reported performance of each reporter. */
function told(...perfs: readonly (readonly [name: string, maxPerf: number | undefined])[]): LoadState {
  const reporters = perfs.flatMap(([name, maxPerf]) => [...reports([name], 0, { maxPerf }).reporters]);
  return { ...EMPTY_LOAD, reporters: new Map(reporters) };
}

describe('the first worker to destroy', () => {
  const keepRank = (given: WorkersInput) =>
    scalingWorkers(given)
      .toSorted((a, b) => a.keepRank - b.keepRank)
      .map(({ name }) => name);

  test('has the fewest requests, and of those is the newest (L1)', () => {
    const busy = (name: string, inFlight: number) => reports([name], 0, { inFlight }).reporters;
    const loadState: LoadState = {
      ...EMPTY_LOAD,
      reporters: new Map([...busy('newest', 3), ...busy('older', 1), ...busy('idle', 0)]),
    };
    const workers = [
      worker('silent', { createdAt: NOW - 9 * SECOND }),
      worker('idle', { createdAt: NOW - 8 * SECOND }),
      worker('older', { createdAt: NOW - 7 * SECOND }),
      worker('newest', { createdAt: NOW }),
    ];
    expect(keepRank(input(workers, { loadState }))).toEqual(['silent', 'idle', 'older', 'newest']);
    expect(keepRank(input(workers.toReversed(), { loadState }))).toEqual([
      'silent',
      'idle',
      'older',
      'newest',
    ]);
  });

  test('is marked, then outdated, unhealthy, newest, then first by name', () => {
    const silent = { readySince: NOW - 90 * SECOND };
    const workers = [
      worker('by-name-b'),
      worker('by-name-a'),
      worker('newest', { createdAt: NOW }),
      worker('stalled', { isStalled: true }),
      worker('old', { templateHash: OLD }),
      worker('marked', { isMarked: true }),
    ];
    const all = ['marked', 'old', 'stalled', 'newest', 'by-name-a', 'by-name-b'];
    expect(keepRank(input(workers, { loadState: reports(all) }))).toEqual(all);
    expect(keepRank(input(workers.toReversed(), { loadState: reports(all) }))).toEqual(all);
    const mute = [worker('well'), worker('silent', silent)];
    expect(keepRank(input(mute, { loadState: reports(['well']) }))).toEqual(['silent', 'well']);
    const broken = reports(['z-broken'], 0, { error: 'out of memory' });
    const loadState = {
      ...broken,
      reporters: new Map([...broken.reporters, ...reports(['well']).reporters]),
    };
    expect(keepRank(input([worker('well'), worker('z-broken')], { loadState }))).toEqual([
      'z-broken',
      'well',
    ]);
  });

  test.each<[string, Partial<Worker>, Partial<Worker>]>([
    ['marked before outdated', { isMarked: true }, { templateHash: OLD }],
    ['not on hold before marked', {}, { isMarked: true, isOnHold: true }],
    ['outdated before unhealthy', { templateHash: OLD }, { isStalled: true }],
    ['unhealthy before new', { isStalled: true }, { createdAt: NOW }],
    ['new before the first by name', { createdAt: NOW }, {}],
  ])('is %s', (_, first, second) => {
    // By name the other one would be first.
    const workers = [worker('a', second), worker('z', first)];
    const loadState = reports(['a', 'z']);
    expect(keepRank(input(workers, { loadState }))).toEqual(['z', 'a']);
    expect(keepRank(input(workers.toReversed(), { loadState }))).toEqual(['z', 'a']);
  });
});

describe('the performance of a worker', () => {
  const perfs = (given: WorkersInput) => scalingWorkers(given).map(({ perf }) => perf);
  /** Returns a worker too young to be silent. */
  const young = (name: string, overrides: Partial<Worker> = {}) =>
    worker(name, { readySince: NOW, ...overrides });
  const other = { gpu: '1xH100' };

  test('is its own, else that of the same GPU, else the usual one, else 0', () => {
    const workers = [young('a'), young('b'), young('c', other), young('d', { gpu: undefined })];
    const loadState = told(['a', 50], ['c', 900]);
    expect(perfs(input(workers, { loadState }))).toEqual([50, 50, 900, 475]);
    expect(perfs(input([young('b', other), young('a')], { loadState: told(['a', 50]) }))).toEqual([50, 50]);
    expect(perfs(input([young('a')]))).toEqual([100]);
    expect(perfs(input([young('a')], { spec: { expectedPerf: undefined } }))).toEqual([0]);
  });

  test('does not treat two workers with unknown GPUs as the same GPU', () => {
    const workers = [young('a', { gpu: undefined }), young('b', { gpu: undefined }), young('c')];
    const loadState = told(['a', 50], ['c', 900]);
    expect(perfs(input(workers, { loadState }))).toEqual([50, 475, 900]);
  });

  test('is 0 while it is silent', () => {
    const workers = [worker('a'), worker('b', { readySince: NOW - 90 * SECOND })];
    expect(perfs(input(workers, { loadState: reports(['a']) }))).toEqual([100, 0]);
  });

  test('of a new worker is that of present workers', () => {
    expect(expectedPerf(input([worker('a'), worker('b')], { loadState: told(['a', 40], ['b', 60]) }))).toBe(
      50,
    );
    expect(expectedPerf(input([worker('a')], { loadState: told(['a', undefined]) }))).toBe(100);
    expect(expectedPerf(input([], { spec: { expectedPerf: undefined } }))).toBeUndefined();
  });

  test('is the recorded one when no worker reported one and the group states none', () => {
    const recordedPerf = '70';
    const spec = { expectedPerf: undefined };
    expect(expectedPerf(input([], { recordedPerf, spec }))).toBe(70);
    expect(expectedPerf(input([], { recordedPerf }))).toBe(100);
    expect(expectedPerf(input([worker('a')], { recordedPerf, spec, loadState: told(['a', 40]) }))).toBe(40);
  });
});

describe('the price limit of a new worker', () => {
  test.each<[string, Record<string, unknown>, readonly Worker[], number | undefined]>([
    ['is the highest of the alternatives', offering('0.60', '0.90', '0.70'), [], 900_000],
    [
      'is that of the template, whatever siblings cost',
      offering('0.60'),
      [worker('a', { pricePerHour: 990_000 })],
      600_000,
    ],
    [
      'is unknown when the template names no price, whatever siblings cost (M1)',
      offering('0.60', undefined),
      [worker('a', { pricePerHour: 410_000 }), worker('b', { pricePerHour: 430_000 })],
      undefined,
    ],
    ['is unknown without alternatives', { template: { spec: { image: 'x' } } }, [], undefined],
  ])('%s', (_, spec, workers, price) => {
    expect(priceOfNew(input(workers, { spec }))).toBe(price);
  });

  test.each<[string, unknown, number | undefined]>([
    ['is that of the account when the template names none (M1)', offering(undefined), 800_000],
    ['is that of the account when it is lower', offering('0.90'), 800_000],
    ['is that of the template when it is lower', offering('0.60'), 600_000],
  ])('%s', (_, spec, price) => {
    const more = { spec: spec as More['spec'] & object, accountCap: 800_000 };
    expect(priceOfNew(input([], more))).toBe(price);
  });

  test.each<[string, unknown, readonly Worker[], number | undefined]>([
    ['is undefined when the template names all prices', offering('0.60'), [], undefined],
    ['is 0 without workers', offering(undefined), [], 0],
    [
      'is the highest price of siblings',
      offering(undefined),
      [worker('a', { pricePerHour: 410_000 }), worker('b', { pricePerHour: 430_000 })],
      430_000,
    ],
    [
      'is the limit of the account while no sibling has a price',
      offering(undefined),
      [worker('a', { pricePerHour: undefined })],
      800_000,
    ],
  ])('as the minimum room %s', (_, spec, workers, price) => {
    const more = { spec: spec as More['spec'] & object, accountCap: 800_000 };
    expect(usualPrice(input(workers, more))).toBe(price);
  });

  test('as the minimum room is infinite when nothing limits it', () => {
    const workers = [worker('a', { pricePerHour: undefined })];
    expect(usualPrice(input(workers, { spec: offering(undefined) }))).toBe(Number.POSITIVE_INFINITY);
  });

  test('is undefined when one alternative names none', () => {
    expect(mostExpensiveOffer(groupObject(offering('0.60', undefined)).spec)).toBeUndefined();
  });
});

describe('for the choice a worker', () => {
  const one = (overrides: Partial<Worker>, more: More = {}) =>
    scalingWorkers(input([worker('a', overrides)], more))[0];

  test.each<[string, Partial<Worker>, string]>([
    ['with role Hot is hot', { desiredRole: 'Hot' }, 'hot'],
    ['with role Cold is cold', { desiredRole: 'Cold' }, 'cold'],
    ['with role Gone is leaving', { desiredRole: 'Gone' }, 'leaving'],
    ['that is being deleted is leaving, with any role', { isDeleting: true }, 'leaving'],
  ])('%s', (_, overrides, role) => {
    expect(one(overrides)?.role).toBe(role);
  });

  test.each<[string, Partial<Worker>, More, object]>([
    [
      'costs its prices',
      { pricePerHour: 1, coldPricePerHour: 2 },
      {},
      { pricePerHour: 1, coldPricePerHour: 2 },
    ],
    [
      'of an unknown price costs the limit of a new one',
      { pricePerHour: undefined, coldPricePerHour: undefined },
      {},
      { pricePerHour: 600_000, coldPricePerHour: 0 },
    ],
    [
      'without a price counts at the limit of its own spec (M1)',
      { pricePerHour: undefined },
      { spec: offering(undefined) },
      { pricePerHour: 600_000 },
    ],
    [
      'without a price counts at the lower limit of its account (M1)',
      { pricePerHour: undefined },
      { spec: offering(undefined), accountCap: 500_000 },
      { pricePerHour: 500_000 },
    ],
    [
      'without a price or a limit counts at the whole ceiling (M1)',
      { pricePerHour: undefined, object: workerObject('a', { spec: { offers: [{}] } }) },
      { spec: { ...offering(undefined), maxSpendPerHour: '2.00' } },
      { pricePerHour: 2_000_000 },
    ],
    [
      'without a price, a limit or a ceiling costs 0',
      { pricePerHour: undefined, object: workerObject('a', { spec: { offers: [{}] } }) },
      { spec: offering(undefined) },
      { pricePerHour: 0 },
    ],
    ...(
      [
        ['has an outdated price limit when it is overdue and may cost more now (M1)', {}, '2.00', true],
        ['has no outdated price limit before it is overdue', { isOverdue: false }, '2.00', false],
        ['has no outdated price limit when it may not cost more', {}, '0.60', false],
        ['has no outdated price limit with a machine', { isRented: true }, '2.00', false],
      ] as const
    ).map(([what, overrides, maxSpendPerHour, hasOldPrice]): [string, Partial<Worker>, More, object] => [
      what,
      { isOverdue: true, isRented: false, pricePerHour: undefined, ...overrides },
      { spec: { ...offering(undefined), maxSpendPerHour } },
      { hasOldPrice },
    ]),
    [
      'has an outdated price limit when its account allows more without a ceiling',
      { isOverdue: true, isRented: false },
      { spec: offering(undefined), accountCap: 700_000 },
      { hasOldPrice: true },
    ],
    [
      'has no outdated price limit when the template names its price',
      { isOverdue: true, isRented: false },
      { accountCap: 700_000 },
      { hasOldPrice: false },
    ],
    ['is running until it is stopped', { isStopped: false }, {}, { isRunning: true }],
    ['that is stopped does not run', { isStopped: true }, {}, { isRunning: false }],
    ['has its reported work', {}, { loadState: reports(['a'], 0, { currentLoad: 70 }) }, { curLoad: 70 }],
    ['has no work without a report', {}, {}, { curLoad: 0, isReady: true }],
    ['that no Service can reach is not ready', {}, { unreachable: new Set(['a']) }, { isReady: false }],
    [
      'that no Service can reach at its address is unreachable',
      {},
      { unreachable: new Set(['a']) },
      { isUnreachable: true },
    ],
    [
      'without an address is not unreachable',
      { object: workerObject('a', { status: {} }) },
      { unreachable: new Set(['a']) },
      { isUnreachable: false },
    ],
    [
      'that does not serve is not unreachable',
      { isServing: false },
      { unreachable: new Set(['a']) },
      { isUnreachable: false },
    ],
    [
      'of a frozen account is exempt from updates',
      {},
      { frozen: new Set(['uid-a']) },
      { isUpdateExempt: true },
    ],
    ['that serves is not exempt from updates', { wokenAt: NOW - SECOND }, {}, { isUpdateExempt: false }],
    ['that wakes is exempt from updates', WAKING, {}, { isUpdateExempt: true }],
    [
      'that has run since its wake and never served is exempt from updates',
      { ...WAKING, ranSinceWoken: true },
      {},
      { isUpdateExempt: true },
    ],
    [
      'that served since its wake is not exempt from updates',
      { ...WAKING, ranSinceWoken: true, readySince: NOW - 20 * SECOND },
      {},
      { isUpdateExempt: false },
    ],
    [
      'that was ready at its wake and not since is exempt from updates',
      { ...WAKING, ranSinceWoken: true, readySince: WAKING.wokenAt },
      {},
      { isUpdateExempt: true },
    ],
    [
      'that wakes for longer than a boot is not exempt from updates',
      { ...WAKING, isOverdue: true },
      {},
      { isUpdateExempt: false },
    ],
    ['whose machine is gone has ended', { hasEnded: true }, {}, { hasEnded: true }],
    [
      'whose machine is missing has not ended while its account is frozen',
      { hasEnded: true },
      { frozen: new Set(['uid-a']) },
      { hasEnded: false },
    ],
    ['that does not serve is not ready', { isServing: false }, {}, { isReady: false }],
    ['of an old template is outdated', { templateHash: OLD }, {}, { isCurrentTemplate: false }],
  ])('%s', (_, overrides, more, wanted) => {
    expect(one(overrides, more)).toMatchObject(wanted);
  });

  const failing = { wokenAt: NOW - 60 * SECOND, ranSinceWoken: false, isServing: false };
  test.each<[string, Partial<Worker>, More, boolean]>([
    ['has failed to wake after wakeTimeout', failing, {}, true],
    ['has not failed to wake before wakeTimeout', { ...failing, wokenAt: NOW - 60 * SECOND + 1 }, {}, false],
    ['has not failed to wake when it ran', { ...failing, ranSinceWoken: true }, {}, false],
    ['has not failed to wake when its role is Cold again', { ...failing, desiredRole: 'Cold' }, {}, false],
    ['has not failed to wake when it was never woken', { ...failing, wokenAt: undefined }, {}, false],
    [
      'has not failed to wake while its start is not requested',
      { ...failing, wakeSince: undefined },
      {},
      false,
    ],
    [
      'has not failed to wake when its start was requested later',
      { ...failing, wakeSince: NOW - SECOND },
      {},
      false,
    ],
    ['has not failed to wake while its account is frozen', failing, { frozen: new Set(['uid-a']) }, false],
  ])('%s', (_, overrides, more, hasFailed) => {
    expect(one(overrides, more)?.hasWakeFailed).toBe(hasFailed);
  });

  const MINUTE = 60 * SECOND;
  /** With at most four machines an hour, a new one is replaced after 15 minutes. */
  const fourInAnHour = workerObject('a', { spec: { replacement: { maxPerHour: 4 } } });
  const unready = {
    object: fourInAnHour,
    createdAt: NOW - 15 * MINUTE,
    isServing: false,
    unreadySince: NOW - 10 * MINUTE,
  };
  const brokenFor = (ms: number): More => ({ brokenSince: new Map([['uid-a/7', NOW - ms]]) });
  test.each<[string, Partial<Worker>, More, boolean]>([
    ['is broken after notReadyTimeout', unready, {}, true],
    ['is not broken before notReadyTimeout', { ...unready, unreadySince: NOW - 10 * MINUTE + 1 }, {}, false],
    [
      'is not broken while it is too young to be replaced',
      { ...unready, createdAt: NOW - 15 * MINUTE + 1 },
      {},
      false,
    ],
    ['is not broken while it is held', { ...unready, isOnHold: true }, {}, false],
    ['is not broken while its account is frozen', unready, { frozen: new Set(['uid-a']) }, false],
    ['is not broken while it serves without an error', {}, {}, false],
    ['is broken after a minute of errors', {}, brokenFor(MINUTE), true],
    ['is not broken after less than a minute of errors', {}, brokenFor(MINUTE - 1), false],
  ])('%s', (_, overrides, more, isBroken) => {
    expect(one(overrides, more)?.isBroken).toBe(isBroken);
  });

  test.each<[string, string, boolean]>([
    ['has an outdated price limit when its siblings leave more room', '1.50', true],
    ['has no outdated price limit when its siblings leave no more room', '1.00', false],
  ])('%s', (_, maxSpendPerHour, hasOldPrice) => {
    const workers = [
      worker('a', { isOverdue: true, isRented: false, pricePerHour: undefined }),
      worker('b', { pricePerHour: 400_000 }),
    ];
    const more = { spec: { ...offering(undefined), maxSpendPerHour } };
    expect(scalingWorkers(input(workers, more))[0]?.hasOldPrice).toBe(hasOldPrice);
  });

  test.each<[string, string | undefined, readonly string[]]>([
    ['is each one when the others already reach the ceiling', '0.40', ['new', 'newer']],
    ['is the newest one when there is room for one of two', '1.30', ['newer']],
    ['is none when all fit', '2.20', []],
    ['is none without a ceiling', undefined, []],
  ])('beyond the ceiling, among those that never had a machine, %s (M1)', (_, maxSpendPerHour, beyond) => {
    const waiting = { isRented: false, isServing: false, pricePerHour: undefined };
    const workers = [
      worker('rented', {
        pricePerHour: 400_000,
        object: workerObject('rented', { status: { instanceId: '1' } }),
      }),
      worker('new', { ...waiting, createdAt: NOW - 2, object: workerObject('new', { status: {} }) }),
      worker('newer', { ...waiting, createdAt: NOW - 1, object: workerObject('newer', { status: {} }) }),
    ];
    const found = scalingWorkers(input(workers, { spec: { ...offering('0.90'), maxSpendPerHour } }));
    expect(found.filter((one) => one.isBeyondCeiling).map(({ name }) => name)).toEqual(beyond);
  });

  test.each<[string, Parameters<typeof workerObject>[1]]>([
    ['has a recorded purchase', { annotations: { 'gpurental.dev/rental-intent': '{}' } }],
    ['had an earlier attempt', { status: { attempt: 1 } }],
    ['lost its machine', { status: { history: [ENDED] } }],
    ['has a machine', { status: { instanceId: '1' } }],
  ])('is not beyond the ceiling when it %s', (_, given) => {
    const workers = [worker('a', { pricePerHour: 900_000, object: workerObject('a', given) })];
    const found = scalingWorkers(input(workers, { spec: { ...offering('0.90'), maxSpendPerHour: '0.40' } }));
    expect(found[0]?.isBeyondCeiling).toBe(false);
  });
});

describe('a worker whose certificate ends soon', () => {
  const DAY = 86_400_000;
  const ofLink = (link: 'TLS' | 'Plain', ageDays: number) => {
    const object = workerObject('w', { annotations: link === 'TLS' ? { [annotations.link]: 'TLS' } : {} });
    const given = input([worker('w', { object, createdAt: NOW - ageDays * DAY })], {
      spec: { gateway: { link } },
    });
    return scalingWorkers(given).map(({ isCurrentTemplate }) => isCurrentTemplate);
  };

  test('is replaced like an outdated one, a month before', () => {
    expect([ofLink('TLS', 334), ofLink('TLS', 336)]).toEqual([[true], [false]]);
  });

  test('is not a worker without a certificate', () => {
    expect(ofLink('Plain', 3 * 365)).toEqual([true]);
  });
});
