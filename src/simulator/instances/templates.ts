import { Refusal } from '../calls/refusal.ts';
import { integerField, isObject, stringField } from '../calls/request-body.ts';
import type { Json, JsonObject } from '../json.ts';
import type { Template, World } from '../world/world.ts';

/* Templates that a rental names. PURE. */

/** The template that a body names by hash or id; undefined where it names none. */
export function findTemplate(world: World, body: JsonObject): Template | undefined {
  const hash = stringField(body, 'template_hash_id') || stringField(body, 'template_hash') || null;
  const id = integerField(body, 'template_id') ?? null;
  if (hash === null && id === null) return undefined;
  const found = knownTemplate(world, { hash, id });
  if (!found) throw new Refusal(400, 'invalid_args', `There is no template ${hash ?? id}.`);
  return found;
}

/** The template of that hash, else of that id, where there is one. */
export function knownTemplate(
  world: World,
  { hash, id }: { readonly hash: string | null; readonly id: number | null },
): Template | undefined {
  if (hash === null) return id === null ? undefined : world.tables.templates[id];
  return Object.values(world.tables.templates).find((template) => template.hashId === hash);
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
