import { type Json, type JsonObject, ownValue } from '../json.ts';
import { invalidArgs } from '../refusal.ts';

/*
 * The text grammar of offer search, as `search_params` carries it: `gpu_ram>=23 num_gpus=1 verified=True`.
 * PURE.
 */

const TERM =
  /([A-Za-z_][A-Za-z0-9_]*)\s*(==|!=|>=|<=|=|>|<|\s(?:not in|not eq|noteq|notin|nin|neq|gte|lte|eq|gt|lt|in)\s)\s*(\[[^\]]*\]|"[^"]*"|'[^']*'|[^\s=<>!]\S*)\s*/gy;

const OPERATORS: Readonly<Record<string, string>> = {
  '=': 'eq',
  '==': 'eq',
  eq: 'eq',
  '!=': 'neq',
  neq: 'neq',
  noteq: 'neq',
  'not eq': 'neq',
  '>': 'gt',
  gt: 'gt',
  '>=': 'gte',
  gte: 'gte',
  '<': 'lt',
  lt: 'lt',
  '<=': 'lte',
  lte: 'lte',
  in: 'in',
  nin: 'notin',
  notin: 'notin',
  'not in': 'notin',
};

const LITERALS: Readonly<Record<string, Json>> = {
  true: true,
  True: true,
  false: false,
  False: false,
  None: null,
  null: null,
};

const RENAMED: Readonly<Record<string, string>> = {
  cuda_vers: 'cuda_max_good',
  display_active: 'gpu_display_active',
  dlperf_usd: 'dlperf_per_dphtotal',
  dph: 'dph_total',
  flops_usd: 'flops_per_dphtotal',
};

/** Fields that people write in thousands of the wire's unit, and days for seconds. */
const FACTORS: Readonly<Record<string, number>> = {
  gpu_ram: 1000,
  gpu_total_ram: 1000,
  cpu_ram: 1000,
  duration: 86_400,
};

/** Returns the filters of a query text; `any`, `?` and `*` remove a filter. Refuses unreadable text. */
export function parseSearchText(text: string): JsonObject {
  const filters: Record<string, Record<string, Json>> = {};
  for (const { field, operator, value } of terms(text.trim())) {
    const name = ownValue(OPERATORS, operator) ?? 'eq';
    const column = ownValue(RENAMED, field) ?? field;
    if (value === 'any' || value === '?' || value === '*') delete filters[column];
    else filters[column] = { ...ownValue(filters, column), [name]: readOperand(field, name, value) };
  }
  return filters;
}

function* terms(source: string): Iterable<{ field: string; operator: string; value: string }> {
  const term = new RegExp(TERM);
  while (term.lastIndex < source.length) {
    const at = term.lastIndex;
    const match = term.exec(source);
    if (!match)
      throw invalidArgs(
        `search_params: cannot read "${source.slice(at, at + 40)}"; write terms such as num_gpus>=1.`,
      );
    const [, field = '', operator = '', value = ''] = match;
    yield { field, operator: operator.trim(), value };
  }
}

function readOperand(field: string, operator: string, value: string): Json {
  if (operator !== 'in' && operator !== 'notin') return readValue(field, value);
  const items = value.replace(/^\[|\]$/g, '').split(',');
  return items.map((item) => readValue(field, item.trim()));
}

/** Replaces `_` in a value by a space. */
function readValue(field: string, quoted: string): Json {
  const value = quoted.replace(/^["']|["']$/g, '');
  const literal = ownValue(LITERALS, value);
  if (literal !== undefined) return literal;
  const number = Number(value);
  if (value !== '' && Number.isFinite(number)) return number * (ownValue(FACTORS, field) ?? 1);
  return value.replaceAll('_', ' ');
}
