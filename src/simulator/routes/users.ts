import { text } from '../calls/fields.ts';
import { BOTH, callerOf, endpoint, json, type Reply, type Route, type RouteContext } from '../calls/route.ts';
import { badRequest } from '../refusal.ts';
import type { User } from '../tables/users.ts';
import { userRow } from '../world/user-row.ts';

/* The current user (specification 4.2) and its profile. */

/** Returns the user with the key: public clients expect it there, and remove it before display. */
function current(ctx: RouteContext): Reply {
  const { user, key } = callerOf(ctx);
  const row = userRow(ctx.world, user, ctx.profile);
  return json(ctx.profile === 'public' ? { ...row, api_key: key.secret } : row);
}

const PROFILE = { fullname: text, full_name: text, username: text, ssh_key: text };

/** Updates the user from any object; only the user's own fields are kept. */
function update(ctx: RouteContext<typeof PROFILE>): Reply {
  const { user } = callerOf(ctx);
  const fullName = ctx.body.fullname ?? ctx.body.full_name ?? user.fullName;
  const username = ctx.body.username ?? user.username;
  if (username === '') throw badRequest('username must not be empty.');
  const sshKey = ctx.body.ssh_key ?? user.sshKey;
  const changed: User = { ...user, fullName, username, sshKey };
  ctx.write.put('users', changed);
  return json({ success: true, ...userRow(ctx.world, changed, ctx.profile) });
}

export const userRoutes: readonly Route[] = [
  endpoint('GET /api/v0/users/current', { category: 'user_read', profiles: BOTH, written: {} }, current),
  endpoint('PUT /api/v0/users', { category: 'user_write', body: PROFILE }, update),
];
