import { required, text } from '../calls/fields.ts';
import { callerOf, endpoint, json, type Reply, type Route, type RouteContext } from '../calls/route.ts';
import { badRequest, notFound } from '../refusal.ts';
import type { Variable } from '../tables/users.ts';

/* Environment variables of the account, whose values are never shown again. */

const NAME = /^[A-Za-z_][A-Za-z0-9_]{0,254}$/;

function ownVariables(ctx: RouteContext): readonly Variable[] {
  const { user } = callerOf(ctx);
  return Object.values(ctx.world.tables.variables).filter(({ userId }) => userId === user.id);
}

const NAMED = { key: required(text) };
const VARIABLE = { ...NAMED, value: text };

function readName(ctx: RouteContext<typeof NAMED>): string {
  const name = ctx.body.key;
  if (!NAME.test(name)) throw badRequest('key must be letters, digits and underscores, no digit first.');
  return name;
}

function list(ctx: RouteContext): Reply {
  const secrets = Object.fromEntries(ownVariables(ctx).map(({ name }) => [name, '*****']));
  return json({ success: true, secrets });
}

/** Sets a variable by POST or PUT: public clients use one for new and the other for known names. */
function set(ctx: RouteContext<typeof VARIABLE>): Reply {
  const name = readName(ctx);
  const value = ctx.body.value;
  if (value === undefined) throw badRequest('value is required.');
  const id = ownVariables(ctx).find((row) => row.name === name)?.id ?? ctx.write.nextId('variable');
  ctx.write.put('variables', { id, userId: callerOf(ctx).user.id, name, value, updatedAt: ctx.now });
  return json({ success: true, msg: `Environment variable ${name} is set.` });
}

function remove(ctx: RouteContext<typeof NAMED>): Reply {
  const name = readName(ctx);
  const row = ownVariables(ctx).find((candidate) => candidate.name === name);
  if (!row) throw notFound(`There is no environment variable ${name}.`);
  ctx.write.remove('variables', row.id);
  return json({ success: true, msg: `Environment variable ${name} is deleted.` });
}

export const secretRoutes: readonly Route[] = [
  endpoint('GET /api/v0/secrets', { category: 'user_read' }, list),
  endpoint('POST /api/v0/secrets', { category: 'user_write', body: VARIABLE }, set),
  endpoint('PUT /api/v0/secrets', { category: 'user_write', body: VARIABLE }, set),
  endpoint('DELETE /api/v0/secrets', { category: 'user_write', body: NAMED }, remove),
];
