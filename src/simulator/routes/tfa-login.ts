import { BOTH, json, type Reply, type Route, type RouteContext } from '../calls/route.ts';
import type { User } from '../tables/users.ts';
import { challengeSecret } from '../tfa/codes.ts';
import { completeLogin } from '../tfa/login.ts';
import { endpoint } from './endpoint.ts';
import { bearerOrSecretCaller, moveTfa, noAuthValue } from './tfa-access.ts';
import { loginFields, PROOF } from './tfa-body.ts';
import { userRow } from './users.ts';

/**
 * `POST /tfa/`. A CLI caller (Bearer) finds the session key in the body, a logged-out one gets its session
 * as a cookie and a header and no key in the body (specification 4.8).
 */
function login(ctx: RouteContext): Reply {
  const { user, loggedOut } = bearerOrSecretCaller(ctx, noAuthValue);
  const fields = loginFields(ctx.body);
  const result = moveTfa(ctx, user, (step) => completeLogin(step, fields));
  const sessionKey = openSession(ctx, user, fields.admin);
  const body = { ...userRow(ctx.world, user, ctx.profile), ...result };
  if (!loggedOut) return json({ ...body, session_key: sessionKey });
  return {
    type: 'json',
    status: 200,
    body,
    headers: {
      'set-cookie': `session=${sessionKey}; Path=/; HttpOnly; SameSite=Lax`,
      'x-session-key': sessionKey,
    },
  };
}

function openSession(ctx: RouteContext, user: User, admin: boolean): string {
  const secret = challengeSecret(ctx.random);
  ctx.write.put('apiKeys', {
    id: ctx.write.nextId('apiKey'),
    userId: user.id,
    name: admin ? 'admin session' : 'session',
    secret,
    permissions: null,
    keyParams: null,
    instanceId: null,
    session: true,
    createdAt: ctx.now,
    expiresAt: ctx.now + ctx.settings.tfa.sessionSeconds * 1000,
    revokedAt: null,
  });
  return secret;
}

export const tfaLoginRoutes: readonly Route[] = [
  endpoint(
    'POST /api/v0/tfa',
    { category: 'user_write', access: 'optional', profiles: BOTH, written: { ...PROOF, admin: 'flag' } },
    login,
  ),
];
