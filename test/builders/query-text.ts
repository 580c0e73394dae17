import type { FilterOperator, OfferFilter, OfferScalar } from '../../src/market/offer.ts';
import { WIRE_UNITS_PER_WRITTEN } from '../../src/markets/vast/offers/query-text.ts';

const SYMBOLS: Readonly<Record<FilterOperator, string>> = {
  eq: '=',
  neq: '!=',
  gt: '>',
  gte: '>=',
  lt: '<',
  lte: '<=',
  in: ' in ',
  notin: ' notin ',
};

/** Returns the text that parses to these filters: the form of `search_params`. */
export function formatQueryText(filters: readonly OfferFilter[]): string {
  return filters
    .map(({ field, operator, value }) => {
      const values = Array.isArray(value) ? value : [value];
      const texts = values.map((entry) => textOfValue(field, entry));
      return `${field}${SYMBOLS[operator]}${Array.isArray(value) ? `[${texts.join(',')}]` : texts[0]}`;
    })
    .join(' ');
}

/** Returns a wire value in its human-readable form. */
function textOfValue(name: string, value: OfferScalar): string {
  if (value === null) return 'None';
  if (typeof value === 'number') {
    if (name === 'driver_version') return writtenDriver(value);
    return String(value / (WIRE_UNITS_PER_WRITTEN.get(name) ?? 1));
  }
  return typeof value === 'string' ? value.replaceAll(' ', '_') : String(value);
}

function writtenDriver(value: number): string {
  const [major, minor, patch] = [value / 1_000_000, (value / 1000) % 1000, value % 1000].map(Math.floor);
  return `${major}.${minor}.${String(patch).padStart(2, '0')}`;
}
