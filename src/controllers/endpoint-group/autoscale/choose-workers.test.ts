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
/** One that boots for the pool for the first time. */
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
  { what: 'nothing is wanted and nothing is there', input: {}, changes: [] },
  {
    what: 'new workers where there are none',
    input: { hot: 2, total: 2 },
    changes: ['rent Hot', 'rent Hot'],
  },
  {
    what: 'cold workers before new ones',
    input: { workers: [cold('c')], hot: 2, total: 2 },
    changes: ['wake c', 'rent Hot'],
  },
  {
    what: 'of cold workers the one with most performance per dollar',
    input: { workers: [cold('dear', { pricePerHour: 2 * PRICE }), cold('cheap')], hot: 1, total: 2 },
    changes: ['wake cheap'],
  },
  {
    what: 'one that still runs before one that sleeps, since it costs nothing more',
    input: {
      workers: [cold('asleep', { perf: 900 }), cold('awake', { isRunning: true, isReady: true })],
      hot: 1,
      total: 2,
    },
    changes: ['wake awake'],
  },
  {
    what: 'one that sleeps with the present template before an older one',
    input: {
      workers: [cold('old', { isCurrentTemplate: false, perf: 900 }), cold('new')],
      hot: 1,
      total: 2,
      maxUnavailable: undefined,
    },
    changes: ['wake new'],
  },
  {
    what: 'one that boots for the pool serves in place of a new one',
    input: { workers: [born('b')], hot: 1, total: 1 },
    changes: ['wake b'],
  },
  {
    what: 'one of an old template that boots for the pool is not waited for',
    input: {
      workers: [born('b', { isCurrentTemplate: false })],
      hot: 1,
      total: 2,
      maxUnavailable: undefined,
    },
    changes: ['rent Hot'],
  },
  {
    what: 'two cold workers at a time are made',
    input: { hot: 0, total: 5 },
    changes: ['rent Cold', 'rent Cold'],
  },
  {
    what: 'those that boot for the first time count among the two',
    input: { workers: [born('a')], hot: 0, total: 5 },
    changes: ['rent Cold'],
  },
  {
    what: 'nobody while two boot',
    input: { workers: [born('a'), born('b')], hot: 0, total: 5 },
    changes: [],
  },
];

const DOWN: readonly Row[] = [
  {
    what: 'hot workers beyond the wanted ones go cold while the pool has room',
    input: { workers: hot(3), hot: 1, total: 3, hotCapacity: 100 },
    changes: ['park h0', 'park h1'],
  },
  {
    what: 'and are destroyed where it has none',
    input: { workers: hot(3), hot: 1, total: 2, hotCapacity: 100 },
    changes: ['destroy h0 Surplus', 'park h1'],
  },
  {
    what: 'one past its boot deadline is no use as a cold one',
    input: {
      workers: [worker('late', { isReady: false, wasEverReady: false, hasRun: false, isOverdue: true })],
      hot: 0,
      total: 1,
    },
    changes: ['destroy late Surplus', 'rent Cold'],
  },
  {
    what: 'of unequal ones those that the cheapest cover does not need',
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
    what: 'as many as a lowered maxWorkers asks for, though the load needs them all',
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
    what: 'not one that is held, whatever maxWorkers is now',
    input: {
      workers: [worker('held', { isOnHold: true }), worker('free', { keepRank: 1 })],
      ...{ hot: 1, total: 1, hotCapacity: 150, maxWorkers: 1 },
    },
    changes: ['destroy free Surplus'],
  },
  {
    what: 'none of a cover of exactly maxWorkers, where each is weaker than was thought',
    input: { workers: hot(3, { perf: 60 }), hot: 2, total: 2, hotCapacity: 170, maxWorkers: 3 },
    changes: [],
  },
  {
    what: 'one that serves not before the cheaper one does that boots',
    input: {
      workers: [worker('dear', { pricePerHour: 2 * PRICE }), worker('boots', { isReady: false }), cold('c')],
      hot: 1,
      total: 2,
      hotCapacity: 90,
    },
    changes: [],
  },
  {
    what: 'of those whose number alone counts the one that does not serve',
    input: { workers: [worker('old'), ...hot(2, { isReady: false })], hot: 2, total: 3 },
    changes: ['park h0'],
  },
  {
    what: 'one that serves as soon as those that stay do',
    input: {
      workers: [worker('dear', { pricePerHour: 2 * PRICE }), worker('cheap')],
      hot: 1,
      total: 2,
      hotCapacity: 90,
    },
    changes: ['park dear'],
  },
  {
    what: 'one that serves where fewer than are wanted do all that is asked',
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
    what: 'one that serves where nobody is wanted',
    input: { workers: hot(1), hot: 0, total: 1 },
    changes: ['park h0'],
  },
  {
    what: 'surplus of the pool is destroyed',
    input: { workers: [cold('a', { keepRank: 0 }), cold('b', { keepRank: 1 })], hot: 0, total: 1 },
    changes: ['destroy a Surplus'],
  },
  {
    what: 'no cold one while a hot one is missing for it',
    input: { workers: [cold('a')], hot: 0, total: 1 },
    changes: [],
  },
];

const ORDER: readonly Row[] = [
  {
    what: 'of cold ones that are as good to keep the one that does least for a dollar goes',
    input: { workers: [cold('cheap'), cold('dear', { pricePerHour: 2 * PRICE })], hot: 0, total: 1 },
    changes: ['destroy dear Surplus'],
  },
  {
    what: 'who is to be kept stays, be it dear',
    input: {
      workers: [cold('cheap', { keepRank: 0 }), cold('dear', { keepRank: 1, pricePerHour: 2 * PRICE })],
      hot: 0,
      total: 1,
    },
    changes: ['destroy cheap Surplus'],
  },
  {
    what: 'of cold ones that are alike in all the last by name goes',
    input: { workers: [cold('a'), cold('b')], hot: 0, total: 1 },
    changes: ['destroy b Surplus'],
  },
  {
    what: 'what a held hot one does is asked of no other',
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
    what: 'a held one is not stopped',
    input: { workers: hot(2, { isOnHold: true }), hot: 0, total: 0 },
    changes: [],
  },
  {
    what: 'a held cold one is not destroyed',
    input: { workers: [cold('a', { isOnHold: true })], hot: 0, total: 0 },
    changes: [],
  },
  {
    what: 'a held one that does not wake is left',
    input: {
      workers: [worker('a', { isOnHold: true, hasWakeFailed: true, isReady: false })],
      hot: 1,
      total: 1,
    },
    changes: [],
  },
  {
    what: 'a held one of an old template is left',
    input: { workers: [old('a', { isOnHold: true }), worker('b')], hot: 2, total: 2 },
    changes: [],
  },
  {
    what: 'pause.scaleUp neither wakes nor rents',
    input: { workers: [cold('a'), born('b')], hot: 3, total: 9, pause: { scaleUp: true, scaleDown: false } },
    changes: [],
  },
  {
    what: 'pause.scaleUp does not rent for one that did not wake',
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
    what: 'pause.scaleDown keeps one that did not wake',
    input: {
      workers: [worker('a', { hasWakeFailed: true, isReady: false })],
      hot: 1,
      total: 1,
      pause: { scaleUp: false, scaleDown: true },
    },
    changes: [],
  },
  {
    what: 'pause.scaleUp replaces no old one, since none would come in its place',
    input: {
      workers: [old('a'), cold('b', { isCurrentTemplate: false })],
      hot: 1,
      total: 2,
      pause: { scaleUp: true, scaleDown: false },
    },
    changes: [],
  },
  {
    what: 'pause.scaleDown replaces no old one',
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
    what: 'maxWorkers bounds what is rented',
    input: { workers: hot(2), hot: 5, total: 5, maxWorkers: 3 },
    changes: ['rent Hot'],
  },
  {
    what: 'one that is being destroyed still counts',
    input: { workers: [worker('gone', { role: 'leaving' })], hot: 2, total: 2, maxWorkers: 2 },
    changes: ['rent Hot'],
  },
  {
    what: 'maxWorkers bounds the pool too',
    input: { workers: hot(1), hot: 1, total: 3, maxWorkers: 2 },
    changes: ['rent Cold'],
  },
  {
    what: 'ceiling $6.00 with three cold ones at $0.02 and $0.45 each is 13 hot ones',
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
    what: 'a wake that the ceiling forbids is not made, and counted once',
    input: { workers: [cold('c')], hot: 1, total: 1, ceiling: PRICE - 1 },
    changes: [],
    cut: 1,
  },
  {
    what: 'a worker that the ceiling forbids is counted once, hot and cold together',
    input: { workers: hot(3), hot: 5, total: 5, ceiling: 3 * PRICE },
    changes: [],
    cut: 2,
  },
  {
    what: 'running ones beyond the ceiling stay',
    input: { workers: hot(3), hot: 3, total: 3, ceiling: 1 },
    changes: [],
  },
  {
    what: 'a cold one costs its disk only',
    input: { workers: [cold('a'), cold('b')], hot: 1, total: 2, ceiling: PRICE + 2 * COLD_PRICE },
    changes: ['wake a'],
  },
  {
    what: 'with a ceiling and no price one is rented to learn it, within the ceiling (M1)',
    input: { hot: 3, total: 3, ceiling: 6_000_000, priceOfNew: undefined, usualPrice: 0 },
    changes: ['rent Hot up to 6000000'],
    cut: 2,
  },
  {
    what: 'no other is rented while its price is not known',
    input: {
      ...{ workers: hot(1), hot: 3, total: 3, ceiling: 60 * PRICE, priceOfNew: undefined },
      usualPrice: Number.POSITIVE_INFINITY,
    },
    changes: [],
  },
  {
    what: 'scenario 93: what only the account limits counts at that limit until its price is known (M1)',
    input: { hot: 3, total: 3, ceiling: 2_000_000, priceOfNew: 900_000, usualPrice: 900_000 },
    changes: ['rent Hot up to 900000', 'rent Hot up to 900000'],
    cut: 1,
  },
  {
    what: 'and may cost what the ceiling leaves, as long as that is as much as others cost (M1)',
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
    what: 'nothing is rented for less than others cost',
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
    what: 'without a ceiling a price that the template leaves out is left to the account',
    input: { hot: 1, total: 1, priceOfNew: 5 * PRICE, usualPrice: 0 },
    changes: ['rent Hot'],
  },
];

const TEMPLATES: readonly Row[] = [
  {
    what: 'an old one that serves goes while enough others do',
    input: { workers: [old('a', { keepRank: 0 }), old('b', { keepRank: 1 })], hot: 2, total: 2 },
    changes: ['destroy a OldTemplate'],
  },
  {
    what: 'no other while one is missing',
    input: { workers: [old('a'), worker('b', { isReady: false })], hot: 2, total: 2 },
    changes: [],
  },
  {
    what: 'an old one that never served goes at once',
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
    what: 'of those that ran and are away for a moment no more go than may be missing',
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
    what: 'none that is away for a moment goes while another is missing',
    input: {
      workers: [old('a', { isReady: false }), old('b', { isReady: false }), worker('c', { isReady: false })],
      hot: 3,
      total: 3,
    },
    changes: [],
  },
  {
    what: 'one that is away for a moment goes before one that serves',
    input: { workers: [old('a', { isReady: false, keepRank: 1 }), old('b')], hot: 2, total: 2 },
    changes: ['destroy a OldTemplate'],
  },
  {
    what: 'those that nobody can be led to go at once',
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
    what: 'none of an account that its breaker has frozen goes',
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
    what: 'one that has not come back for longer than a boot takes goes, too',
    input: { workers: [old('a', { isReady: false, isOverdue: true }), worker('b')], hot: 2, total: 2 },
    changes: ['destroy a OldTemplate'],
  },
  {
    what: 'an old one that wakes is let serve first',
    input: { workers: [old('a', { isReady: false, isUpdateExempt: true }), worker('b')], hot: 2, total: 2 },
    changes: [],
  },
  {
    what: 'an old one that is woken now is not destroyed at once',
    input: { workers: [cold('a', { isCurrentTemplate: false })], hot: 1, total: 1 },
    changes: ['wake a'],
  },
  {
    what: 'two may go where maxUnavailable is two',
    input: {
      workers: ['a', 'b', 'c'].map((name, keepRank) => old(name, { keepRank })),
      hot: 3,
      total: 3,
      maxUnavailable: 2,
    },
    changes: ['destroy a OldTemplate', 'destroy b OldTemplate'],
  },
  {
    what: 'old cold ones go two at a time',
    input: {
      workers: ['a', 'b', 'c'].map((name, keepRank) => cold(name, { isCurrentTemplate: false, keepRank })),
      hot: 0,
      total: 3,
    },
    changes: ['destroy a OldTemplate', 'destroy b OldTemplate', 'rent Cold', 'rent Cold'],
  },
  {
    what: 'fewer old cold ones go while others boot for the pool',
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
    what: 'an old cold one goes where the ceiling lets another come once it is gone',
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
    what: 'no old cold one goes where the ceiling lets no other come',
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
    what: 'an old cold one that has not come to rest is woken where the ceiling lets no other come',
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
    what: 'an old cold one that has not come to rest is not woken where others can be rented',
    input: {
      workers: [worker('h'), old('a', { role: 'cold', isReady: false })],
      hot: 3,
      total: 3,
      maxUnavailable: undefined,
    },
    changes: ['rent Hot', 'rent Hot', 'destroy a Surplus'],
  },
  {
    what: 'no old cold one goes before what the ceiling lets come has taken the place of one that is gone',
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
    what: 'no old cold one goes under a ceiling while nothing says what another costs',
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
    what: 'an old one goes where the ceiling leaves what another one costs as a rule',
    input: {
      ...{ workers: [old('a'), old('b')], hot: 2, total: 2, ceiling: 3 * PRICE },
      ...{ priceOfNew: 9 * PRICE, usualPrice: PRICE },
    },
    changes: ['destroy b OldTemplate'],
  },
  {
    what: 'an old cold one that nobody needs goes, whatever the ceiling is',
    input: {
      workers: [cold('a', { isCurrentTemplate: false }), cold('b')],
      hot: 0,
      total: 1,
      ceiling: 2 * COLD_PRICE,
    },
    changes: ['destroy a OldTemplate'],
  },
  {
    what: 'no old one that serves goes where the ceiling lets no other come',
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
    what: 'no old one that is away for a moment goes there, either',
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
    what: 'no old one that serves goes before another has come for one that leaves, where the ceiling lets one come',
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
    what: 'an old one that serves goes in a group that the ceiling keeps smaller than it should be',
    input: { workers: [old('a'), old('b')], hot: 5, total: 5, ceiling: 2 * PRICE, maxUnavailable: 4 },
    changes: ['destroy b OldTemplate'],
    cut: 4,
  },
  {
    what: 'no old cold one goes while places of the pool are still to be taken',
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
    what: 'an old one that leaves already is not sent away again',
    input: { workers: [old('a', { role: 'leaving' }), worker('b')], hot: 1, total: 1 },
    changes: [],
  },
  {
    what: 'none goes under OnDelete',
    input: { workers: [old('a'), old('b')], hot: 2, total: 2, maxUnavailable: undefined },
    changes: [],
  },
];

const FAILED: readonly Row[] = [
  {
    what: 'one that did not wake is destroyed and another rented',
    input: { workers: [worker('a', { hasWakeFailed: true, isReady: false })], hot: 1, total: 1 },
    changes: ['destroy a WakeTimedOut', 'rent Hot'],
  },
  {
    what: 'no other is rented where the load asks for it no more',
    input: {
      workers: [worker('a', { hasWakeFailed: true, isReady: false }), worker('b')],
      hot: 1,
      hotCapacity: 100,
      total: 2,
    },
    changes: ['destroy a WakeTimedOut', 'rent Cold'],
  },
  {
    what: 'no other is rented where that would be too many',
    input: {
      workers: [worker('a', { hasWakeFailed: true, isReady: false })],
      hot: 1,
      total: 1,
      maxWorkers: 1,
    },
    changes: ['destroy a WakeTimedOut'],
  },
  {
    what: 'only one that is wanted hot can fail to wake',
    input: { workers: [cold('a', { hasWakeFailed: true })], hot: 0, total: 1 },
    changes: [],
  },
];

const ended = { hasEnded: true, isReady: false };
const ENDED: readonly Row[] = [
  {
    what: 'one whose machine has ended gives its place to another',
    input: { workers: [worker('a', ended), worker('b')], hot: 2, total: 2 },
    changes: ['destroy a Ended', 'rent Hot'],
  },
  {
    what: 'one with an outdated price limit gives its place to one with the present limit (M1)',
    input: { workers: [worker('a', { hasOldPrice: true, isReady: false }), worker('b')], hot: 2, total: 2 },
    changes: ['destroy a OldPrice', 'rent Hot'],
  },
  {
    what: 'one that waits for a machine beyond the ceiling goes, and none comes in its place (M1)',
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
    what: 'one that waits for a machine beyond the ceiling stays while it is held',
    input: { workers: [worker('a', { isBeyondCeiling: true, isReady: false, isOnHold: true })] },
    changes: [],
  },
  {
    what: 'nobody is woken who has no machine',
    input: { workers: [cold('a', ended), cold('b')], hot: 1, total: 2 },
    changes: ['destroy a Ended', 'wake b', 'rent Cold'],
  },
  {
    what: 'one that is held keeps its place',
    input: { workers: [worker('a', { ...ended, isOnHold: true })], hot: 1, total: 1 },
    changes: [],
  },
  {
    what: 'nobody goes while no other may come',
    input: { workers: [cold('a', ended)], total: 1, pause: { scaleUp: true, scaleDown: false } },
    changes: [],
  },
  {
    what: 'nobody is sent away twice',
    input: { workers: [worker('a', { ...ended, role: 'leaving' })] },
    changes: [],
  },
];

describe.each([
  ['up', UP],
  ['down', DOWN],
  ['order', ORDER],
  ['what people hold', HELD],
  ['bounds', BOUNDS],
  ['templates', TEMPLATES],
  ['failed wakes', FAILED],
  ['ends', ENDED],
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
  test('no choice makes more workers than maxWorkers, or spends beyond the ceiling', () => {
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

  test('no more hot ones that serve stay than are wanted or may be, whatever the load needs', () => {
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

  test('gives each worker one order at most, and only wake to one that leaves or is on hold', () => {
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
