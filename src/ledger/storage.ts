import { LEDGER_PAST } from '../api/v1alpha1/names.ts';
import { decodeMonth, decodePast, encodedBytes, encodeMonth, encodePast, type LedgerData } from './codec.ts';
import { type CompactInput, compactMonth, MAX_MONTH_BYTES, namespaceSums } from './compact.ts';
import { emptyMonth, type Ledger, type Month } from './ledger.ts';
import { laterMonth, monthsBetween } from './months.ts';
import { LEDGER_NAMES, ledgerName, MONTHS_KEPT } from './names.ts';

/** `data` of the ConfigMaps of the ledger, by name. */
export type StoredLedger = ReadonlyMap<string, LedgerData>;

/**
 * Reads the ledger from its ConfigMaps. A month's own ConfigMap takes precedence over sums of that month in older
 * ones. `clock` is the present month. If a person has damaged the month of a ConfigMap, it is the month of its lines,
 * else the latest that the ConfigMap may have.
 */
export function readLedger(stored: StoredLedger, clock: string): Ledger {
  const past = decodePast(stored.get(LEDGER_PAST)).map((month) => [month.month, month] as const);
  const months = LEDGER_NAMES.flatMap((name) => {
    if (name === LEDGER_PAST) return [];
    const month = decodeMonth(stored.get(name), (named, ofLines) => {
      const fits = (month: string) => ledgerName(month) === name;
      return [named, ...ofLines].find((each) => each !== undefined && fits(each)) ?? latestOf(name, clock);
    });
    return month ? [[month.month, month] as const] : [];
  });
  return new Map([...past, ...months]);
}

/** Returns the latest month of a ConfigMap that may have a cost now. */
function latestOf(name: string, clock: string): string {
  let month = laterMonth(clock, 1);
  while (ledgerName(month) !== name) month = laterMonth(month, -1);
  return month;
}

/** Input of the stored form in addition to the ledger. */
export interface KeepInput extends CompactInput {
  /** Number of months to keep, the present one included. */
  readonly months: number;
}

/** Returns the ledger to store: old months compacted, and months beyond the retention dropped. */
export function keptLedger(ledger: Ledger, input: KeepInput): Ledger {
  const months = [...ledger.values()]
    .toSorted((a, b) => (a.month < b.month ? -1 : 1))
    .map((month) => compactMonth(month, input));
  const isKept = ({ month }: Month) => monthsBetween(month, input.now) < input.months;
  const kept = months.filter(isKept);
  const dropped = months.filter((month) => !isKept(month));
  const [oldest] = kept;
  if (!oldest) return new Map();
  // An object may show a machine for years: forgotten, it would be counted again.
  const counted = new Map([...dropped, oldest].flatMap((month) => [...month.counted]));
  const first = dropped.length === 0 ? oldest : { ...oldest, counted };
  const result: Ledger = new Map([first, ...kept.slice(1)].map((month) => [month.month, month]));
  // A dropped month changes the oldest one, so the months need not be counted.
  return [...result].every(([name, month]) => ledger.get(name) === month) ? ledger : result;
}

/**
 * Returns the ConfigMaps of the ledger, those of older months first: written in this order, no month is lost when
 * another month reuses its ConfigMap. `before` names the existing ones, so that a ConfigMap with an older month is
 * emptied.
 */
export function storedForm(ledger: Ledger, now: string, before: StoredLedger): StoredLedger {
  const isOld = ({ month }: Month) => monthsBetween(month, now) >= MONTHS_KEPT;
  const old = [...ledger.values()].filter(isOld);
  const stored = new Map<string, LedgerData>();
  if (old.length > 0 || before.has(LEDGER_PAST)) stored.set(LEDGER_PAST, encodePast(withinBytes(old)));
  for (const month of ledger.values()) {
    if (!isOld(month)) stored.set(ledgerName(month.month), encodeMonth(month));
  }
  for (let age = 0; age < MONTHS_KEPT; age += 1) {
    const month = laterMonth(now, -age);
    const name = ledgerName(month);
    if (before.has(name) && !stored.has(name)) stored.set(name, encodeMonth(emptyMonth(month)));
  }
  return stored;
}

/**
 * Returns the months with sums of namespaces only if they are too large together, without the oldest ones if
 * necessary.
 */
function withinBytes(months: readonly Month[]): readonly Month[] {
  const bytes = (list: readonly Month[]) => list.reduce((sum, month) => sum + encodedBytes(month), 0);
  if (bytes(months) <= MAX_MONTH_BYTES) return months;
  let kept = months.map((month) => ({ ...month, sums: namespaceSums(month.sums) }));
  while (kept.length > 1 && bytes(kept) > MAX_MONTH_BYTES) kept = kept.slice(1);
  return kept;
}
