import { type Json, type JsonObject, ownValue } from '../json.ts';
import { isObject } from './request-body.ts';
import type { Route } from './route.ts';
import type { Call } from './routed-call.ts';

/*
 * What a category of a scoped key lets through (specification 5.3). `{}` is the whole category; names of
 * endpoints in it narrow it to those, each with or without constraints:
 * `{"api.instance.request_logs": {"constraints": {"id": {"eq": 1227}}}}`. `constraints` may also stand at
 * the category itself. PURE.
 */

/** Names that are no endpoint. */
const RESERVED: ReadonlySet<string> = new Set(['constraints', 'params']);

/** Whether the category lets the call through; `keyParams` fills values such as `$id`. */
export function scopeAllows(category: JsonObject, call: Call, keyParams: string | null): boolean {
  const params = paramsOf(keyParams);
  if (!meets(category.constraints, call, params)) return false;
  const endpoints = Object.keys(category).filter((name) => !RESERVED.has(name));
  if (endpoints.length === 0) return true;
  const own = ownValue(category, endpointName(call.route));
  return isObject(own) && meets(own.constraints, call, params);
}

/**
 * The name of an endpoint in a permissions object: `api.`, the resource in the singular, and the rest of
 * the path, or a verb where nothing is left (`api.instance.request_logs`, `api.instance.show`).
 */
export function endpointName(route: Pick<Route, 'method' | 'path'>): string {
  const parts = route.path
    .replace(/^\/api\/v\d+/, '')
    .split('/')
    .filter((part) => part !== '');
  const words = parts.filter((part) => !part.startsWith(':'));
  const [resource = '', ...rest] = words;
  const action = rest.length > 0 ? rest.join('.') : verbOf(route.method, words.length < parts.length);
  return `api.${resource.replace(/s$/, '')}.${action}`;
}

function verbOf(method: Route['method'], single: boolean): string {
  const verbs = { GET: single ? 'show' : 'index', POST: 'create', PUT: 'update', DELETE: 'destroy' };
  return verbs[method];
}

/** Whether every constrained parameter is named and has an allowed value in path, body and query alike. None constrained: yes. */
function meets(constraints: Json | undefined, call: Call, params: JsonObject): boolean {
  if (constraints === undefined || constraints === null) return true;
  if (!isObject(constraints)) return false;
  return Object.entries(constraints).every(([name, rule]) => {
    if (!isObject(rule)) return false;
    const values = valuesOf(call, name);
    const isAllowed = (value: Json): boolean =>
      Object.entries(rule).every(([operator, bound]) => compare(value, operator, filled(bound, params)));
    return values.length > 0 && values.every(isAllowed);
  });
}

/** Wherever the call names the parameter: its endpoint may take it from any of these places. */
function valuesOf(call: Call, name: string): readonly Json[] {
  const named = [ownValue(call.params, name), ownValue(call.body, name), ...call.query.getAll(name)];
  return named.filter((value): value is Json => value !== undefined && value !== null);
}

/** An unknown operator lets nothing through, and neither does a list or an object. */
function compare(value: Json | undefined, operator: string, bound: Json | undefined): boolean {
  if (!isScalar(value) || !isScalar(bound)) return false;
  switch (operator) {
    case 'eq':
      return String(value) === String(bound);
    case 'lte':
      return Number(value) <= Number(bound);
    case 'gte':
      return Number(value) >= Number(bound);
    default:
      return false;
  }
}

function isScalar(value: Json | undefined): value is string | number | boolean {
  return value !== undefined && typeof value !== 'object';
}

function filled(bound: Json, params: JsonObject): Json | undefined {
  return typeof bound === 'string' && bound.startsWith('$') ? ownValue(params, bound.slice(1)) : bound;
}

/** The values that `key_params` names; text that is no JSON object names none. */
export function paramsOf(keyParams: string | null): JsonObject {
  if (!keyParams) return {};
  try {
    const parsed: Json = JSON.parse(keyParams);
    return isObject(parsed) ? parsed : {};
  } catch {
    return {};
  }
}
