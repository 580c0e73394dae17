import { Refusal } from '../calls/refusal.ts';
import { type Json, ownValue } from '../json.ts';
import type { Column } from '../tables/offers.ts';
import { driverNumber } from './offer-columns.ts';
import { countryCode } from './places.ts';

/* The names and values of filters as the columns of offers have them. PURE. */

/** Columns whose filter names another column, or means it in another unit. */
const RENAMED: Readonly<Record<string, string>> = {
  reliability2: 'reliability',
  dphtotal: 'dph_total',
  dph: 'dph_total',
  gpu_totalram: 'gpu_total_ram',
  gpu_ram_GB: 'gpu_ram',
  cpu_ram_GB: 'cpu_ram',
  gpu_totalram_GB: 'gpu_total_ram',
  ubuntu_version: 'os_version',
  cuda_vers: 'cuda_max_good',
  display_active: 'gpu_display_active',
  dlperf_usd: 'dlperf_per_dphtotal',
  flops_usd: 'flops_per_dphtotal',
  driver_version: 'driver_vers',
  verified: 'vericode',
  datacenter: 'hosting_type',
  geolocation: 'geolocode',
  target_reliability: 'expected_reliability',
};

/** The column that a filter means. */
export const renamed = (key: string): string => ownValue(RENAMED, key) ?? key;

const THOUSANDS: ReadonlySet<string> = new Set(['gpu_ram_GB', 'cpu_ram_GB', 'gpu_totalram_GB']);
const FLAGS: ReadonlySet<string> = new Set(['verified', 'datacenter']);
const BOOLEANS: ReadonlySet<string> = new Set([
  'rentable',
  'rented',
  'external',
  'is_bid',
  'vms_enabled',
  'is_vm_deverified',
  'gpu_display_active',
  'static_ip',
]);
const TEXTS: ReadonlySet<string> = new Set([
  'gpu_name',
  'gpu_arch',
  'gpu_ids',
  'cpu_name',
  'cpu_arch',
  'mobo_name',
  'os_version',
  'disk_name',
  'hostname',
  'logo',
  'public_ipaddr',
  'resource_type',
  'webpage',
  'verification',
  'time_remaining',
]);

/** 400 `invalid_request` that names the filter. */
export const invalidFilter = (key: string, why: string): Refusal =>
  new Refusal(400, 'invalid_request', `${key}: ${why}.`);

/** How the values of a filter are read; the first that concerns the column decides. */
const READERS: readonly {
  readonly of: (key: string) => boolean;
  readonly read: (key: string, value: Plain) => Column;
}[] = [
  { of: (key) => FLAGS.has(key), read: (key, value) => (truth(key, value) ? 1 : 0) },
  { of: (key) => key === 'geolocation', read: (_key, value) => countryCode(String(value)) },
  { of: (key) => key === 'driver_version', read: (_key, value) => driverVersion(value) },
  { of: (key) => TEXTS.has(renamed(key)), read: (_key, value) => String(value) },
  { of: (key) => BOOLEANS.has(renamed(key)), read: truth },
  { of: (key) => THOUSANDS.has(key), read: (_key, value) => (numberFrom(value) ?? 0) * 1000 },
  { of: () => true, read: (_key, value) => numberFrom(value) ?? flagFrom(value) ?? value },
];

type Plain = string | number | boolean;

/** The value as its column has it: numbers from text, flags as their codes, places as theirs. */
export function coerce(key: string, value: Json): Column {
  if (value === null) return null;
  if (typeof value === 'object')
    throw invalidFilter(key, 'a filter value is a number, a text, true, false or null');
  const reader = READERS.find(({ of }) => of(key));
  return reader ? reader.read(key, value) : value;
}

/** Versions of exactly three parts compare as nine digits. */
function driverVersion(value: Plain): Column {
  if (typeof value === 'string' && /^\d+\.\d+\.\d+$/.test(value)) return driverNumber(value);
  return numberFrom(value) ?? value;
}

const TRUE: readonly Plain[] = [true, 'true', 'True', 1, '1'];
const FALSE: readonly Plain[] = [false, 'false', 'False', 0, '0'];

/** A number of 0 or 1 asked for as false or true. */
function flagFrom(value: Plain): number | undefined {
  if (TRUE.includes(value)) return 1;
  return FALSE.includes(value) ? 0 : undefined;
}

function truth(key: string, value: Plain): boolean {
  if (TRUE.includes(value)) return true;
  if (FALSE.includes(value)) return false;
  throw invalidFilter(key, 'this column is true or false');
}

/** A number, also from text; undefined for everything else. */
export function numberFrom(value: Json | undefined): number | undefined {
  if (typeof value === 'number') return value;
  if (typeof value !== 'string' || value.trim() === '') return undefined;
  const number = Number(value);
  return Number.isFinite(number) ? number : undefined;
}
