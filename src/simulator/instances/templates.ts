import { integer, readField, text } from '../calls/fields.ts';
import type { Json, JsonObject } from '../json.ts';
import { invalidArgs } from '../refusal.ts';
import type { Template } from '../tables/contracts.ts';
import type { World } from '../world/world.ts';
import { readEnv } from './container-options.ts';

/* Templates that a rental names. PURE. */

/**
 * Returns the template that a body names by hash or id; undefined without one. Throws a 400 Refusal if it names two,
 * or one that does not exist.
 */
export function findTemplate(world: World, body: JsonObject): Template | undefined {
  const hashes = ['template_hash_id', 'template_hash'].map((name) => readField(text, body, name) || null);
  const named = [
    ...hashes.map((hash) => ({ hash, id: null })),
    { hash: null, id: readField(integer, body, 'template_id') ?? null },
  ].filter(({ hash, id }) => hash !== null || id !== null);
  const found = named.map((name) => {
    const template = knownTemplate(world, name);
    if (template) return template;
    throw invalidArgs(`There is no template ${name.hash ?? name.id}.`);
  });
  // Several names must mean the same template: a key may be bound to one of them.
  const ids = new Set(found.map(({ id }) => id));
  if (ids.size <= 1) return found[0];
  throw invalidArgs(`template: ids and hashes name different templates (${[...ids].join(', ')}).`);
}

/** Returns the template of that hash, else of that id, if it exists. */
export function knownTemplate(
  world: World,
  { hash, id }: { readonly hash: string | null; readonly id: number | null },
): Template | undefined {
  if (hash === null) return id === null ? undefined : world.tables.templates[id];
  return Object.values(world.tables.templates).find((template) => template.hashId === hash);
}

/**
 * Returns the request merged with its template: scalars of the request win, `env` is merged by key, in either of its
 * forms.
 */
export function mergeTemplate(template: Template, request: JsonObject): JsonObject {
  const merged: Record<string, Json> = { ...template.body };
  for (const [name, value] of Object.entries(request)) {
    if (value !== null && value !== undefined && name !== 'env') merged[name] = value;
  }
  const [base, env] = [template.body.env, request.env];
  // Public clients send `env: {}` with every rent.
  if (isGiven(base) || isGiven(env)) merged.env = { ...readEnv(base), ...readEnv(env) };
  return merged;
}

const isGiven = (value: Json | undefined): boolean => value !== undefined && value !== null;
