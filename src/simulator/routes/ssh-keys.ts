import { required, text } from '../calls/fields.ts';
import { callerOf, endpoint, json, type Reply, type Route, type RouteContext } from '../calls/route.ts';
import type { JsonObject } from '../json.ts';
import { notFound, Refusal } from '../refusal.ts';
import type { SshKey } from '../tables/users.ts';

/* Public keys of the account. The user object shows the newest one as `ssh_key`. */

const PUBLIC_KEY = /^(ssh-(rsa|dss|ed25519)|ecdsa-sha2-\S+|sk-\S+) [A-Za-z0-9+/=]{16,}/;

/** A body with a public key. */
export const PUBLIC_KEY_BODY = { ssh_key: required(text) };

/** Returns the public key of a body, in OpenSSH form. Throws a Refusal if it is absent or has another form. */
export function readPublicKey(ctx: RouteContext<typeof PUBLIC_KEY_BODY>): string {
  const key = ctx.body.ssh_key.trim();
  if (!PUBLIC_KEY.test(key)) {
    throw new Refusal(
      400,
      'no_ssh_key',
      'ssh_key must be a public key in OpenSSH form, such as "ssh-ed25519 AAAA… name".',
    );
  }
  return key;
}

function ownKeys(ctx: RouteContext): readonly SshKey[] {
  const { user } = callerOf(ctx);
  return Object.values(ctx.world.tables.sshKeys).filter(
    (key) => key.userId === user.id && key.deletedAt === null,
  );
}

/** Returns the key of the account with that text. */
export function knownKey(ctx: RouteContext, text: string): SshKey | undefined {
  return ownKeys(ctx).find(({ key }) => key === text);
}

function ownKey(ctx: RouteContext): SshKey {
  const key = ownKeys(ctx).find(({ id }) => String(id) === ctx.params.id);
  if (!key) throw notFound(`There is no SSH key ${ctx.params.id}.`);
  return key;
}

function view(key: SshKey): JsonObject {
  return {
    id: key.id,
    user_id: key.userId,
    key: key.key,
    public_key: key.key,
    created_at: key.createdAt / 1000,
    deleted_at: key.deletedAt === null ? null : key.deletedAt / 1000,
  };
}

function create(ctx: RouteContext<typeof PUBLIC_KEY_BODY>): Reply {
  const text = readPublicKey(ctx);
  const row = knownKey(ctx, text) ?? {
    id: ctx.write.nextId('sshKey'),
    userId: callerOf(ctx).user.id,
    key: text,
    createdAt: ctx.now,
    deletedAt: null,
  };
  store(ctx, row);
  return json({ success: true, key: view(row) });
}

function update(ctx: RouteContext<typeof PUBLIC_KEY_BODY>): Reply {
  const row = { ...ownKey(ctx), key: readPublicKey(ctx) };
  store(ctx, row);
  return json({ success: true, key: view(row) });
}

function remove(ctx: RouteContext): Reply {
  store(ctx, { ...ownKey(ctx), deletedAt: ctx.now });
  return json({ success: true });
}

function store(ctx: RouteContext, row: SshKey): void {
  ctx.write.put('sshKeys', row);
  const { user } = callerOf(ctx);
  ctx.write.put('users', { ...user, sshKey: ownKeys(ctx).at(-1)?.key ?? '' });
}

export const sshKeyRoutes: readonly Route[] = [
  endpoint('GET /api/v0/ssh', { category: 'user_read' }, (ctx) => json(ownKeys(ctx).map(view))),
  endpoint('POST /api/v0/ssh', { category: 'user_write', body: PUBLIC_KEY_BODY }, create),
  endpoint('PUT /api/v0/ssh/:id', { category: 'user_write', body: PUBLIC_KEY_BODY }, update),
  endpoint('DELETE /api/v0/ssh/:id', { category: 'user_write' }, remove),
];
