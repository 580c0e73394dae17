import type { OfferScalar } from '../wire/filter.ts';
import type { OfferFieldRow } from './offer-fields.ts';

/** What people write per wire unit: memory in GB of 1000 MB, duration in days. */
const WIRE_UNITS_PER_WRITTEN: ReadonlyMap<string, number> = new Map([
  ['gpu_ram', 1000],
  ['gpu_total_ram', 1000],
  ['cpu_ram', 1000],
  ['duration', 86_400],
]);

const BOOLEANS: ReadonlyMap<string, boolean> = new Map([
  ['true', true],
  ['True', true],
  ['false', false],
  ['False', false],
]);

/** The value of a written word for that field, in wire units; undefined where it is none. */
export function readQueryValue(field: OfferFieldRow, text: string): OfferScalar | undefined {
  if (text === 'None' || text === 'null') return null;
  switch (field.type) {
    case 'boolean':
      return BOOLEANS.get(text);
    case 'number':
      return readNumber(field.name, text);
    case 'text':
      return field.name === 'driver_version' ? driverNumber(text) : text.replaceAll('_', ' ');
    default:
      return field.type satisfies never;
  }
}

function readNumber(name: string, text: string): number | undefined {
  if (!/^[-+]?(\d+(\.\d*)?|\.\d+)(e[-+]?\d{1,2})?$/i.test(text)) return undefined;
  return Number(text) * (WIRE_UNITS_PER_WRITTEN.get(name) ?? 1);
}

/** A driver version of exactly three parts is compared as one number: `535.86.05` is 535086005. */
function driverNumber(text: string): OfferScalar {
  const parts = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/.exec(text);
  if (!parts) return text;
  const [, major, minor, patch] = parts;
  return Number(major) * 1_000_000 + Number(minor) * 1000 + Number(patch);
}

/** A wire value as people write it. */
export function textOfValue(name: string, value: OfferScalar): string {
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
