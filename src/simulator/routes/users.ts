import { stringField } from '../calls/fields.ts';
import { badRequest } from '../calls/refusal.ts';
import {
  BOTH,
  callerOf,
  endpoint,
  json,
  type Profile,
  type Reply,
  type Route,
  type RouteContext,
} from '../calls/route.ts';
import type { JsonObject } from '../json.ts';
import type { User } from '../tables/users.ts';
import { creditMicros } from '../world/ledger.ts';
import type { World } from '../world/world.ts';

/* The current user (specification 4.2) and its profile. */

/** The user object as the profile shows it; a 2FA login answers with it as well. */
export function userRow(world: World, user: User, profile: Profile): JsonObject {
  const specified = {
    id: user.id,
    email: user.email,
    credit: creditMicros(world, user, world.now) / 1e6,
    ssh_key: user.sshKey,
    full_name: user.fullName,
    tfa_status: user.tfaStatus,
  };
  if (profile === 'specification') return specified;
  return {
    ...specified,
    fullname: user.fullName,
    username: user.username,
    balance: 0,
    has_billing: user.hasBilling,
    can_pay: user.hasBilling,
    host_agreement_accepted: false,
    tfa_enabled: user.tfaStatus !== 'disabled',
    email_verified_at: user.emailVerifiedAt === null ? null : user.emailVerifiedAt / 1000,
    phone_number: user.phoneNumber === null ? null : `******${user.phoneNumber.slice(-4)}`,
    billing_creditonly: 0,
    is_admin: user.isAdmin,
  };
}

/** Public clients expect the key there, and take it out before they show the rest. */
function current(ctx: RouteContext): Reply {
  const { user, key } = callerOf(ctx);
  const row = userRow(ctx.world, user, ctx.profile);
  return json(ctx.profile === 'public' ? { ...row, api_key: key.secret } : row);
}

/** Any object is taken; the fields that a user owns are kept. */
function update(ctx: RouteContext): Reply {
  const { user } = callerOf(ctx);
  const fullName = stringField(ctx.body, 'fullname') ?? stringField(ctx.body, 'full_name') ?? user.fullName;
  const username = stringField(ctx.body, 'username') ?? user.username;
  if (username === '') throw badRequest('username must not be empty.');
  const sshKey = stringField(ctx.body, 'ssh_key') ?? user.sshKey;
  const changed: User = { ...user, fullName, username, sshKey };
  ctx.write.put('users', changed);
  return json({ success: true, ...userRow(ctx.world, changed, ctx.profile) });
}

export const userRoutes: readonly Route[] = [
  endpoint('GET /api/v0/users/current', { category: 'user_read', profiles: BOTH, written: {} }, current),
  endpoint('PUT /api/v0/users', { category: 'user_write' }, update),
];
