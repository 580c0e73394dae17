import type { JsonObject } from '../json.ts';
import type { Settings } from '../settings.ts';
import type { WorldStore } from '../world/world-store.ts';
import type { SimRequest } from './answer.ts';
import { Refusal } from './refusal.ts';
import type { Caller, Profile, Route } from './route.ts';

/** 401 with the text on which public clients act. */
const invalidKey = (): Refusal => new Refusal(401, 'auth_error', 'Invalid user key');

/** The refusal of a call that needs a key: a session of a 2FA login that has run out says so. */
export function refusedKey(store: WorldStore, secret: string | undefined): Refusal {
  const key = secret === undefined ? undefined : store.keyBySecret(secret);
  if (!key?.session) return invalidKey();
  return new Refusal(401, 'auth_error', 'Session expired. Please log in again.');
}

/** Where a key may stand beside the Authorization header. */
interface KeyPlaces {
  readonly profile: Profile;
  readonly store: WorldStore;
  readonly query: URLSearchParams;
  readonly body: JsonObject;
}

/**
 * The key as sent: the header decides, then the session that a 2FA login gave (header or cookie), then, at the
 * public service alone, the query and the body (specification 5.1: every request carries the header). Empty
 * counts as absent.
 */
export function sentKey(request: SimRequest, { profile, store, query, body }: KeyPlaces): string | undefined {
  const bearer = bearerKey(request);
  if (bearer) return bearer;
  const session = sentSession(request);
  // An API key is no session, wherever it stands.
  if (session && store.keyBySecret(session)?.session) return session;
  return profile === 'public' ? keyOutsideHeader(query, body) : undefined;
}

function bearerKey({ headers: { authorization } }: SimRequest): string | undefined {
  return typeof authorization === 'string' ? /^Bearer\s+(\S+)\s*$/i.exec(authorization)?.[1] : undefined;
}

/** Where public clients put a key beside the header. */
function keyOutsideHeader(query: URLSearchParams, body: JsonObject): string | undefined {
  const inQuery = query.get('api_key');
  if (inQuery) return inQuery;
  return typeof body.api_key === 'string' && body.api_key !== '' ? body.api_key : undefined;
}

/** The session of a caller that logged in without a key (specification 4.8, 5.6). */
function sentSession({ headers }: SimRequest): string | undefined {
  const header = headers['x-session-key'];
  if (typeof header === 'string' && header !== '') return header;
  return typeof headers.cookie === 'string'
    ? /(?:^|;\s*)session=([^;\s]+)/.exec(headers.cookie)?.[1]
    : undefined;
}

/**
 * Where `tfa.requireLogin` is on: the plain key of an account with 2FA opens only the calls of the login
 * itself. Public clients take the words of this refusal as the wish for a 2FA login.
 */
export function requireLogin({ key, user }: Caller, route: Pick<Route, 'path'>, settings: Settings): void {
  if (!settings.tfa.requireLogin || key.session || user.tfaStatus === 'disabled') return;
  if (key.instanceId !== null || route.path.startsWith('/api/v0/tfa')) return;
  throw new Refusal(401, 'auth_error', 'Two Factor Authentication is required: log in with a code first.');
}

/** Who holds that key; undefined where it is unknown, revoked or expired. */
export function callerWith(store: WorldStore, secret: string | undefined, now: number): Caller | undefined {
  const key = secret === undefined ? undefined : store.keyBySecret(secret);
  if (!key || key.revokedAt !== null || (key.expiresAt !== null && key.expiresAt <= now)) return undefined;
  const user = store.current().tables.users[key.userId];
  return user && { key, user };
}
