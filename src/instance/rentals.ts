import type { GpuInstanceStatus } from '../api/v1alpha1/gpu-instance.ts';
import { formatTime, parseTime } from '../lib/time.ts';

/** Period in which rentals count for limits. */
const WINDOW_MS = 3_600_000;
/** Maximum number of rentals in the status of an object. */
const MAX_RENTALS = 128;

/** Returns the epoch milliseconds of the rentals on record, oldest first. A time that cannot be read is left out. */
export function rentalTimes(status: Pick<GpuInstanceStatus, 'rentals'> | undefined): readonly number[] {
  return (status?.rentals ?? []).map((text) => parseTime(text)).filter((at) => at !== undefined);
}

/** Returns the rentals within the hour before `now`; all in epoch milliseconds. */
export function recentRentals(rentals: readonly number[], now: number): readonly number[] {
  return rentals.filter((at) => isRecent(at, now));
}

/** Returns the milliseconds from `now` until the rental at `at` stops counting. */
export function countsFor(at: number, now: number): number {
  return at + WINDOW_MS - now;
}

/** Returns the record with a rental at `now`, without those that no longer count. */
export function withRental(rentals: GpuInstanceStatus['rentals'], now: number): string[] {
  const recent = (rentals ?? []).filter((text) => isRecent(parseTime(text) ?? 0, now));
  return [...recent, formatTime(now)].slice(-MAX_RENTALS);
}

function isRecent(at: number, now: number): boolean {
  return countsFor(at, now) > 0;
}
