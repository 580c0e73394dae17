import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { chooseWorkers } from './choose-workers.ts';
import type { ChooseInput } from './plan.ts';
import type { ScalingWorker } from './scaling-worker.ts';

const PRICE = 400_000;
const COLD_PRICE = 5_000;

function worker(name: string, overrides: Partial<ScalingWorker> = {}): ScalingWorker {
  return {
    name,
    role: 'hot',
    perf: 100,
    pricePerHour: PRICE,
    coldPricePerHour: COLD_PRICE,
    keepRank: 0,
    isReady: true,
    wasEverReady: true,
    isOverdue: false,
    curLoad: 0,
    isRunning: true,
    isCurrentTemplate: true,
    isOnHold: false,
    hasRun: true,
    isUnreachable: false,
    isUpdateExempt: false,
    hasWakeFailed: false,
    hasEnded: false,
    ...overrides,
  };
}

const cold = (name: string, overrides: Partial<ScalingWorker> = {}) =>
  worker(name, { role: 'cold', isRunning: false, isReady: false, ...overrides });
/** Returns a cold worker in its first boot. */
const born = (name: string, overrides: Partial<ScalingWorker> = {}) =>
  worker(name, { role: 'cold', isReady: false, wasEverReady: false, hasRun: false, ...overrides });
const old = (name: string, overrides: Partial<ScalingWorker> = {}) =>
  worker(name, { isCurrentTemplate: false, ...overrides });

function choose(input: Partial<ChooseInput>): { readonly changes: readonly string[]; readonly cut: number } {
  const { changes, cutByCeiling } = chooseWorkers({
    workers: [],
    hot: 0,
    total: 0,
    hotCapacity: 0,
    maxWorkers: 20,
    ceiling: undefined,
    priceOfNew: PRICE,
    pause: { scaleUp: false, scaleDown: false },
    maxUnavailable: 1,
    ...input,
  });
  const inWords = changes.map((change) => {
    if (change.type === 'rent') {
      const { maxPricePerHour: most } = change;
      return `rent ${change.desiredRole}${most === undefined ? '' : ` up to ${most}`}`;
    }
    return change.type === 'destroy'
      ? `destroy ${change.name} ${change.why}`
      : `${change.type} ${change.name}`;
  });
  return { changes: inWords, cut: cutByCeiling };
}

const hot = (count: number, overrides: Partial<ScalingWorker> = {}) =>
  Array.from({ length: count }, (_, index) => worker(`h${index}`, { keepRank: index, ...overrides }));

interface Row {
  readonly what: string;
  readonly input: Partial<ChooseInput>;
  readonly changes: readonly string[];
  readonly cut?: number;
}

const UP: readonly Row[] = [
  { what: 'nothing without workers and targets', input: {}, changes: [] },
  {
    what: 'new workers if there are none',
    input: { hot: 2, total: 2 },
    changes: ['rent Hot', 'rent Hot'],
  },
  {
    what: 'cold workers before new ones',
    input: { workers: [cold('c')], hot: 2, total: 2 },
    changes: ['wake c', 'rent Hot'],
  },
  {
    what: 'the cold worker with the most performance per dollar',
    input: { workers: [cold('dear', { pricePerHour: 2 * PRICE }), cold('cheap')], hot: 1, total: 2 },
    changes: ['wake cheap'],
  },
  {
    what: 'a running cold worker before a stopped one, since it adds no cost',
    input: {
      workers: [cold('asleep', { perf: 900 }), cold('awake', { isRunning: true, isReady: true })],
      hot: 1,
      total: 2,
    },
    changes: ['wake awake'],
  },
  {
    what: 'a stopped worker of the present template before an outdated one',
    input: {
      workers: [cold('old', { isCurrentTemplate: false, perf: 900 }), cold('new')],
      hot: 1,
      total: 2,
      maxUnavailable: undefined,
    },
    changes: ['wake new'],
  },
  {
    what: 'a booting cold worker instead of a new one',
    input: { workers: [born('b')], hot: 1, total: 1 },
    changes: ['wake b'],
  },
  {
    what: 'a new worker instead of an outdated booting one',
    input: {
      workers: [born('b', { isCurrentTemplate: false })],
      hot: 1,
      total: 2,
      maxUnavailable: undefined,
    },
    changes: ['rent Hot'],
  },
  {
    what: 'two cold workers at one time',
    input: { hot: 0, total: 5 },
    changes: ['rent Cold', 'rent Cold'],
  },
  {
    what: 'cold workers in their first boot count among the two',
    input: { workers: [born('a')], hot: 0, total: 5 },
    changes: ['rent Cold'],
  },
  {
    what: 'no cold worker while two boot',
    input: { workers: [born('a'), born('b')], hot: 0, total: 5 },
    changes: [],
  },
];

const DOWN: readonly Row[] = [
  {
    what: 'surplus hot workers become cold while the pool has room',
    input: { workers: hot(3), hot: 1, total: 3, hotCapacity: 100 },
    changes: ['park h0', 'park h1'],
  },
  {
    what: 'surplus hot workers are destroyed when the pool is full',
    input: { workers: hot(3), hot: 1, total: 2, hotCapacity: 100 },
    changes: ['destroy h0 Surplus', 'park h1'],
  },
  {
    what: 'an overdue worker is destroyed instead of stopped',
    input: {
      workers: [worker('late', { isReady: false, wasEverReady: false, hasRun: false, isOverdue: true })],
      hot: 0,
      total: 1,
    },
    changes: ['destroy late Surplus', 'rent Cold'],
  },
  {
    what: 'unequal workers that the cheapest cover does not need',
    input: {
      workers: [
        worker('a', { perf: 250, pricePerHour: 500_000 }),
        worker('b', { perf: 140, pricePerHour: 200_000 }),
        worker('c', { perf: 142, pricePerHour: 350_000 }),
        worker('d', { perf: 60, pricePerHour: 150_000 }),
      ],
      hot: 3,
      total: 3,
      hotCapacity: 400,
    },
    changes: ['destroy c Surplus'],
  },
  {
    what: 'workers beyond a lowered maxWorkers, even if the load needs them',
    input: {
      workers: [
        worker('a', { keepRank: 1 }),
        worker('b'),
        worker('c', { keepRank: 1, pricePerHour: 2 * PRICE }),
      ],
      ...{ hot: 1, total: 1, hotCapacity: 250, maxWorkers: 1 },
    },
    changes: ['destroy b Surplus', 'destroy c Surplus'],
  },
  {
    what: 'no held worker with a lowered maxWorkers',
    input: {
      workers: [worker('held', { isOnHold: true }), worker('free', { keepRank: 1 })],
      ...{ hot: 1, total: 1, hotCapacity: 150, maxWorkers: 1 },
    },
    changes: ['destroy free Surplus'],
  },
  {
    what: 'no worker of a cover of exactly maxWorkers, when each is weaker than expected',
    input: { workers: hot(3, { perf: 60 }), hot: 2, total: 2, hotCapacity: 170, maxWorkers: 3 },
    changes: [],
  },
  {
    what: 'no serving worker before the cheaper booting one serves',
    input: {
      workers: [worker('dear', { pricePerHour: 2 * PRICE }), worker('boots', { isReady: false }), cold('c')],
      hot: 1,
      total: 2,
      hotCapacity: 90,
    },
    changes: [],
  },
  {
    what: 'the worker that does not serve when only the number counts',
    input: { workers: [worker('old'), ...hot(2, { isReady: false })], hot: 2, total: 3 },
    changes: ['park h0'],
  },
  {
    what: 'a serving worker as soon as the staying ones serve',
    input: {
      workers: [worker('dear', { pricePerHour: 2 * PRICE }), worker('cheap')],
      hot: 1,
      total: 2,
      hotCapacity: 90,
    },
    changes: ['park dear'],
  },
  {
    what: 'a serving worker when fewer than desired cover the capacity',
    input: {
      workers: [
        worker('big', { perf: 300 }),
        worker('dear', { pricePerHour: 2 * PRICE }),
        worker('boots', { isReady: false, isOnHold: true }),
      ],
      hot: 2,
      total: 3,
      hotCapacity: 300,
    },
    changes: ['park dear'],
  },
  {
    what: 'a serving worker when none is desired',
    input: { workers: hot(1), hot: 0, total: 1 },
    changes: ['park h0'],
  },
  {
    what: 'surplus cold workers',
    input: { workers: [cold('a', { keepRank: 0 }), cold('b', { keepRank: 1 })], hot: 0, total: 1 },
    changes: ['destroy a Surplus'],
  },
  {
    what: 'no cold worker while a hot one is missing',
    input: { workers: [cold('a')], hot: 0, total: 1 },
    changes: [],
  },
];

const ORDER: readonly Row[] = [
  {
    what: 'of cold workers of the same rank the one with the least performance per dollar',
    input: { workers: [cold('cheap'), cold('dear', { pricePerHour: 2 * PRICE })], hot: 0, total: 1 },
    changes: ['destroy dear Surplus'],
  },
  {
    what: 'the lower rank even if the other one is more expensive',
    input: {
      workers: [cold('cheap', { keepRank: 0 }), cold('dear', { keepRank: 1, pricePerHour: 2 * PRICE })],
      hot: 0,
      total: 1,
    },
    changes: ['destroy cheap Surplus'],
  },
  {
    what: 'of equal cold workers the last by name',
    input: { workers: [cold('a'), cold('b')], hot: 0, total: 1 },
    changes: ['destroy b Surplus'],
  },
  {
    what: 'counts the performance of a held hot worker',
    input: {
      workers: [worker('held', { isOnHold: true, keepRank: 0 }), ...hot(2)],
      hot: 2,
      total: 2,
      hotCapacity: 200,
    },
    changes: ['destroy h0 Surplus'],
  },
];

const HELD: readonly Row[] = [
  {
    what: 'does not stop a held worker',
    input: { workers: hot(2, { isOnHold: true }), hot: 0, total: 0 },
    changes: [],
  },
  {
    what: 'does not destroy a held cold worker',
    input: { workers: [cold('a', { isOnHold: true })], hot: 0, total: 0 },
    changes: [],
  },
  {
    what: 'keeps a held worker that failed to wake',
    input: {
      workers: [worker('a', { isOnHold: true, hasWakeFailed: true, isReady: false })],
      hot: 1,
      total: 1,
    },
    changes: [],
  },
  {
    what: 'keeps a held outdated worker',
    input: { workers: [old('a', { isOnHold: true }), worker('b')], hot: 2, total: 2 },
    changes: [],
  },
  {
    what: 'pause.scaleUp neither wakes nor rents',
    input: { workers: [cold('a'), born('b')], hot: 3, total: 9, pause: { scaleUp: true, scaleDown: false } },
    changes: [],
  },
  {
    what: 'pause.scaleUp does not rent for a worker that failed to wake',
    input: {
      workers: [worker('a', { hasWakeFailed: true, isReady: false })],
      hot: 1,
      total: 1,
      pause: { scaleUp: true, scaleDown: false },
    },
    changes: ['destroy a WakeTimedOut'],
  },
  {
    what: 'pause.scaleDown neither stops nor destroys',
    input: { workers: [...hot(2), cold('c')], hot: 0, total: 0, pause: { scaleUp: false, scaleDown: true } },
    changes: [],
  },
  {
    what: 'pause.scaleDown keeps a worker that failed to wake',
    input: {
      workers: [worker('a', { hasWakeFailed: true, isReady: false })],
      hot: 1,
      total: 1,
      pause: { scaleUp: false, scaleDown: true },
    },
    changes: [],
  },
  {
    what: 'pause.scaleUp replaces no outdated worker, since its place would stay empty',
    input: {
      workers: [old('a'), cold('b', { isCurrentTemplate: false })],
      hot: 1,
      total: 2,
      pause: { scaleUp: true, scaleDown: false },
    },
    changes: [],
  },
  {
    what: 'pause.scaleDown replaces no outdated worker',
    input: {
      workers: [
        old('a', { isReady: false, wasEverReady: false, hasRun: false }),
        cold('b', { isCurrentTemplate: false }),
      ],
      hot: 1,
      total: 2,
      pause: { scaleUp: false, scaleDown: true },
    },
    changes: [],
  },
];

const BOUNDS: readonly Row[] = [
  {
    what: 'maxWorkers limits rentals',
    input: { workers: hot(2), hot: 5, total: 5, maxWorkers: 3 },
    changes: ['rent Hot'],
  },
  {
    what: 'a leaving worker still counts',
    input: { workers: [worker('gone', { role: 'leaving' })], hot: 2, total: 2, maxWorkers: 2 },
    changes: ['rent Hot'],
  },
  {
    what: 'maxWorkers limits the pool',
    input: { workers: hot(1), hot: 1, total: 3, maxWorkers: 2 },
    changes: ['rent Cold'],
  },
  {
    what: 'ceiling $6.00 with three cold workers at $0.02 and $0.45 each allows 13 hot workers',
    input: {
      workers: [0, 1, 2].map((index) =>
        cold(`c${index}`, { isOnHold: true, coldPricePerHour: 20_000, pricePerHour: 6_000_000 }),
      ),
      hot: 17,
      total: 20,
      ceiling: 6_000_000,
      priceOfNew: 450_000,
    },
    changes: Array(13).fill('rent Hot'),
    cut: 4,
  },
  {
    what: 'a wake beyond the ceiling is omitted and counted once',
    input: { workers: [cold('c')], hot: 1, total: 1, ceiling: PRICE - 1 },
    changes: [],
    cut: 1,
  },
  {
    what: 'a worker beyond the ceiling is counted once as hot and cold',
    input: { workers: hot(3), hot: 5, total: 5, ceiling: 3 * PRICE },
    changes: [],
    cut: 2,
  },
  {
    what: 'running workers beyond the ceiling stay',
    input: { workers: hot(3), hot: 3, total: 3, ceiling: 1 },
    changes: [],
  },
  {
    what: 'a cold worker costs only its disk',
    input: { workers: [cold('a'), cold('b')], hot: 1, total: 2, ceiling: PRICE + 2 * COLD_PRICE },
    changes: ['wake a'],
  },
  {
    what: 'with a ceiling and no price one worker is rented within the ceiling to learn the price (M1)',
    input: { hot: 3, total: 3, ceiling: 6_000_000, priceOfNew: undefined, usualPrice: 0 },
    changes: ['rent Hot up to 6000000'],
    cut: 2,
  },
  {
    what: 'no other worker is rented while its price is unknown',
    input: {
      ...{ workers: hot(1), hot: 3, total: 3, ceiling: 60 * PRICE, priceOfNew: undefined },
      usualPrice: Number.POSITIVE_INFINITY,
    },
    changes: [],
  },
  {
    what: 'scenario 93: a worker that only the account limits counts at that limit until its price is known (M1)',
    input: { hot: 3, total: 3, ceiling: 2_000_000, priceOfNew: 900_000, usualPrice: 900_000 },
    changes: ['rent Hot up to 900000', 'rent Hot up to 900000'],
    cut: 1,
  },
  {
    what: 'a worker may cost the room below the ceiling if that is at least the price of others (M1)',
    input: {
      workers: hot(2),
      hot: 4,
      total: 4,
      ceiling: 4 * PRICE,
      priceOfNew: 5 * PRICE,
      usualPrice: PRICE,
    },
    changes: [`rent Hot up to ${2 * PRICE}`],
    cut: 1,
  },
  {
    what: 'no worker is rented when the room is below the price of others',
    input: {
      workers: hot(2),
      hot: 3,
      total: 3,
      ceiling: 3 * PRICE - 1,
      priceOfNew: 5 * PRICE,
      usualPrice: PRICE,
    },
    changes: [],
    cut: 1,
  },
  {
    what: 'without a ceiling only the account limits a price that the template omits',
    input: { hot: 1, total: 1, priceOfNew: 5 * PRICE, usualPrice: 0 },
    changes: ['rent Hot'],
  },
];

const TEMPLATES: readonly Row[] = [
  {
    what: 'a serving outdated worker is replaced while enough others serve',
    input: { workers: [old('a', { keepRank: 0 }), old('b', { keepRank: 1 })], hot: 2, total: 2 },
    changes: ['destroy a OldTemplate'],
  },
  {
    what: 'no further worker is replaced while one is missing',
    input: { workers: [old('a'), worker('b', { isReady: false })], hot: 2, total: 2 },
    changes: [],
  },
  {
    what: 'an outdated worker that never served is replaced immediately',
    input: {
      workers: [
        old('a', { isReady: false, wasEverReady: false, hasRun: false }),
        worker('b', { isReady: false }),
      ],
      hot: 2,
      total: 2,
    },
    changes: ['destroy a OldTemplate'],
  },
  {
    what: 'briefly unready workers are replaced within maxUnavailable',
    input: {
      workers: ['a', 'b', 'c'].map((name, keepRank) =>
        old(name, { isReady: false, wasEverReady: false, keepRank }),
      ),
      hot: 3,
      total: 3,
      maxUnavailable: 2,
    },
    changes: ['destroy a OldTemplate', 'destroy b OldTemplate'],
  },
  {
    what: 'no briefly unready worker is replaced while another is missing',
    input: {
      workers: [old('a', { isReady: false }), old('b', { isReady: false }), worker('c', { isReady: false })],
      hot: 3,
      total: 3,
    },
    changes: [],
  },
  {
    what: 'a briefly unready worker is replaced before a serving one',
    input: { workers: [old('a', { isReady: false, keepRank: 1 }), old('b')], hot: 2, total: 2 },
    changes: ['destroy a OldTemplate'],
  },
  {
    what: 'unreachable workers are replaced immediately',
    input: {
      workers: [
        old('a', { isReady: false, isUnreachable: true }),
        old('b', { isReady: false, isUnreachable: true, keepRank: 1 }),
      ],
      hot: 2,
      total: 2,
    },
    changes: ['destroy a OldTemplate', 'destroy b OldTemplate'],
  },
  {
    what: 'no worker of a frozen account is replaced',
    input: {
      workers: [
        old('a', { isUpdateExempt: true }),
        cold('b', { isUpdateExempt: true, isCurrentTemplate: false }),
        old('c', { isUpdateExempt: true, isReady: false, isOverdue: true }),
      ],
      hot: 2,
      total: 3,
    },
    changes: [],
  },
  {
    what: 'a worker that is away for longer than a boot is replaced',
    input: { workers: [old('a', { isReady: false, isOverdue: true }), worker('b')], hot: 2, total: 2 },
    changes: ['destroy a OldTemplate'],
  },
  {
    what: 'a waking outdated worker serves first',
    input: { workers: [old('a', { isReady: false, isUpdateExempt: true }), worker('b')], hot: 2, total: 2 },
    changes: [],
  },
  {
    what: 'an outdated worker that is woken now is not destroyed',
    input: { workers: [cold('a', { isCurrentTemplate: false })], hot: 1, total: 1 },
    changes: ['wake a'],
  },
  {
    what: 'two workers are replaced with maxUnavailable 2',
    input: {
      workers: ['a', 'b', 'c'].map((name, keepRank) => old(name, { keepRank })),
      hot: 3,
      total: 3,
      maxUnavailable: 2,
    },
    changes: ['destroy a OldTemplate', 'destroy b OldTemplate'],
  },
  {
    what: 'outdated cold workers are replaced two at a time',
    input: {
      workers: ['a', 'b', 'c'].map((name, keepRank) => cold(name, { isCurrentTemplate: false, keepRank })),
      hot: 0,
      total: 3,
    },
    changes: ['destroy a OldTemplate', 'destroy b OldTemplate', 'rent Cold', 'rent Cold'],
  },
  {
    what: 'fewer outdated cold workers are replaced while others boot for the pool',
    input: {
      workers: [
        born('new'),
        ...['a', 'b'].map((name, keepRank) => cold(name, { isCurrentTemplate: false, keepRank })),
      ],
      hot: 0,
      total: 3,
    },
    changes: ['destroy a OldTemplate', 'rent Cold'],
  },
  {
    what: 'an outdated cold worker is replaced if the ceiling then allows another',
    input: {
      workers: [cold('a', { isCurrentTemplate: false }), cold('b', { isCurrentTemplate: false })],
      hot: 0,
      total: 2,
      ceiling: PRICE + COLD_PRICE,
    },
    changes: ['destroy b OldTemplate'],
    cut: 1,
  },
  {
    what: 'no outdated cold worker is replaced if the ceiling allows no other',
    input: {
      workers: [worker('h'), cold('a', { isCurrentTemplate: false })],
      hot: 1,
      total: 2,
      ceiling: 2 * PRICE - 1,
    },
    changes: [],
    cut: 1,
  },
  {
    what: 'a running outdated cold worker is woken if the ceiling allows no other',
    input: {
      workers: [worker('h'), old('a', { role: 'cold', isReady: false })],
      hot: 3,
      total: 3,
      ceiling: 3 * PRICE - 1,
    },
    changes: ['wake a'],
    cut: 1,
  },
  {
    what: 'a running outdated cold worker is not woken if others can be rented',
    input: {
      workers: [worker('h'), old('a', { role: 'cold', isReady: false })],
      hot: 3,
      total: 3,
      maxUnavailable: undefined,
    },
    changes: ['rent Hot', 'rent Hot', 'destroy a Surplus'],
  },
  {
    what: 'no outdated cold worker is replaced before the last replacement that the ceiling allows exists',
    input: {
      workers: [cold('a', { isCurrentTemplate: false })],
      hot: 0,
      total: 2,
      ceiling: PRICE + COLD_PRICE,
    },
    changes: ['rent Cold'],
    cut: 1,
  },
  {
    what: 'no outdated cold worker is replaced under a ceiling while the price of another is unknown',
    input: {
      workers: [cold('a', { isCurrentTemplate: false })],
      hot: 0,
      total: 1,
      ceiling: 9 * PRICE,
      priceOfNew: undefined,
    },
    changes: [],
    cut: 1,
  },
  {
    what: 'an outdated worker is replaced if the ceiling leaves the usual price of another',
    input: {
      ...{ workers: [old('a'), old('b')], hot: 2, total: 2, ceiling: 3 * PRICE },
      ...{ priceOfNew: 9 * PRICE, usualPrice: PRICE },
    },
    changes: ['destroy b OldTemplate'],
  },
  {
    what: 'an outdated cold worker without need is destroyed at any ceiling',
    input: {
      workers: [cold('a', { isCurrentTemplate: false }), cold('b')],
      hot: 0,
      total: 1,
      ceiling: 2 * COLD_PRICE,
    },
    changes: ['destroy a OldTemplate'],
  },
  {
    what: 'no serving outdated worker is replaced if the ceiling allows no other',
    input: {
      workers: [old('a'), old('b')],
      hot: 2,
      total: 2,
      ceiling: 2 * PRICE + 1,
      priceOfNew: PRICE + 2,
      maxUnavailable: 2,
    },
    changes: [],
    cut: 1,
  },
  {
    what: 'no briefly unready outdated worker is replaced if the ceiling allows no other',
    input: {
      workers: [old('a', { isReady: false }), old('b')],
      hot: 2,
      total: 2,
      ceiling: 2 * PRICE,
      priceOfNew: PRICE + 1,
    },
    changes: [],
    cut: 1,
  },
  {
    what: 'no serving outdated worker is replaced before a leaving one is, if the ceiling allows one',
    input: {
      workers: [old('a', { role: 'leaving' }), old('b')],
      hot: 2,
      total: 2,
      ceiling: 3 * PRICE,
      priceOfNew: 2 * PRICE,
      maxUnavailable: 2,
    },
    changes: [],
    cut: 1,
  },
  {
    what: 'a serving outdated worker is replaced in a group that the ceiling keeps too small',
    input: { workers: [old('a'), old('b')], hot: 5, total: 5, ceiling: 2 * PRICE, maxUnavailable: 4 },
    changes: ['destroy b OldTemplate'],
    cut: 4,
  },
  {
    what: 'no outdated cold worker is replaced while the pool has free places',
    input: {
      workers: [
        ...['a', 'b', 'c'].map((name) => cold(name, { isCurrentTemplate: false })),
        ...['d', 'e'].map((name) => cold(name, { role: 'leaving' })),
      ],
      hot: 0,
      total: 5,
      maxWorkers: 5,
    },
    changes: [],
  },
  {
    what: 'a leaving outdated worker is not destroyed again',
    input: { workers: [old('a', { role: 'leaving' }), worker('b')], hot: 1, total: 1 },
    changes: [],
  },
  {
    what: 'no worker is replaced with OnDelete',
    input: { workers: [old('a'), old('b')], hot: 2, total: 2, maxUnavailable: undefined },
    changes: [],
  },
];

const FAILED: readonly Row[] = [
  {
    what: 'a worker that failed to wake is destroyed and another rented',
    input: { workers: [worker('a', { hasWakeFailed: true, isReady: false })], hot: 1, total: 1 },
    changes: ['destroy a WakeTimedOut', 'rent Hot'],
  },
  {
    what: 'no other is rented when the load no longer needs it',
    input: {
      workers: [worker('a', { hasWakeFailed: true, isReady: false }), worker('b')],
      hot: 1,
      hotCapacity: 100,
      total: 2,
    },
    changes: ['destroy a WakeTimedOut', 'rent Cold'],
  },
  {
    what: 'no other is rented beyond maxWorkers',
    input: {
      workers: [worker('a', { hasWakeFailed: true, isReady: false })],
      hot: 1,
      total: 1,
      maxWorkers: 1,
    },
    changes: ['destroy a WakeTimedOut'],
  },
  {
    what: 'only a hot worker can fail to wake',
    input: { workers: [cold('a', { hasWakeFailed: true })], hot: 0, total: 1 },
    changes: [],
  },
];

const ended = { hasEnded: true, isReady: false };
const ENDED: readonly Row[] = [
  {
    what: 'a worker whose machine has ended is replaced',
    input: { workers: [worker('a', ended), worker('b')], hot: 2, total: 2 },
    changes: ['destroy a Ended', 'rent Hot'],
  },
  {
    what: 'a worker with an outdated price limit is replaced by one with the present limit (M1)',
    input: { workers: [worker('a', { hasOldPrice: true, isReady: false }), worker('b')], hot: 2, total: 2 },
    changes: ['destroy a OldPrice', 'rent Hot'],
  },
  {
    what: 'a worker that waits for a machine beyond the ceiling is destroyed and not replaced (M1)',
    input: {
      workers: [worker('a', { isBeyondCeiling: true, isReady: false, pricePerHour: 900_000 }), worker('b')],
      hot: 2,
      total: 2,
      ceiling: 1_000_000,
      priceOfNew: 900_000,
    },
    changes: ['destroy a BeyondCeiling'],
    cut: 1,
  },
  {
    what: 'a held worker that waits for a machine beyond the ceiling stays',
    input: { workers: [worker('a', { isBeyondCeiling: true, isReady: false, isOnHold: true })] },
    changes: [],
  },
  {
    what: 'no worker without a machine is woken',
    input: { workers: [cold('a', ended), cold('b')], hot: 1, total: 2 },
    changes: ['destroy a Ended', 'wake b', 'rent Cold'],
  },
  {
    what: 'a held worker stays',
    input: { workers: [worker('a', { ...ended, isOnHold: true })], hot: 1, total: 1 },
    changes: [],
  },
  {
    what: 'no worker is destroyed while scaling up is paused',
    input: { workers: [cold('a', ended)], total: 1, pause: { scaleUp: true, scaleDown: false } },
    changes: [],
  },
  {
    what: 'no worker is destroyed twice',
    input: { workers: [worker('a', { ...ended, role: 'leaving' })] },
    changes: [],
  },
];

describe.each([
  ['up', UP],
  ['down', DOWN],
  ['order', ORDER],
  ['holds', HELD],
  ['bounds', BOUNDS],
  ['templates', TEMPLATES],
  ['failed wakes', FAILED],
  ['ended workers', ENDED],
])('%s', (_, rows) => {
  test.each(rows)('$what', ({ input, changes, cut = 0 }) => {
    expect(choose(input)).toEqual({ changes, cut });
  });
});

const workers = fc.uniqueArray(
  fc.record({
    name: fc.string({ minLength: 1, maxLength: 3 }),
    role: fc.constantFrom('hot' as const, 'cold' as const, 'leaving' as const),
    perf: fc.integer({ min: 0, max: 300 }),
    pricePerHour: fc.integer({ min: 1, max: 900_000 }),
    coldPricePerHour: fc.integer({ min: 0, max: 20_000 }),
    keepRank: fc.nat(20),
    isReady: fc.boolean(),
    wasEverReady: fc.boolean(),
    isOverdue: fc.boolean(),
    curLoad: fc.nat(1000),
    isRunning: fc.boolean(),
    isCurrentTemplate: fc.boolean(),
    isOnHold: fc.boolean(),
    hasRun: fc.boolean(),
    isUnreachable: fc.boolean(),
    isUpdateExempt: fc.boolean(),
    hasWakeFailed: fc.boolean(),
    hasEnded: fc.boolean(),
  }),
  { maxLength: 10, selector: ({ name }) => name },
);
const wants = fc.record({
  workers,
  hot: fc.nat(12),
  total: fc.nat(14),
  hotCapacity: fc.nat(1500),
  maxWorkers: fc.integer({ min: 1, max: 12 }),
  ceiling: fc.option(fc.nat(5_000_000), { nil: undefined }),
  priceOfNew: fc.integer({ min: 1, max: 900_000 }),
  usualPrice: fc.option(fc.integer({ min: 0, max: 900_000 }), { nil: undefined }),
  pause: fc.record({ scaleUp: fc.boolean(), scaleDown: fc.boolean() }),
  maxUnavailable: fc.option(fc.integer({ min: 1, max: 4 }), { nil: undefined }),
});

describe('properties', () => {
  test('never rents beyond maxWorkers or spends beyond the ceiling', () => {
    fc.assert(
      fc.property(wants, (input) => {
        const { changes } = chooseWorkers(input);
        const rents = changes.filter((change) => change.type === 'rent');
        const rented = rents.length;
        if (rented > 0) expect(input.workers.length + rented).toBeLessThanOrEqual(input.maxWorkers);
        const woken = changes.flatMap((change) =>
          change.type === 'wake' ? input.workers.filter(({ name }) => name === change.name) : [],
        );
        const more = woken.filter(({ isRunning }) => !isRunning);
        const added = more.reduce(
          (sum, one) => sum + one.pricePerHour - one.coldPricePerHour,
          rents.reduce((sum, { maxPricePerHour = input.priceOfNew }) => sum + maxPricePerHour, 0),
        );
        const present = input.workers.reduce(
          (sum, one) => sum + (one.isRunning ? one.pricePerHour : one.coldPricePerHour),
          0,
        );
        if (added > 0 && input.ceiling !== undefined)
          expect(present + added).toBeLessThanOrEqual(input.ceiling);
      }),
    );
  });

  test('keeps at most as many serving hot workers as desired or allowed', () => {
    fc.assert(
      fc.property(wants, (input) => {
        const serving = input.workers.map((one) => ({
          ...one,
          ...{ isReady: true, isOnHold: false, hasWakeFailed: false },
        }));
        const pause = { ...input.pause, scaleDown: false };
        const { changes } = chooseWorkers({ ...input, workers: serving, pause });
        const ends = changes.filter(({ type }) => type === 'park' || type === 'destroy');
        const told = new Set(ends.flatMap((change) => ('name' in change ? [change.name] : [])));
        const left = serving.filter(({ name, role }) => role === 'hot' && !told.has(name));
        expect(left.length).toBeLessThanOrEqual(Math.max(input.hot, input.maxWorkers));
      }),
    );
  });

  test('stops and destroys no worker while scaling down is paused', () => {
    fc.assert(
      fc.property(wants, (input) => {
        const pause = { ...input.pause, scaleDown: true };
        const ends = chooseWorkers({ ...input, pause }).changes.filter(
          ({ type }) => type === 'park' || type === 'destroy',
        );
        expect(ends).toEqual([]);
      }),
    );
  });

  test('changes each worker at most once, no leaving one, and only wakes a held one', () => {
    fc.assert(
      fc.property(wants, (input) => {
        const named = chooseWorkers(input).changes.flatMap((change) =>
          change.type === 'rent' ? [] : [change],
        );
        const byName = new Map(input.workers.map((one) => [one.name, one]));
        for (const change of named) {
          const one = byName.get(change.name);
          expect(one?.role).not.toBe('leaving');
          if (one?.isOnHold) expect(change.type).toBe('wake');
        }
        expect(new Set(named.map(({ name }) => name)).size).toBe(named.length);
      }),
    );
  });
});
