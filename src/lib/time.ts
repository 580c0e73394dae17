const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

/** A Go duration of hours, minutes, seconds and milliseconds, in the syntax of the CRDs: `90s`, `1h30m`. */
export const DURATION_PATTERN = '^([0-9]+(\\.[0-9]+)?(ms|s|m|h))+$';

const PART = /([0-9]+(?:\.[0-9]+)?)(ms|s|m|h)/y;

/** Returns the milliseconds of a duration such as `1h30m`; undefined if the text is missing or invalid. */
export function parseDuration(text: string | undefined): number | undefined {
  if (!text) return undefined;
  let total = 0;
  for (let end = 0; end < text.length; end = PART.lastIndex) {
    PART.lastIndex = end;
    const part = PART.exec(text);
    if (!part) return undefined;
    const [, amount, unit = ''] = part;
    total += Number(amount) * (UNIT_MS[unit] ?? 0);
  }
  return total;
}

/** Returns the shortest common spelling: `45s`, `5m`, `1h30m`, `250ms`. */
export function formatDuration(milliseconds: number): string {
  if (milliseconds < 1000) return `${Math.round(milliseconds)}ms`;
  const seconds = Math.round(milliseconds / 1000);
  const parts = [
    [Math.floor(seconds / 3600), 'h'],
    [Math.floor((seconds % 3600) / 60), 'm'],
    [seconds % 60, 's'],
  ] as const;
  return parts.map(([amount, unit]) => (amount > 0 ? `${amount}${unit}` : '')).join('');
}

/** Returns true if a duration is at least as long as another; false if it is invalid. */
export function isAtLeast(duration: string, other: string): boolean {
  return (parseDuration(duration) ?? 0) >= (parseDuration(other) ?? 0);
}

/**
 * Returns milliseconds since the epoch as a Kubernetes timestamp (metav1.Time) in whole seconds:
 * `2026-11-20T10:00:00Z`.
 */
export function formatTime(epochMs: number): string {
  return `${new Date(epochMs).toISOString().slice(0, 19)}Z`;
}

/** Returns milliseconds since the epoch as metav1.MicroTime: `2026-11-20T10:00:00.123000Z`. */
export function formatMicroTime(epochMs: number): string {
  return `${new Date(epochMs).toISOString().slice(0, 23)}000Z`;
}

/** Returns milliseconds since the epoch as a timestamp with milliseconds, for times from which costs are computed. */
export function formatExactTime(epochMs: number): string {
  return new Date(epochMs).toISOString();
}

/** Returns the milliseconds since the epoch of an RFC 3339 time; undefined if the text is missing or invalid. */
export function parseTime(text: string | undefined): number | undefined {
  // Stryker disable next-line ConditionalExpression: Date.parse makes no time of undefined either
  if (text === undefined) return undefined;
  const parsed = Date.parse(text);
  return Number.isNaN(parsed) ? undefined : parsed;
}

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
const IMF_FIXDATE = /^[A-Z][a-z]{2}, (\d{2}) ([A-Z][a-z]{2}) (\d{4}) (\d{2}):(\d{2}):(\d{2}) GMT$/;

/** Returns the days from 1 January 1970 to a date of the Gregorian calendar (month from 1). */
function daysSinceEpoch(year: number, month: number, day: number): number {
  const shifted = month <= 2 ? year - 1 : year;
  const era = Math.floor(shifted / 400);
  const yearOfEra = shifted - era * 400;
  const dayOfYear = Math.floor((153 * (month + (month > 2 ? -3 : 9)) + 2) / 5) + day - 1;
  const dayOfEra = yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear;
  return era * 146_097 + dayOfEra - 719_468;
}

/** Returns the epoch milliseconds of an HTTP date (RFC 9110, IMF-fixdate); undefined if the text is invalid. */
export function parseHttpDate(text: string | undefined): number | undefined {
  const match = IMF_FIXDATE.exec(text ?? '');
  if (!match) return undefined;
  const [, day, monthName, year, hour, minute, second] = match;
  const month = MONTHS.indexOf(monthName ?? '') + 1;
  if (month === 0) return undefined;
  const days = daysSinceEpoch(Number(year), month, Number(day));
  return ((days * 24 + Number(hour)) * 60 + Number(minute)) * 60_000 + Number(second) * 1000;
}
