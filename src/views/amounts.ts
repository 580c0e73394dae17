import { formatDollars, type MicroDollars } from '../lib/money.ts';

/** Returns micro-dollars as the number of dollars in JSON. */
export function inDollars(amount: MicroDollars | undefined): number | undefined {
  return amount === undefined ? undefined : amount / 1_000_000;
}

/** Returns a number of dollars as text: `$0.42`; with four digits below a cent. */
export function dollarText(dollars: number | undefined): string | undefined {
  if (dollars === undefined) return undefined;
  const sign = dollars < 0 ? '-' : '';
  const amount = Math.abs(dollars);
  return `${sign}$${amount.toFixed(amount !== 0 && amount < 0.1 ? 4 : 2)}`;
}

/** Returns an hourly price in dollars as text, with the digits of status and events: `$0.299749`, `$0.30`. */
export function hourlyText(dollars: number | undefined): string | undefined {
  if (dollars === undefined) return undefined;
  return `${dollars < 0 ? '-' : ''}$${formatDollars(Math.abs(dollars) * 1_000_000)}`;
}

/** Returns micro-dollars as text with all their digits. */
export function exactDollars(amount: MicroDollars): string {
  return `$${formatDollars(amount)}`;
}

/** Returns the dollars without the noise of binary fractions. */
export function roundedDollars(dollars: number): number {
  return Math.round(dollars * 1e6) / 1e6;
}

/**
 * Returns decimal megabytes in whole gigabytes, rounded down so that a requirement may name the shown value: 24,564
 * are `24G`.
 */
export function gigabytes(megabytes: number | undefined): string | undefined {
  return megabytes === undefined ? undefined : `${Math.floor(megabytes / 1000)}G`;
}

/** Returns a duration as kubectl shows ages: at most its two largest units. */
export function ageText(milliseconds: number): string {
  const seconds = Math.max(0, Math.floor(milliseconds / 1000));
  if (seconds < 120) return `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 10) return `${minutes}m${seconds % 60 ? `${seconds % 60}s` : ''}`;
  if (minutes < 180) return `${minutes}m`;
  const hours = Math.floor(minutes / 60);
  if (hours < 8) return `${hours}h${minutes % 60 ? `${minutes % 60}m` : ''}`;
  if (hours < 48) return `${hours}h`;
  const days = Math.floor(hours / 24);
  return days < 8 && hours % 24 ? `${days}d${hours % 24}h` : `${days}d`;
}

/** Returns an epoch time in ISO 8601 with seconds; undefined if there is none. */
export function timeText(epochMs: number | undefined): string | undefined {
  return epochMs === undefined ? undefined : `${new Date(epochMs).toISOString().slice(0, 19)}Z`;
}
