import type { Mutant } from './mutant.ts';

const KEEPER = 'accounts/ledger-keeper.ts';
const LEDGER = 'ledger/ledger.ts';
const MACHINES = 'ledger/machine-cost.ts';
const COMPACT = 'ledger/compact.ts';

const unseen =
  'The oracle of stories compares objects with the bill, not the ledger; worlds at the end of a month compare that.';

/** Mutants of the record of costs: each loses, doubles or misplaces the cost of a machine. */
export const LEDGER_MUTANTS: readonly Mutant[] = [
  {
    name: 'ledger-without-ended',
    loses: 'the cost of a machine that ended while its object lives',
    file: KEEPER,
    find: 'add(deleted, (input) => objects.flatMap((instance) => endedEntries(instance, input)));',
    replace:
      'add(deleted, (input) => objects.slice(objects.length).flatMap((instance) => endedEntries(instance, input)));',
  },
  {
    name: 'ledger-without-deleted',
    loses: 'the cost of the last machine of a deleted object',
    file: KEEPER,
    find: 'waiting.flatMap(({ instance, end }) => endedEntries(instance, input, end)),',
    replace: 'waiting.flatMap(({ instance }) => endedEntries(instance, input)),',
  },
  {
    name: 'ledger-counts-twice',
    loses: 'that a machine counts once, however often it is added',
    file: LEDGER,
    find: 'findIndex((other) => machineKey(other) === key);',
    replace: 'findIndex((other) => machineKey(other) === key && other.cost < 0);',
    unseen,
  },
  {
    name: 'ledger-compaction-loses',
    loses: 'the first machine of a month that is compacted',
    file: COMPACT,
    find: '[...month.sums, ...month.entries.flatMap(daySums)]',
    replace: '[...month.sums, ...month.entries.slice(1).flatMap(daySums)]',
    unseen,
  },
  {
    name: 'ledger-forgets-compacted',
    loses: 'that a compacted machine that an object still shows is not added again',
    file: LEDGER,
    find: 'if (month.counted.has(key)) return month;',
    replace: 'if (month.counted.has(key) && entry.cost < 0) return month;',
    unseen,
  },
  {
    name: 'ledger-wrong-month',
    loses: 'that a machine that ended in the first moment of a month belongs to the month before',
    file: MACHINES,
    find: 'const last = monthName(Math.max(start, until - 1));',
    replace: 'const last = monthName(Math.max(start, until));',
    unseen,
  },
  {
    name: 'ledger-closes-early',
    loses: 'the time in which lists may still end a machine in the month before',
    file: MACHINES,
    find: 'const until = monthStart(now - graceMs);',
    replace: 'const until = monthStart(now - 0 * graceMs);',
    unseen,
  },
  {
    name: 'ledger-at-last-price',
    loses: 'the prices that a machine had before the last one',
    file: MACHINES,
    find: 'costUntil: (at) => machineCostUntil(status, at),',
    replace:
      'costUntil: (at) => Math.round(((parseDollars(cost.pricePerHour) ?? 0) * Math.max(0, at - (parseTime(rentedAt) ?? at))) / 3_600_000) + 0 * (machineCostUntil(status, at) ?? 0),',
    unseen,
  },
  {
    name: 'ledger-forgets-at-restart',
    loses: 'what an earlier process wrote',
    file: KEEPER,
    find: 'readLedger(new Map([...this.#deleted, ...this.#storedData()])',
    replace: 'readLedger(new Map([...this.#deleted])',
    unseen,
  },
  {
    name: 'ledger-overwrites-edit',
    loses: 'that a write names the version that it replaces, so that an edit is read first',
    file: KEEPER,
    find: 'metadata: { resourceVersion: before.version },',
    replace: 'metadata: {},',
    unseen,
  },
  {
    name: 'ledger-forgets-deleted-map',
    loses: 'the lines of a ConfigMap that a person deleted',
    file: KEEPER,
    find: 'if (!found.has(name)) this.#deleted.set(name, data);',
    replace: 'if (!found.has(name) && name === data.month) this.#deleted.set(name, data);',
    unseen,
  },
  {
    name: 'low-credit-by-one-reply',
    loses: 'that two readings agree before low credit is reported',
    file: 'controllers/marketplace-account/credit-low.ts',
    find: 'const AGREEING_READINGS = 2;',
    replace: 'const AGREEING_READINGS = 1;',
  },
];
