/** Whole millionths of a dollar. All sums are made in these: floats never add up money. */
export type MicroDollars = number;

const DECIMAL = /^(\d{1,9})(?:\.(\d{1,6})\d*)?$/;

/** Parses a decimal string such as `"0.80"`. Undefined where there is none, or it is not one (negative, exponent, text). */
export function parseDollars(text: string | undefined): MicroDollars | undefined {
  const match = DECIMAL.exec(text ?? '');
  if (!match) return undefined;
  return Number(match[1]) * 1_000_000 + Number((match[2] ?? '').padEnd(6, '0'));
}

/** The nearest whole micro-dollar of a number that came over the wire. Undefined where it is no price. */
export function microDollars(dollars: number): MicroDollars | undefined {
  if (!Number.isFinite(dollars) || dollars < 0 || dollars > 1e9) return undefined;
  return Math.round(dollars * 1_000_000);
}

/** A decimal string with at least two and at most six digits behind the point: `0.80`, `0.044125`. Every price and sum in status, conditions and events has this form. */
export function formatDollars(amount: MicroDollars): string {
  const sign = amount < 0 ? '-' : '';
  const whole = Math.abs(Math.round(amount));
  const fraction = String(whole % 1_000_000)
    .padStart(6, '0')
    .replace(/0{1,4}$/, '');
  return `${sign}${Math.floor(whole / 1_000_000)}.${fraction}`;
}

/** What a machine at this hourly price costs over a span, rounded to whole micro-dollars. */
export function costOver(pricePerHour: MicroDollars, milliseconds: number): MicroDollars {
  return Math.round((pricePerHour * milliseconds) / 3_600_000);
}

/** The highest of caps that each hold one alternative; undefined where there is none, or one without a cap. */
export function highestCap(caps: readonly (string | undefined)[]): MicroDollars | undefined {
  const known = caps.map(parseDollars).filter((cap) => cap !== undefined);
  return known.length > 0 && known.length === caps.length ? Math.max(...known) : undefined;
}
