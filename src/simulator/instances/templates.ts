import type { Json, JsonObject } from '../json.ts';
import { Refusal } from '../refusal.ts';
import { integerField, isObject, stringField } from '../request-body.ts';
import type { Template, World } from '../world.ts';

/* Templates that a rental names. PURE. */

/** The template that a body names by hash or id; undefined where it names none. */
export function findTemplate(world: World, body: JsonObject): Template | undefined {
  const hash = stringField(body, 'template_hash_id') ?? stringField(body, 'template_hash');
  const id = integerField(body, 'template_id');
  if (!hash && id === undefined) return undefined;
  const found = hash
    ? Object.values(world.tables.templates).find((template) => template.hashId === hash)
    : world.tables.templates[id ?? -1];
  if (!found) throw new Refusal(400, 'invalid_args', `There is no template ${hash ?? id}.`);
  return found;
}

/** The request over its template: scalars of the request win, `env` is merged by key. */
export function mergeTemplate(template: Template, request: JsonObject): JsonObject {
  const merged: Record<string, Json> = { ...template.body };
  for (const [name, value] of Object.entries(request)) {
    if (value !== null && value !== undefined && name !== 'env') merged[name] = value;
  }
  const env = request.env;
  const base = template.body.env;
  if (isObject(env)) merged.env = { ...(isObject(base) ? base : {}), ...env };
  else if (typeof env === 'string') merged.env = env;
  return merged;
}
