import { sameInteger, text } from '../calls/fields.ts';
import { callerOf, endpoint, json, type Reply, type Route, type RouteContext } from '../calls/route.ts';
import { readListQuery, selectedColumns } from '../instances/listing.ts';
import { findTemplate } from '../instances/templates.ts';
import { type JsonObject, ownValue } from '../json.ts';
import { invalidArgs, Refusal } from '../refusal.ts';
import type { Template } from '../tables/contracts.ts';

/* Templates: named bodies of rentals. Reading shows all, writing touches one's own. */

function templateRow(template: Template): JsonObject {
  return {
    ...template.body,
    id: template.id,
    hash_id: template.hashId,
    name: template.name,
    creator_id: template.userId,
    created_at: template.createdAt / 1000,
  };
}

function list(ctx: RouteContext): Reply {
  const { tests, columns } = readListQuery(ctx.query, ctx.settings.lists, new Set());
  const templates = Object.values(ctx.world.tables.templates)
    .map(templateRow)
    .filter((row) => tests.every((passes) => passes((column) => ownValue(row, column))))
    .map((row) => (columns ? selectedColumns(row, columns) : row));
  return json({ success: true, templates_found: templates.length, templates });
}

/** Returns the parts of a body that a rental takes from a template. */
function bodyOf(body: JsonObject): JsonObject {
  const {
    id: _id,
    hash_id: _hash,
    template_id: _template,
    name: _name,
    api_key: _key,
    client_id: _client,
    ...rest
  } = body;
  return rest;
}

const TEMPLATE = { image: text, name: text };

function create(ctx: RouteContext<typeof TEMPLATE>): Reply {
  if (!ctx.body.image) throw invalidArgs('image is required.');
  const template: Template = {
    id: ctx.write.nextId('template'),
    userId: callerOf(ctx).user.id,
    hashId: newHash(ctx),
    name: ctx.body.name ?? 'unnamed',
    body: bodyOf(ctx.json),
    createdAt: ctx.now,
  };
  ctx.write.put('templates', template);
  return json({ success: true, msg: 'Template created.', template: templateRow(template) });
}

const newHash = (ctx: RouteContext): string => Buffer.from(ctx.random.bytes(16)).toString('hex');

function own(ctx: RouteContext): Template {
  const { hash_id, template_hash_id, template_id, id } = ctx.json;
  const names = {
    template_hash: hash_id ?? null,
    template_hash_id: template_hash_id ?? null,
    template_id: sameInteger({ template_id: template_id ?? null, id: id ?? null }) ?? null,
  };
  const template = findTemplate(ctx.world, names);
  if (template?.userId === callerOf(ctx).user.id) return template;
  throw new Refusal(404, 'no_such_template', 'Name one of your templates by hash_id or template_id.');
}

/** Updates a template and gives it a new hash. Rentals by the old hash keep their values. */
function update(ctx: RouteContext<typeof TEMPLATE>): Reply {
  const template = own(ctx);
  const changed: Template = {
    ...template,
    name: ctx.body.name ?? template.name,
    body: { ...template.body, ...bodyOf(ctx.json) },
    hashId: newHash(ctx),
  };
  ctx.write.put('templates', changed);
  return json({ success: true, msg: 'Template updated.', template: templateRow(changed) });
}

function remove(ctx: RouteContext): Reply {
  ctx.write.remove('templates', own(ctx).id);
  return json({ success: true, msg: 'Template deleted.' });
}

export const templateRoutes: readonly Route[] = [
  endpoint('GET /api/v0/template', { category: 'user_read' }, list),
  endpoint('POST /api/v0/template', { category: 'user_write', body: TEMPLATE }, create),
  endpoint('PUT /api/v0/template', { category: 'user_write', body: TEMPLATE }, update),
  endpoint('PUT /api/v1/template', { category: 'user_write', body: TEMPLATE }, update),
  endpoint('DELETE /api/v0/template', { category: 'user_write' }, remove),
];
