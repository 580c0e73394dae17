import { LEDGER_MONTHS, LEDGER_PAST } from '../api/v1alpha1/names.ts';

/** Number of months that have a ConfigMap of their own: one for each month of the year. */
export const MONTHS_KEPT = LEDGER_MONTHS.length;

/** Returns the name of the ConfigMap of a month. */
export function ledgerName(month: string): string {
  return LEDGER_MONTHS[Number(month.slice(5, 7)) - 1] ?? LEDGER_PAST;
}

/** Names of all ConfigMaps of the ledger. */
export const LEDGER_NAMES: readonly string[] = [...LEDGER_MONTHS, LEDGER_PAST];
