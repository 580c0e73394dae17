import { isObject, type Json, type JsonObject, ownValue } from '../json.ts';
import { Refusal } from '../refusal.ts';
import type { Settings } from '../settings.ts';
import type { ApiKey } from '../tables/users.ts';
import type { WorldStore } from '../world/world-store.ts';
import type { SimRequest } from './answer.ts';
import { pathId } from './fields.ts';
import type { Caller, Profile, Route } from './route.ts';

/** Returns the refusal of a call without a valid key; an expired session of a 2FA login has its own text. */
export function refusedKey(store: WorldStore, secret: string | undefined): Refusal {
  const key = secret === undefined ? undefined : store.keyBySecret(secret);
  // Status 401 with the text that public clients recognize.
  if (!key?.session) return new Refusal(401, 'auth_error', 'Invalid user key');
  return new Refusal(401, 'auth_error', 'Session expired. Please log in again.');
}

/** Places of a key in addition to the Authorization header. */
interface KeyPlaces {
  readonly profile: Profile;
  readonly store: WorldStore;
  readonly query: URLSearchParams;
  readonly body: JsonObject;
}

/**
 * Returns the key of a request. The header takes precedence, then the session of a 2FA login (header or cookie), then,
 * at the public service only, the query and the body (specification 5.1: every request carries the header). Empty
 * counts as absent.
 */
export function sentKey(request: SimRequest, { profile, store, query, body }: KeyPlaces): string | undefined {
  const bearer = bearerKey(request);
  if (bearer) return bearer;
  const session = sentSession(request);
  // An API key is no session, wherever it is.
  if (session && store.keyBySecret(session)?.session) return session;
  return profile === 'public' ? keyOutsideHeader(query, body) : undefined;
}

function bearerKey({ headers: { authorization } }: SimRequest): string | undefined {
  return typeof authorization === 'string' ? /^Bearer\s+(\S+)\s*$/i.exec(authorization)?.[1] : undefined;
}

/** Returns the key in the other places that public clients use. */
function keyOutsideHeader(query: URLSearchParams, body: JsonObject): string | undefined {
  const inQuery = query.get('api_key');
  if (inQuery) return inQuery;
  return typeof body.api_key === 'string' && body.api_key !== '' ? body.api_key : undefined;
}

/** Returns the session of a caller that logged in without a key (specification 4.8, 5.6). */
function sentSession({ headers }: SimRequest): string | undefined {
  const header = headers['x-session-key'];
  if (typeof header === 'string' && header !== '') return header;
  return typeof headers.cookie === 'string'
    ? /(?:^|;\s*)session=([^;\s]+)/.exec(headers.cookie)?.[1]
    : undefined;
}

/**
 * Throws a 401 `auth_error` if `tfa.requireLogin` is on and the plain key of an account with 2FA is used for another
 * call than the login. Public clients recognize the text of this refusal as the request for a 2FA login.
 */
export function requireLogin({ key, user }: Caller, route: Pick<Route, 'path'>, settings: Settings): void {
  if (!settings.tfa.requireLogin || key.session || user.tfaStatus === 'disabled') return;
  if (key.instanceId !== null || route.path.startsWith('/api/v0/tfa')) return;
  throw new Refusal(401, 'auth_error', 'Two Factor Authentication is required: log in with a code first.');
}

/** Returns the owner of that key; undefined if it is unknown, revoked or expired. */
export function callerWith(store: WorldStore, secret: string | undefined, now: number): Caller | undefined {
  const key = secret === undefined ? undefined : store.keyBySecret(secret);
  if (!key || key.revokedAt !== null || (key.expiresAt !== null && key.expiresAt <= now)) return undefined;
  if (isOrphaned(store, key)) return undefined;
  const user = store.current().tables.users[key.userId];
  return user && { key, user };
}

/** Returns true if the key of an instance ended with the key that rented the instance. */
function isOrphaned(store: WorldStore, { rentedBy }: ApiKey): boolean {
  const { settings, tables } = store.current();
  if (settings.keys.instanceKeyOutlivesAccountKey || rentedBy === undefined) return false;
  return (tables.apiKeys[rentedBy]?.revokedAt ?? null) !== null;
}

/**
 * Returns true if a key may make a call (specification section 5). A full key may; a scoped one needs the category of
 * the route under `api`; the restricted key of an instance needs {@link permitsInstance}.
 */
export function permits(key: ApiKey, call: Call, { keys }: Pick<Settings, 'keys'>): boolean {
  if (key.instanceId !== null) return permitsInstance(key.instanceId, call, keys);
  if (key.permissions === null) return true;
  const api = key.permissions.api;
  if (call.route.category === null) return true;
  const scope = isObject(api) ? api[call.route.category] : undefined;
  return isObject(scope) && scopeAllows(scope, call, key.keyParams);
}

/** Inside a container of a deployment the restricted key of its instance also fetches the code. */
const CODE_OF_DEPLOYMENT = '/api/v0/deployment/:id/download_url';

/**
 * Returns true if the restricted key of an instance may make the call: it starts, stops or destroys its own instance
 * only (specification 5.5), reads its row if `keys.ownKeyReads` is on, and reads the file of a deployment inside its
 * container.
 */
function permitsInstance(instanceId: number, call: Call, { ownKeyReads }: Settings['keys']): boolean {
  if (call.route.path === CODE_OF_DEPLOYMENT) return true;
  if (call.route.path !== '/api/v0/instances/:id') return false;
  if (pathId(call.params.id) !== instanceId) return false;
  if (call.route.method === 'DELETE') return true;
  if (call.route.method === 'GET') return ownKeyReads;
  // A label in the same call would exceed starting or stopping.
  const { state, label } = call.body;
  return call.route.method === 'PUT' && typeof state === 'string' && (label ?? null) === null;
}

/*
 * Calls that a category of a scoped key permits (specification 5.3). `{}` permits the whole category; names of
 * endpoints in it restrict it to them, each with or without constraints: `{"api.instance.request_logs":
 * {"constraints": {"id": {"eq": 1227}}}}`. The category itself may also have `constraints`. PURE.
 */

/** Names that are no endpoint. */
const RESERVED: ReadonlySet<string> = new Set(['constraints', 'params']);

/** Returns true if the category admits the call; `keyParams` fills in values such as `$id`. */
export function scopeAllows(category: JsonObject, call: Call, keyParams: string | null): boolean {
  const params = paramsOf(keyParams);
  if (!meets(category.constraints, call, params)) return false;
  const endpoints = Object.keys(category).filter((name) => !RESERVED.has(name));
  if (endpoints.length === 0) return true;
  const own = ownValue(category, endpointName(call.route));
  return isObject(own) && meets(own.constraints, call, params);
}

/**
 * Returns the name of an endpoint in a permissions object: `api.`, the singular resource, and the rest of the path, or
 * a verb without a rest (`api.instance.request_logs`, `api.instance.show`).
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

/**
 * Returns true if every constrained parameter is present and has an allowed value in path, body and query. Also true
 * without constraints.
 */
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

/** Returns all values of a parameter in the call: its endpoint may read it from any of these places. */
function valuesOf(call: Call, name: string): readonly Json[] {
  const named = [ownValue(call.params, name), ownValue(call.body, name), ...call.query.getAll(name)];
  return named.filter((value): value is Json => value !== undefined && value !== null);
}

/** Returns the result of an operator; false for an unknown operator, and for a list or an object. */
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

/** Returns the values in `key_params`; none if the text is no JSON object. */
export function paramsOf(keyParams: string | null): JsonObject {
  if (!keyParams) return {};
  try {
    const parsed: Json = JSON.parse(keyParams);
    return isObject(parsed) ? parsed : {};
  } catch {
    return {};
  }
}

/** A routed call before its endpoint runs. */
export interface Call {
  readonly route: Route;
  readonly params: Readonly<Record<string, string | undefined>>;
  readonly query: URLSearchParams;
  readonly body: JsonObject;
}
