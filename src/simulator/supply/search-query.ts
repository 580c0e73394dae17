import { assertTermCount, number, readField } from '../calls/fields.ts';
import type { Profile } from '../calls/route.ts';
import { isObject, type Json, type JsonObject, ownValue } from '../json.ts';
import { badRequest, Refusal } from '../refusal.ts';
import type { Settings } from '../settings.ts';
import type { Column } from '../tables/market.ts';
import { countryCode } from './machine-traits.ts';
import { COMPUTED, driverNumber, type PricingType } from './offer-row.ts';

/*
 * Body of an offer search, parsed into tests and an order. Values are coerced by the type of their column; unknown
 * keys are ignored; a wrong operator is refused with 400 `invalid_request`. PURE.
 */

const OPERATORS = ['eq', 'neq', 'gt', 'gte', 'lt', 'lte', 'in', 'notin'] as const;
export type Operator = (typeof OPERATORS)[number];

/** A test that an offer must pass. */
export interface Condition {
  readonly column: string;
  readonly operator: Operator;
  readonly operand: Column | readonly Column[];
}

export interface SearchQuery {
  readonly conditions: readonly Condition[];
  readonly order: readonly { readonly column: string; readonly descending: boolean }[];
  readonly pricing: PricingType;
  readonly limit: number;
  readonly storageGB: number;
}

/** Keys that control the search and are no columns. */
const CONTROL_KEYS: ReadonlySet<string> = new Set([
  'order',
  'type',
  'limit',
  'allocated_storage',
  'disable_bundling',
  'extra_ids',
  'gpu_option',
  'show_incompatible',
  'sort_option',
  'template_id',
  'select_cols',
  'q',
  'api_key',
  'client_id',
  'owner',
]);

const PRICING: Readonly<Record<string, PricingType>> = {
  'on-demand': 'on-demand',
  ondemand: 'on-demand',
  'on demand': 'on-demand',
  bid: 'bid',
  interruptible: 'bid',
  reserved: 'reserved',
};

/** Reads the body of a search; the `specification` profile accepts only the documented form. */
export function readSearch(body: JsonObject, settings: Settings, profile: Profile = 'public'): SearchQuery {
  if (profile === 'specification') checkWrittenSearch(body);
  const filters = Object.entries(body).filter(([key, value]) => !CONTROL_KEYS.has(key) && value !== null);
  assertTermCount(filters.length, 'filters');
  const conditions = withDefaults(filters, profile).flatMap(([key, value]) => readFilter(key, value));
  const storageGB = readStorage(body);
  if (isObject(body.allocated_storage) || numberFrom(body.allocated_storage) !== undefined) {
    conditions.push({ column: 'disk_space', operator: 'gte', operand: storageGB });
  }
  return {
    conditions,
    order: readOrder(body.order),
    pricing: readPricing(body.type),
    limit: profile === 'public' ? readLimit(body, settings) : writtenLimit(body, settings),
    storageGB,
  };
}

/** Adds the defaults: the public service shows rentable offers unless a search overrides it. */
function withDefaults(
  filters: readonly (readonly [string, Json])[],
  profile: Profile,
): readonly (readonly [string, Json])[] {
  const isExplicit = profile !== 'public' || filters.some(([key]) => key === 'rentable');
  const given = filters.filter(([, value]) => !(isObject(value) && value.eq === 'any'));
  return isExplicit ? given : [...given, ['rentable', { eq: true }]];
}

function readFilter(key: string, value: Json): Condition[] {
  const column = renamed(key);
  if (!isObject(value)) return [{ column, operator: meant(key, 'eq'), operand: coerce(key, value) }];
  return Object.entries(value).map(([operator, operand]) => {
    if (!isOperator(operator)) {
      throw new Refusal(
        400,
        'invalid_request',
        `${key}: "${operator}" is no operator; use one of ${OPERATORS.join(', ')}.`,
      );
    }
    return { column, operator: meant(key, operator), operand: readOperand(key, operator, operand) };
  });
}

/** Returns the intended operator: a required reliability is a minimum, not an exact value. */
const meant = (key: string, operator: Operator): Operator =>
  key === 'target_reliability' && operator === 'eq' ? 'gte' : operator;

const isOperator = (text: string): text is Operator => (OPERATORS as readonly string[]).includes(text);

function readOperand(key: string, operator: Operator, operand: Json): Column | readonly Column[] {
  if (operator !== 'in' && operator !== 'notin') {
    if (Array.isArray(operand)) throw invalidFilter(key, `${operator} takes one value, not a list`);
    return coerce(key, operand);
  }
  if (!Array.isArray(operand)) throw invalidFilter(key, `${operator} takes a list`);
  return (operand as readonly Json[]).map((item) => coerce(key, item));
}

/** True for a descending direction. */
const DIRECTIONS: Readonly<Record<string, boolean>> = { asc: false, desc: true };

function readOrder(order: Json | undefined): SearchQuery['order'] {
  if (order === undefined || order === null) return [{ column: 'score', descending: true }];
  if (!Array.isArray(order)) throw badRequest('order must be a list of [field, "asc" or "desc"].');
  assertTermCount(order.length, 'order');
  const read = (order as readonly Json[]).map(readOrderEntry);
  // Later entries of a column have no effect.
  return read.filter(({ column }, index) => read.findIndex((entry) => entry.column === column) === index);
}

function readOrderEntry(entry: Json): SearchQuery['order'][number] {
  const [field, direction = 'asc'] = Array.isArray(entry) ? (entry as readonly Json[]) : [entry];
  const descending =
    typeof direction === 'string' ? ownValue(DIRECTIONS, direction.toLowerCase()) : undefined;
  if (typeof field !== 'string' || descending === undefined) {
    throw badRequest('order must be a list of [field, "asc" or "desc"].');
  }
  // Sort value of a field: places by name, flags by their codes.
  return {
    column: field === 'geolocation' || Object.hasOwn(COMPUTED, field) ? field : renamed(field),
    descending,
  };
}

function readPricing(type: Json | undefined): PricingType {
  if (type === undefined || type === null) return 'on-demand';
  const pricing = typeof type === 'string' ? ownValue(PRICING, type) : undefined;
  if (!pricing) throw badRequest('type must be on-demand, bid or reserved.');
  return pricing;
}

function readLimit(body: JsonObject, settings: Settings): number {
  const limit = readField(number, body, 'limit');
  if (limit === undefined || limit <= 0) return settings.lists.searchDefault;
  return Math.min(Math.floor(limit), settings.lists.searchMax);
}

/** Returns the literal limit: 0 and less mean none. */
function writtenLimit(body: JsonObject, settings: Settings): number {
  const limit = typeof body.limit === 'number' ? body.limit : settings.lists.searchDefault;
  return Math.max(0, Math.min(limit, settings.lists.searchMax));
}

function readStorage(body: JsonObject): number {
  const given = body.allocated_storage;
  const value = isObject(given) ? (given.eq ?? given.gte ?? null) : given;
  const number = numberFrom(value);
  return number === undefined || number < 0 ? 5 : number;
}

/* The names and values of filters as the columns of offers have them. PURE. */

/** Columns whose filter names another column, or uses another unit. */
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

/** Returns the column of a filter. */
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

/** Returns the refusal 400 `invalid_request` that names the filter. */
export const invalidFilter = (key: string, why: string): Refusal =>
  new Refusal(400, 'invalid_request', `${key}: ${why}.`);

/** Readers of a filter's values; the first one for the column is used. */
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

/**
 * Returns the value in the form of its column: numbers from text, flags as codes, places as numbers. Throws a Refusal
 * for a list or an object.
 */
export function coerce(key: string, value: Json): Column {
  if (value === null) return null;
  if (typeof value === 'object')
    throw invalidFilter(key, 'a filter value is a number, a text, true, false or null');
  const reader = READERS.find(({ of }) => of(key));
  return reader ? reader.read(key, value) : value;
}

/** Returns a version of exactly three parts as nine digits for comparison. */
function driverVersion(value: Plain): Column {
  if (typeof value === 'string' && /^\d+\.\d+\.\d+$/.test(value)) return driverNumber(value);
  return numberFrom(value) ?? value;
}

const TRUE: readonly Plain[] = [true, 'true', 'True', 1, '1'];
const FALSE: readonly Plain[] = [false, 'false', 'False', 0, '0'];

/** Returns 0 or 1 for false or true; undefined for anything else. */
function flagFrom(value: Plain): number | undefined {
  if (TRUE.includes(value)) return 1;
  return FALSE.includes(value) ? 0 : undefined;
}

function truth(key: string, value: Plain): boolean {
  if (TRUE.includes(value)) return true;
  if (FALSE.includes(value)) return false;
  throw invalidFilter(key, 'this column is true or false');
}

/** Returns a number, also from text; undefined for everything else. */
export function numberFrom(value: Json | undefined): number | undefined {
  if (typeof value === 'number') return value;
  if (typeof value !== 'string' || value.trim() === '') return undefined;
  const number = Number(value);
  return Number.isFinite(number) ? number : undefined;
}

/* Documented parts of a search (specification 2.2, 4.4), for the `specification` profile. PURE. */

/** Documented filters, by the type of their values. */
const FILTERS: Readonly<Record<string, 'boolean' | 'string' | 'integer' | 'number'>> = {
  verified: 'boolean',
  rentable: 'boolean',
  gpu_name: 'string',
  num_gpus: 'integer',
  direct_port_count: 'integer',
  gpu_ram: 'number',
  dlperf_per_dphtotal: 'number',
};

/**
 * Pricing types: the specification documents one, and of the other only its existence; its literal is the public
 * service's.
 */
const TYPES: readonly Json[] = ['on-demand', 'bid'];

/** Other parts of a search, and their forms. */
const CONTROLS: readonly {
  readonly key: string;
  readonly is: (value: Json) => boolean;
  readonly must: string;
}[] = [
  {
    key: 'order',
    is: (value) => Array.isArray(value) && (value as readonly Json[]).every(isOrderEntry),
    must: 'be a list of [field, "asc" or "desc"]',
  },
  { key: 'limit', is: Number.isSafeInteger, must: 'be an integer' },
  { key: 'type', is: (value) => TYPES.includes(value), must: 'be on-demand or bid' },
];

/**
 * Throws a 400 `bad_request` if a documented part of a search has another form: filters are `{op: value}` with values
 * of their type. The specification leaves other filters and operators open; those of the public service are used.
 */
export function checkWrittenSearch(body: JsonObject): void {
  for (const [key, type] of Object.entries(FILTERS)) checkFilter(key, type, body[key] ?? null);
  for (const { key, is, must } of CONTROLS) {
    const value = body[key] ?? null;
    if (value !== null && !is(value)) throw badRequest(`${key} must ${must}.`);
  }
}

function checkFilter(key: string, type: string, filter: Json): void {
  if (filter === null) return;
  if (!isObject(filter)) throw invalidFilter(key, `a filter is {"eq": ${type}}`);
  const values = Object.values(filter).flat() as readonly Json[];
  if (!values.every((value) => isOfType(value, type))) {
    throw invalidFilter(key, `its values are of type ${type}`);
  }
}

const isOfType = (value: Json, type: string): boolean =>
  type === 'integer' ? Number.isSafeInteger(value) : typeof value === type;

const isOrderEntry = (entry: Json): boolean =>
  Array.isArray(entry) &&
  entry.length === 2 &&
  typeof entry[0] === 'string' &&
  (entry[1] === 'asc' || entry[1] === 'desc');
