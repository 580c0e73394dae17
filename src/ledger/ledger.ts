import { type Counted, type Entry, machineKey, type Sum } from './entry.ts';
import { laterMonth } from './months.ts';
import { MONTHS_KEPT } from './names.ts';

/** UTC month of the ledger. */
export interface Month {
  readonly month: string;
  readonly entries: readonly Entry[];
  /** Sums of compacted entries. Their machines are not among `entries`. */
  readonly sums: readonly Sum[];
  /** Machines in `sums` that an object still shows, by key, so that they are not added again. */
  readonly counted: ReadonlyMap<string, Pick<Counted, 'total' | 'hasEnded'>>;
  /** Lines of a newer version, which are written back unchanged. */
  readonly unread: readonly string[];
}

/** The ledger: months by name. A month without an entry is absent. */
export type Ledger = ReadonlyMap<string, Month>;

/** Returns a month without any cost. */
export function emptyMonth(month: string): Month {
  return { month, entries: [], sums: [], counted: new Map(), unread: [] };
}

/** Returns the newest record of each machine, by {@link machineKey}. */
export function countedMachines(ledger: Ledger): ReadonlyMap<string, Counted> {
  const known = new Map<string, Counted>();
  const put = (key: string, counted: Counted) => {
    const before = known.get(key);
    if (!before || before.month < counted.month) known.set(key, counted);
  };
  for (const { month, entries, counted } of ledger.values()) {
    for (const [key, { total, hasEnded }] of counted) put(key, { month, total, hasEnded, cost: undefined });
    for (const entry of entries) {
      const { total, cost, reason } = entry;
      put(machineKey(entry), { month, total, cost, hasEnded: reason !== undefined });
    }
  }
  return known;
}

/** An entry and the month that it belongs to. */
export interface MonthEntry {
  readonly month: string;
  readonly entry: Entry;
}

/**
 * Returns the newest month of the ledger, `clock` if it is empty. Age and retention count from it: a wrong clock neither
 * compacts nor drops anything.
 */
export function presentMonth(ledger: Ledger, clock: string): string {
  const newest = [...ledger.values()].reduce((latest, month) => laterOf(latest, month), '');
  return newest === '' ? clock : newest;
}

function laterOf(latest: string, month: Month): string {
  const { entries, sums, counted, unread } = month;
  const isEmpty = [...entries, ...sums, ...counted, ...unread].length === 0;
  return isEmpty || month.month < latest ? latest : month.month;
}

/**
 * Returns the ledger with the entries; the same ledger if it has them all. An entry of a machine replaces its entry
 * of the same month only if that one was written before the machine ended, so that adding twice counts once. `clock`
 * is the present month: an entry of an impossible month is moved to the nearest possible one.
 */
export function withEntries(ledger: Ledger, added: readonly MonthEntry[], clock: string): Ledger {
  const present = presentMonth(ledger, clock);
  const oldest = laterMonth(present, 1 - MONTHS_KEPT);
  const [, newest = present] = [present, laterMonth(clock, 1)].toSorted();
  let result = ledger;
  for (const { month, entry } of added) {
    const [, name = month] = [oldest, month, newest].toSorted();
    const before = result.get(name) ?? emptyMonth(name);
    const after = withEntry(before, entry);
    if (after !== before) result = new Map(result).set(name, after);
  }
  return result;
}

function withEntry(month: Month, entry: Entry): Month {
  const key = machineKey(entry);
  if (month.counted.has(key)) return month;
  const at = month.entries.findIndex((other) => machineKey(other) === key);
  const known = month.entries[at];
  if (known === undefined) return { ...month, entries: [...month.entries, entry] };
  if (known.reason !== undefined || entry.reason === undefined) return month;
  return { ...month, entries: month.entries.with(at, entry) };
}
