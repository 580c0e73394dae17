import { paramsOf } from '../calls/authenticate.ts';
import { checkTree } from '../calls/body.ts';
import { anything, readField, text } from '../calls/fields.ts';
import {
  BOTH,
  type Caller,
  type Category,
  callerOf,
  endpoint,
  json,
  type Reply,
  type Route,
  type RouteContext,
} from '../calls/route.ts';
import { isObject, type Json, type JsonObject } from '../json.ts';
import { notFound, Refusal } from '../refusal.ts';
import type { ApiKey } from '../tables/users.ts';

/* API keys (specification 2.5, 5): the name is optional, the secret is shown once, at creation. */

const noSuchKey = (id: string): Refusal => notFound(`There is no API key ${id}.`);

const KEY = { name: text, permissions: anything, key_params: anything };

function create(ctx: RouteContext<typeof KEY>): Reply {
  const caller = callerOf(ctx);
  const name = ctx.body.name ?? '';
  const permissions = readPermissions(ctx.body.permissions);
  refuseWider(caller, permissions);
  const key = newKey(ctx, {
    userId: caller.user.id,
    name,
    permissions,
    keyParams: readKeyParams(ctx.body.key_params),
  });
  ctx.write.put('apiKeys', key);
  return json({ success: true, id: key.id, key: key.secret, name: key.name, permissions: key.permissions });
}

/** Categories that the specification (5.3) or public clients name; a key of any other would be useless. */
const CATEGORIES: ReadonlySet<string> = new Set<Category | 'agents_read' | 'agents_write'>([
  'misc',
  'user_read',
  'user_write',
  'instance_read',
  'instance_write',
  'machine_read',
  'machine_write',
  'billing_read',
  'billing_write',
  'team_read',
  'team_write',
  'agents_read',
  'agents_write',
]);

/**
 * Returns the permissions: absent is full access (specification 5.3); anything else has named categories under `api`.
 */
function readPermissions(value: Json | undefined): JsonObject | null {
  if (value === undefined || value === null) return null;
  if (!isObject(value)) throw new Refusal(400, 'invalid_permissions', 'permissions must be an object.');
  if (value.api === undefined) {
    throw new Refusal(400, 'missing_permissions', 'permissions must name its categories under "api".');
  }
  const { api } = value;
  const categories = isObject(api) ? Object.values(api) : [];
  if (categories.length === 0 || !categories.every(isObject)) {
    throw new Refusal(400, 'invalid_permissions', 'Each category under "api" must be an object.');
  }
  const unknown = Object.keys(api as JsonObject).find((name) => !CATEGORIES.has(name));
  if (unknown !== undefined) {
    const msg = `"${unknown.slice(0, 50)}" is not a category; use ${[...CATEGORIES].join(', ')}.`;
    throw new Refusal(400, 'invalid_permissions', msg);
  }
  return value;
}

/** Throws if a scoped key would create a key with categories that it lacks itself. */
function refuseWider({ key }: Caller, permissions: JsonObject | null): void {
  if (key.permissions === null) return;
  const own = isObject(key.permissions.api) ? key.permissions.api : {};
  const requested = permissions && isObject(permissions.api) ? Object.keys(permissions.api) : undefined;
  const isWithin = requested?.every((category) => JSON.stringify(own[category]) === JSON.stringify({}));
  if (isWithin) return;
  throw new Refusal(403, 'invalid_permissions', 'A scoped key cannot create a key that may do more.');
}

/** Reads `key_params`: JSON text in public clients, or an object. Excessive nesting is refused. */
function readKeyParams(given: Json | undefined): string | null {
  if (isObject(given)) return JSON.stringify(given);
  const params = readField(text, { key_params: given ?? null }, 'key_params') ?? null;
  checkTree(paramsOf(params), 'key_params');
  return params;
}

function newKey(
  ctx: RouteContext,
  given: Pick<ApiKey, 'userId' | 'name' | 'permissions' | 'keyParams'>,
): ApiKey {
  return {
    id: ctx.write.nextId('apiKey'),
    userId: given.userId,
    name: given.name,
    permissions: given.permissions,
    keyParams: given.keyParams,
    secret: Buffer.from(ctx.random.bytes(32)).toString('hex'),
    instanceId: null,
    session: false,
    createdAt: ctx.now,
    expiresAt: null,
    revokedAt: null,
  };
}

/** Returns the keys that users created: no sessions and no restricted keys of instances. */
function listed(ctx: RouteContext): readonly ApiKey[] {
  const { user } = callerOf(ctx);
  return Object.values(ctx.world.tables.apiKeys).filter(
    (key) => key.userId === user.id && key.revokedAt === null && !key.session && key.instanceId === null,
  );
}

function ownKey(ctx: RouteContext): ApiKey {
  const key = listed(ctx).find(({ id }) => String(id) === ctx.params.id);
  if (!key) throw noSuchKey(ctx.params.id ?? '');
  return key;
}

function keyRow(key: ApiKey): JsonObject {
  return {
    id: key.id,
    user_id: key.userId,
    name: key.name,
    rights: key.permissions ?? { api: 'full' },
    permissions: key.permissions,
    key_params: key.keyParams,
    team_id: null,
    team_name: null,
    created_at: key.createdAt / 1000,
  };
}

function remove(ctx: RouteContext): Reply {
  ctx.write.put('apiKeys', { ...ownKey(ctx), revokedAt: ctx.now });
  return json('Successfully Deleted API Key');
}

/** Replaces the key of the caller, or the oldest full one if a session calls, by a new secret. */
function reset(ctx: RouteContext): Reply {
  const { key } = callerOf(ctx);
  const old = key.session ? listed(ctx).find(({ permissions }) => permissions === null) : key;
  if (!old) throw noSuchKey('of full access');
  const next = newKey(ctx, old);
  ctx.write.put('apiKeys', { ...old, revokedAt: ctx.now });
  ctx.write.put('apiKeys', next);
  return json({ success: true, new_api_key: next.secret });
}

/** The specification names these operations without their paths (4.9): those of the public service are used. */
const KEY_READ = { category: 'user_read', profiles: BOTH } as const;
const KEY_WRITE = { category: 'user_write', profiles: BOTH } as const;

export const apiKeyRoutes: readonly Route[] = [
  endpoint('POST /api/v0/auth/apikeys', { ...KEY_WRITE, body: KEY }, create),
  endpoint('GET /api/v0/auth/apikeys', KEY_READ, (ctx) => json({ apikeys: listed(ctx).map(keyRow) })),
  endpoint('GET /api/v0/auth/apikeys/:id', KEY_READ, (ctx) => json(keyRow(ownKey(ctx)))),
  endpoint('DELETE /api/v0/auth/apikeys/:id', KEY_WRITE, remove),
  endpoint('PUT /api/v0/commands/reset_apikey', { category: 'user_write' }, reset),
];
