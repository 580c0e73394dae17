import * as z from 'zod';
import { nearest } from '../nearest.ts';

type Schema = z.core.JSONSchema.BaseSchema;

/**
 * Fields of a spec that its definition does not have, each as `spec.offers.0.gpuName: no such field; did you mean gpuNames?`.
 * The API server refuses them as well; here they would be dropped in silence and something else be planned.
 */
export function unknownFields(type: z.ZodType, spec: unknown): readonly string[] {
  return walk(z.toJSONSchema(type, { unrepresentable: 'any' }), spec, 'spec');
}

function walk(schema: Schema, value: unknown, path: string): readonly string[] {
  if (Array.isArray(value)) return value.flatMap((item, at) => walkItem(schema, item, `${path}.${at}`));
  if (typeof value !== 'object' || value === null || !schema.properties) return [];
  const { properties } = schema;
  const isClosed = schema.additionalProperties === false;
  return Object.entries(value).flatMap(([name, inner]) => {
    const known = properties[name];
    if (typeof known === 'object') return walk(known, inner, `${path}.${name}`);
    return isClosed && known === undefined ? [told(`${path}.${name}`, name, Object.keys(properties))] : [];
  });
}

function walkItem({ items }: Schema, item: unknown, path: string): readonly string[] {
  return typeof items === 'object' && !Array.isArray(items) ? walk(items, item, path) : [];
}

function told(path: string, name: string, names: readonly string[]): string {
  const near = nearest(name, names);
  return `${path}: no such field${near === undefined ? '' : `; did you mean ${near}?`}`;
}
