import { Refusal } from '../calls/refusal.ts';
import { requiredString } from '../calls/request-body.ts';
import { BOTH, json, type Reply, type Route, type RouteContext } from '../calls/route.ts';
import { beginLogin } from '../tfa/challenge.ts';
import { endpoint } from './endpoint.ts';
import { moveTfa } from './tfa-access.ts';

/** Codes that left for people, oldest first; `at` is epoch seconds. */
function outbox(ctx: RouteContext): Reply {
  const rows = Object.values(ctx.world.tables.sentCodes);
  return json(rows.map(({ at, channel, to, code }) => ({ at: at / 1000, channel, to, code })));
}

/**
 * Stands for the password step of the web console, which the specification does not show: answers the
 * `secret` with which a logged-out caller goes on.
 */
function passwordStep(ctx: RouteContext): Reply {
  const name = requiredString(ctx.body, 'username');
  const user = Object.values(ctx.world.tables.users).find(
    ({ email, username }) => email === name || username === name,
  );
  if (!user) throw new Refusal(404, 'not_found', `There is no user ${name}.`);
  return json(moveTfa(ctx, user, beginLogin));
}

const CONTROL = { category: null, access: 'open', profiles: BOTH } as const;

/** The part of `/sim/` that belongs to 2FA. */
export const tfaControlRoutes: readonly Route[] = [
  endpoint('GET /sim/outbox', CONTROL, outbox),
  endpoint('POST /sim/login', CONTROL, passwordStep),
];
