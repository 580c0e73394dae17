import * as z from 'zod';
import { nearest } from '../../lib/text.ts';

/** A field that a schema does not have. */
export interface UnknownField {
  readonly path: readonly PropertyKey[];
  /** For example `no such field; did you mean gpuNames?` */
  readonly message: string;
}

type Schema = z.core.JSONSchema.BaseSchema;

/**
 * Returns the fields of a value, at a path, that its schema lacks. The API server refuses them too. Parsing would drop
 * them silently, so a command would plan or simulate another object than the written one.
 */
export function unknownFields(
  type: z.ZodType,
  value: unknown,
  path: readonly PropertyKey[],
): readonly UnknownField[] {
  return walk(z.toJSONSchema(type, { unrepresentable: 'any' }), value, path);
}

function walk(schema: Schema, value: unknown, path: readonly PropertyKey[]): readonly UnknownField[] {
  if (Array.isArray(value)) return value.flatMap((item, at) => walkItem(schema, item, [...path, at]));
  if (typeof value !== 'object' || value === null || !schema.properties) return [];
  const { properties } = schema;
  const isClosed = schema.additionalProperties === false;
  return Object.entries(value).flatMap(([name, inner]) => {
    const known = properties[name];
    if (typeof known === 'object') return walk(known, inner, [...path, name]);
    return isClosed && known === undefined
      ? [{ path: [...path, name], message: unknownField(name, Object.keys(properties)) }]
      : [];
  });
}

function walkItem({ items }: Schema, item: unknown, path: readonly PropertyKey[]): readonly UnknownField[] {
  return typeof items === 'object' && !Array.isArray(items) ? walk(items, item, path) : [];
}

function unknownField(name: string, names: readonly string[]): string {
  const near = nearest(name, names);
  return `no such field${near === undefined ? '' : `; did you mean ${near}?`}`;
}
