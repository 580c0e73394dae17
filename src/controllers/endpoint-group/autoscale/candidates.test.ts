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
/** Load in which each of these reporters has reported its performance. */
function told(...perfs: readonly (readonly [name: string, maxPerf: number | undefined])[]): LoadState {
  const reporters = perfs.flatMap(([name, maxPerf]) => [...reports([name], 0, { maxPerf }).reporters]);
  return { ...EMPTY_LOAD, reporters: new Map(reporters) };
}

describe('who is destroyed first', () => {
  const keepRank = (given: WorkersInput) =>
    scalingWorkers(given)
      .toSorted((a, b) => a.keepRank - b.keepRank)
      .map(({ name }) => name);

  test('is who works on the fewest requests, and of those the newest (L1)', () => {
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

  test('is who was marked, then who is of an old template, sick, new; then the name decides', () => {
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
    ['a marked one before an old one', { isMarked: true }, { templateHash: OLD }],
    ['one that is not on hold before one that is marked', {}, { isMarked: true, isOnHold: true }],
    ['an old one before a sick one', { templateHash: OLD }, { isStalled: true }],
    ['a sick one before a new one', { isStalled: true }, { createdAt: NOW }],
    ['a new one before the first by name', { createdAt: NOW }, {}],
  ])('is %s', (_, first, second) => {
    // By name the other would go first.
    const workers = [worker('a', second), worker('z', first)];
    const loadState = reports(['a', 'z']);
    expect(keepRank(input(workers, { loadState }))).toEqual(['z', 'a']);
    expect(keepRank(input(workers.toReversed(), { loadState }))).toEqual(['z', 'a']);
  });
});

describe('the performance of a worker', () => {
  const perfs = (given: WorkersInput) => scalingWorkers(given).map(({ perf }) => perf);
  /** Too young to be called silent. */
  const young = (name: string, overrides: Partial<Worker> = {}) =>
    worker(name, { readySince: NOW, ...overrides });
  const other = { gpu: '1xH100' };

  test('is its own, else that of its kind, else what is usual, else nothing', () => {
    const workers = [young('a'), young('b'), young('c', other), young('d', { gpu: undefined })];
    const loadState = told(['a', 50], ['c', 900]);
    expect(perfs(input(workers, { loadState }))).toEqual([50, 50, 900, 475]);
    expect(perfs(input([young('b', other), young('a')], { loadState: told(['a', 50]) }))).toEqual([50, 50]);
    expect(perfs(input([young('a')]))).toEqual([100]);
    expect(perfs(input([young('a')], { spec: { expectedPerf: undefined } }))).toEqual([0]);
  });

  test('of two that nothing is known of is not taken for that of one kind', () => {
    const workers = [young('a', { gpu: undefined }), young('b', { gpu: undefined }), young('c')];
    const loadState = told(['a', 50], ['c', 900]);
    expect(perfs(input(workers, { loadState }))).toEqual([50, 475, 900]);
  });

  test('is nothing while it is silent', () => {
    const workers = [worker('a'), worker('b', { readySince: NOW - 90 * SECOND })];
    expect(perfs(input(workers, { loadState: reports(['a']) }))).toEqual([100, 0]);
  });

  test('of a new worker is expected to be what present workers reported', () => {
    expect(expectedPerf(input([worker('a'), worker('b')], { loadState: told(['a', 40], ['b', 60]) }))).toBe(
      50,
    );
    expect(expectedPerf(input([worker('a')], { loadState: told(['a', undefined]) }))).toBe(100);
    expect(expectedPerf(input([], { spec: { expectedPerf: undefined } }))).toBeUndefined();
  });

  test('is the recorded one when no worker reported one and the group expects none', () => {
    const recordedPerf = '70';
    const spec = { expectedPerf: undefined };
    expect(expectedPerf(input([], { recordedPerf, spec }))).toBe(70);
    expect(expectedPerf(input([], { recordedPerf }))).toBe(100);
    expect(expectedPerf(input([worker('a')], { recordedPerf, spec, loadState: told(['a', 40]) }))).toBe(40);
  });
});

describe('what a new worker may cost', () => {
  test.each<[string, Record<string, unknown>, readonly Worker[], number | undefined]>([
    ['is the dearest of the alternatives', offering('0.60', '0.90', '0.70'), [], 900_000],
    [
      'is that one, whatever its siblings cost',
      offering('0.60'),
      [worker('a', { pricePerHour: 990_000 })],
      600_000,
    ],
    [
      'is unknown where no price is named, whatever siblings cost: another offer may cost more (M1)',
      offering('0.60', undefined),
      [worker('a', { pricePerHour: 410_000 }), worker('b', { pricePerHour: 430_000 })],
      undefined,
    ],
    ['is unknown where nothing is offered', { template: { spec: { image: 'x' } } }, [], undefined],
  ])('%s', (_, spec, workers, price) => {
    expect(priceOfNew(input(workers, { spec }))).toBe(price);
  });

  test.each<[string, unknown, number | undefined]>([
    ['is that of the account where no price is named (M1)', offering(undefined), 800_000],
    ['is that of the account where it is lower', offering('0.90'), 800_000],
    ['is that of the template where it is lower', offering('0.60'), 600_000],
  ])('%s', (_, spec, price) => {
    const more = { spec: spec as More['spec'] & object, accountCap: 800_000 };
    expect(priceOfNew(input([], more))).toBe(price);
  });

  test.each<[string, unknown, readonly Worker[], number | undefined]>([
    ['is not asked for where the template names all prices', offering('0.60'), [], undefined],
    ['is nothing yet while there is no worker', offering(undefined), [], 0],
    [
      'is what the dearest sibling costs',
      offering(undefined),
      [worker('a', { pricePerHour: 410_000 }), worker('b', { pricePerHour: 430_000 })],
      430_000,
    ],
    [
      'is what the account allows while none of them has a price',
      offering(undefined),
      [worker('a', { pricePerHour: undefined })],
      800_000,
    ],
  ])('as usual %s', (_, spec, workers, price) => {
    const more = { spec: spec as More['spec'] & object, accountCap: 800_000 };
    expect(usualPrice(input(workers, more))).toBe(price);
  });

  test('as usual is without bound where nothing says it', () => {
    const workers = [worker('a', { pricePerHour: undefined })];
    expect(usualPrice(input(workers, { spec: offering(undefined) }))).toBe(Number.POSITIVE_INFINITY);
  });

  test('has no cap where one alternative names none', () => {
    expect(mostExpensiveOffer(groupObject(offering('0.60', undefined)).spec)).toBeUndefined();
  });
});

describe('for choices a worker', () => {
  const one = (overrides: Partial<Worker>, more: More = {}) =>
    scalingWorkers(input([worker('a', overrides)], more))[0];

  test.each<[string, Partial<Worker>, string]>([
    ['that is wanted hot is hot', { desiredRole: 'Hot' }, 'hot'],
    ['that is wanted cold is cold', { desiredRole: 'Cold' }, 'cold'],
    ['that is wanted gone is leaving', { desiredRole: 'Gone' }, 'leaving'],
    ['that is being deleted is leaving, whatever it is wanted for', { isDeleting: true }, 'leaving'],
  ])('%s', (_, overrides, role) => {
    expect(one(overrides)?.role).toBe(role);
  });

  test.each<[string, Partial<Worker>, More, object]>([
    [
      'costs what it costs',
      { pricePerHour: 1, coldPricePerHour: 2 },
      {},
      { pricePerHour: 1, coldPricePerHour: 2 },
    ],
    [
      'of no known price costs what a new one may',
      { pricePerHour: undefined, coldPricePerHour: undefined },
      {},
      { pricePerHour: 600_000, coldPricePerHour: 0 },
    ],
    [
      'without a price yet counts with what its own spec allows (M1)',
      { pricePerHour: undefined },
      { spec: offering(undefined) },
      { pricePerHour: 600_000 },
    ],
    [
      'without a price yet counts with what its account allows where that is less (M1)',
      { pricePerHour: undefined },
      { spec: offering(undefined), accountCap: 500_000 },
      { pricePerHour: 500_000 },
    ],
    [
      'whose price nothing limits counts with the whole ceiling until it has one (M1)',
      { pricePerHour: undefined, object: workerObject('a', { spec: { offers: [{}] } }) },
      { spec: { ...offering(undefined), maxSpendPerHour: '2.00' } },
      { pricePerHour: 2_000_000 },
    ],
    [
      'costs nothing that anything asks about where there is no ceiling either',
      { pricePerHour: undefined, object: workerObject('a', { spec: { offers: [{}] } }) },
      { spec: offering(undefined) },
      { pricePerHour: 0 },
    ],
    ...(
      [
        ['has an old price where it found no offer in time and may cost more by now (M1)', {}, '2.00', true],
        ['has none while it has time', { isOverdue: false }, '2.00', false],
        ['has none where it may cost no more', {}, '0.60', false],
        ['has none where it has a machine', { isRented: true }, '2.00', false],
      ] as const
    ).map(([what, overrides, maxSpendPerHour, hasOldPrice]): [string, Partial<Worker>, More, object] => [
      what,
      { isOverdue: true, isRented: false, pricePerHour: undefined, ...overrides },
      { spec: { ...offering(undefined), maxSpendPerHour } },
      { hasOldPrice },
    ]),
    [
      'has an old price where its account allows more and there is no ceiling any more',
      { isOverdue: true, isRented: false },
      { spec: offering(undefined), accountCap: 700_000 },
      { hasOldPrice: true },
    ],
    [
      'has none where the template named its price',
      { isOverdue: true, isRented: false },
      { accountCap: 700_000 },
      { hasOldPrice: false },
    ],
    ['runs until it is stopped', { isStopped: false }, {}, { isRunning: true }],
    ['that is stopped does not run', { isStopped: true }, {}, { isRunning: false }],
    ['has the work that it told', {}, { loadState: reports(['a'], 0, { currentLoad: 70 }) }, { curLoad: 70 }],
    ['has no work that it did not tell', {}, {}, { curLoad: 0, isReady: true }],
    ['that no Service can lead to is not ready', {}, { unreachable: new Set(['a']) }, { isReady: false }],
    [
      'that no Service can lead to where it is reached stays out of reach',
      {},
      { unreachable: new Set(['a']) },
      { isUnreachable: true },
    ],
    [
      'whose address is not known yet may come within reach',
      { object: workerObject('a', { status: {} }) },
      { unreachable: new Set(['a']) },
      { isUnreachable: false },
    ],
    [
      'that does not serve may come within reach',
      { isServing: false },
      { unreachable: new Set(['a']) },
      { isUnreachable: false },
    ],
    ['of a frozen account is left by updates', {}, { frozen: new Set(['uid-a']) }, { isUpdateExempt: true }],
    ['that serves is not left by updates', { wokenAt: NOW - SECOND }, {}, { isUpdateExempt: false }],
    ['that wakes is left by updates', WAKING, {}, { isUpdateExempt: true }],
    [
      'that has run since it was woken and never served is left, too',
      { ...WAKING, ranSinceWoken: true },
      {},
      { isUpdateExempt: true },
    ],
    [
      'that served since it was woken is not',
      { ...WAKING, ranSinceWoken: true, readySince: NOW - 20 * SECOND },
      {},
      { isUpdateExempt: false },
    ],
    [
      'that was ready when it was woken, and not since, is left, too',
      { ...WAKING, ranSinceWoken: true, readySince: WAKING.wokenAt },
      {},
      { isUpdateExempt: true },
    ],
    [
      'that wakes for longer than a boot takes is not',
      { ...WAKING, isOverdue: true },
      {},
      { isUpdateExempt: false },
    ],
    ['whose machine has ended has none', { hasEnded: true }, {}, { hasEnded: true }],
    [
      'whose machine is missing may have it while its account is frozen',
      { hasEnded: true },
      { frozen: new Set(['uid-a']) },
      { hasEnded: false },
    ],
    ['that does not serve is not ready', { isServing: false }, {}, { isReady: false }],
    ['of an old template is not of the present one', { templateHash: OLD }, {}, { isCurrentTemplate: false }],
  ])('%s', (_, overrides, more, wanted) => {
    expect(one(overrides, more)).toMatchObject(wanted);
  });

  const failing = { wokenAt: NOW - 60 * SECOND, ranSinceWoken: false, isServing: false };
  test.each<[string, Partial<Worker>, More, boolean]>([
    ['has failed to wake after wakeTimeout', failing, {}, true],
    ['has not a moment before', { ...failing, wokenAt: NOW - 60 * SECOND + 1 }, {}, false],
    ['has not where it ran', { ...failing, ranSinceWoken: true }, {}, false],
    ['has not where it is wanted cold again', { ...failing, desiredRole: 'Cold' }, {}, false],
    ['has not where nobody woke it', { ...failing, wokenAt: undefined }, {}, false],
    ['has not while nobody asks it to start', { ...failing, wakeSince: undefined }, {}, false],
    ['has not where it was asked to later', { ...failing, wakeSince: NOW - SECOND }, {}, false],
    ['has not where the marketplace is what fails', failing, { frozen: new Set(['uid-a']) }, false],
  ])('%s', (_, overrides, more, hasFailed) => {
    expect(one(overrides, more)?.hasWakeFailed).toBe(hasFailed);
  });

  const MINUTE = 60 * SECOND;
  /** At most four machines in an hour: a new one is replaced after 15 minutes. */
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
    ['is not a moment before', { ...unready, unreadySince: NOW - 10 * MINUTE + 1 }, {}, false],
    [
      'is not while it is too young to be replaced',
      { ...unready, createdAt: NOW - 15 * MINUTE + 1 },
      {},
      false,
    ],
    ['is not where it is held', { ...unready, isOnHold: true }, {}, false],
    ['is not where the marketplace is what fails', unready, { frozen: new Set(['uid-a']) }, false],
    ['is not while it serves and reports no error', {}, {}, false],
    ['is broken after a minute of errors', {}, brokenFor(MINUTE), true],
    ['is not after less than a minute of errors', {}, brokenFor(MINUTE - 1), false],
  ])('%s', (_, overrides, more, isBroken) => {
    expect(one(overrides, more)?.isBroken).toBe(isBroken);
  });

  test.each<[string, string, boolean]>([
    ['has an old price where its siblings leave it more than that', '1.50', true],
    ['has none where its siblings leave it no more', '1.00', false],
  ])('%s', (_, maxSpendPerHour, hasOldPrice) => {
    const workers = [
      worker('a', { isOverdue: true, isRented: false, pricePerHour: undefined }),
      worker('b', { pricePerHour: 400_000 }),
    ];
    const more = { spec: { ...offering(undefined), maxSpendPerHour } };
    expect(scalingWorkers(input(workers, more))[0]?.hasOldPrice).toBe(hasOldPrice);
  });

  test.each<[string, string | undefined, readonly string[]]>([
    ['is every one of them where the others cost as much already', '0.40', ['new', 'newer']],
    ['is the newest one where there is room for one of two', '1.30', ['newer']],
    ['is none where all fit', '2.20', []],
    ['is none where there is no ceiling', undefined, []],
  ])('beyond the ceiling, of those that never had a machine, %s (M1)', (_, maxSpendPerHour, beyond) => {
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
    ['has a purchase on record', { annotations: { 'gpurental.dev/rental-intent': '{}' } }],
    ['had one before', { status: { attempt: 1 } }],
    ['lost its machine', { status: { history: [ENDED] } }],
    ['has a machine', { status: { instanceId: '1' } }],
  ])('is not beyond the ceiling where it %s', (_, given) => {
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

  test('is replaced as one of an old template is, a month before', () => {
    expect([ofLink('TLS', 334), ofLink('TLS', 336)]).toEqual([[true], [false]]);
  });

  test('is no worker that has none', () => {
    expect(ofLink('Plain', 3 * 365)).toEqual([true]);
  });
});
