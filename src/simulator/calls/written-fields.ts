import type { Json, JsonObject } from '../json.ts';
import { badRequest } from './refusal.ts';

/*
 * Requests as the specification writes them down, for its profile: these fields with these types. Other fields
 * have no meaning there and are dropped; null counts as absent. PURE.
 */

type FieldType = 'text' | 'integer' | 'number' | 'flag';

/** The fields of a request that the specification names, with their types. */
export type WrittenFields = Readonly<Record<string, FieldType>>;

const TYPES: Readonly<Record<FieldType, { readonly is: (value: Json) => boolean; readonly name: string }>> = {
  text: { is: (value) => typeof value === 'string', name: 'a string' },
  integer: { is: Number.isSafeInteger, name: 'an integer' },
  number: { is: Number.isFinite, name: 'a number' },
  flag: { is: (value) => typeof value === 'boolean', name: 'true or false' },
};

/** The written fields of a body; one of another type is 400 `bad_request` that names it. */
export function writtenBody(written: WrittenFields, body: JsonObject): JsonObject {
  const fields = Object.entries(written).flatMap(([name, type]) => {
    const value = Object.hasOwn(body, name) ? (body[name] ?? null) : null;
    if (value === null) return [];
    if (!TYPES[type].is(value)) throw badRequest(`${name} must be ${TYPES[type].name}.`);
    return [[name, value] as const];
  });
  return Object.fromEntries(fields);
}
