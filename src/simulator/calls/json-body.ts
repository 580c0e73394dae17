import type { Json, JsonObject } from '../json.ts';
import { badRequest } from './refusal.ts';

const MAX_DEPTH = 32;
/**
 * The body of a request as an object; `{}` where none came. Malformed JSON, a body that is no object,
 * nesting deeper than any call needs and keys that would reach a prototype are 400 `bad_request`.
 */
export function parseBody(text: string | undefined): JsonObject {
  if (text === undefined || text.trim() === '') return {};
  const value = parseJson(text);
  if (value === null) return {};
  if (typeof value !== 'object' || Array.isArray(value)) throw badRequest('The body must be a JSON object.');
  checkTree(value, 'The body');
  return value as JsonObject;
}

function parseJson(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    throw badRequest('The body is not valid JSON.');
  }
}

/** Refuses what is nested too deep or has a key that would reach a prototype. Level by level, so that depth costs no stack. */
export function checkTree(root: Json, what: string): void {
  let level: Json[] = [root];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > MAX_DEPTH) throw badRequest(`${what} is nested deeper than ${MAX_DEPTH} levels.`);
    level = level.flatMap(childrenOf);
  }
}

function childrenOf(value: Json): Json[] {
  if (typeof value !== 'object' || value === null) return [];
  if (Object.hasOwn(value, '__proto__')) throw badRequest('The key __proto__ is not allowed.');
  return Object.values(value).filter((child) => typeof child === 'object' && child !== null) as Json[];
}
