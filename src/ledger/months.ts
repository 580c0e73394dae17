import { monthName } from '../instance/cost.ts';

/** Text of a UTC month: `2026-11`. */
export const MONTH_PATTERN = /^\d{4}-(0[1-9]|1[0-2])$/;

/** Returns the epoch milliseconds of the first moment of a month. */
export function monthStartOf(month: string): number {
  return Date.UTC(Number(month.slice(0, 4)), Number(month.slice(5, 7)) - 1, 1);
}

/** Returns the epoch milliseconds of the first moment after a month. */
export function monthEndOf(month: string): number {
  return monthStartOf(laterMonth(month, 1));
}

/** Returns the month that is `count` months later; earlier if `count` is negative. */
export function laterMonth(month: string, count: number): string {
  return monthName(Date.UTC(Number(month.slice(0, 4)), Number(month.slice(5, 7)) - 1 + count, 1));
}

/** Returns the number of months from `earlier` to `later`; negative if they are in the other order. */
export function monthsBetween(earlier: string, later: string): number {
  return numberOf(later) - numberOf(earlier);
}

function numberOf(month: string): number {
  return Number(month.slice(0, 4)) * 12 + Number(month.slice(5, 7));
}
