/** Whole millionths of a dollar. Sums of money use them: floats lose cents. */
export type MicroDollars = number;

const DECIMAL = /^(\d{1,9})(?:\.(\d{1,6})\d*)?$/;

/** Parses a decimal string such as `"0.80"`. Undefined if the text is missing or invalid (negative, exponent, text). */
export function parseDollars(text: string | undefined): MicroDollars | undefined {
  const match = DECIMAL.exec(text ?? '');
  if (!match) return undefined;
  return Number(match[1]) * 1_000_000 + Number((match[2] ?? '').padEnd(6, '0'));
}

/** Returns the whole micro-dollar nearest to a number from the wire. Undefined if the number is no price. */
export function microDollars(dollars: number): MicroDollars | undefined {
  if (!Number.isFinite(dollars) || dollars < 0 || dollars > 1e9) return undefined;
  return Math.round(dollars * 1_000_000);
}

/**
 * Returns a decimal string with two to six digits after the point: `0.80`, `0.044125`. Every price and sum in status,
 * conditions and events has this form.
 */
export function formatDollars(amount: MicroDollars): string {
  const sign = amount < 0 ? '-' : '';
  const whole = Math.abs(Math.round(amount));
  const fraction = String(whole % 1_000_000)
    .padStart(6, '0')
    .replace(/0{1,4}$/, '');
  return `${sign}${Math.floor(whole / 1_000_000)}.${fraction}`;
}

/** Returns the cost of a machine with this hourly price over a time, rounded to whole micro-dollars. */
export function costOver(pricePerHour: MicroDollars, milliseconds: number): MicroDollars {
  return Math.round((pricePerHour * milliseconds) / 3_600_000);
}

/** Returns the hours for which a credit pays; undefined if the credit is unknown or nothing bills. Never below 0. */
export function runwayHours(
  credit: MicroDollars | undefined,
  pricePerHour: MicroDollars,
): number | undefined {
  return credit === undefined || pricePerHour <= 0 ? undefined : Math.max(0, credit / pricePerHour);
}

/** Returns the highest of the caps of alternatives; undefined if there is none, or if one alternative has no cap. */
export function highestCap(caps: readonly (string | undefined)[]): MicroDollars | undefined {
  const known = caps.map(parseDollars).filter((cap) => cap !== undefined);
  return known.length > 0 && known.length === caps.length ? Math.max(...known) : undefined;
}
