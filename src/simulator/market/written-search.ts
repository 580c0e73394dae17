import { badRequest } from '../calls/refusal.ts';
import { isObject } from '../calls/request-body.ts';
import type { Json, JsonObject } from '../json.ts';
import { invalidFilter } from './filter-values.ts';

/* What the specification writes down of a search (2.2, 4.4), for its profile. PURE. */

/** Filters that it names, by the type of their values. */
const FILTERS: Readonly<Record<string, 'boolean' | 'string' | 'integer' | 'number'>> = {
  verified: 'boolean',
  rentable: 'boolean',
  gpu_name: 'string',
  num_gpus: 'integer',
  direct_port_count: 'integer',
  gpu_ram: 'number',
  dlperf_per_dphtotal: 'number',
};

/** Pricing types: one is written down, of the other only that it exists; its literal is the public service's. */
const TYPES: readonly Json[] = ['on-demand', 'bid'];

/** What else a search may hold, and how. */
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
 * Refuses with 400 a search whose written parts have another form: filters are `{op: value}` with values of their
 * type. Which other filters and operators there are the specification leaves open; those of the public service
 * stand in.
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
