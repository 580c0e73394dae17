import { parse, stringify } from 'yaml';
import type { JsonSchema } from './json-schema.ts';
import { statusExamples } from './status-examples.ts';

/** A field of a kind: `spec.offers[].bid` of GpuInstance. */
export interface Field {
  readonly kind: string;
  readonly path: string;
  readonly schema: JsonSchema;
}

/**
 * Returns an example of a field, as written after its name. In a status it is the operator's; in a spec its own, else
 * the simplest valid value.
 */
export function fieldExample({ kind, path, schema }: Field): string {
  const [root, ...names] = path.replaceAll('[]', '').split('.');
  return flow(root === 'status' ? stepInto(statusExamples[kind], names) : exampleValue(schema));
}

function stepInto(value: unknown, names: readonly string[]): unknown {
  const whole: unknown = Array.isArray(value) ? value[0] : value;
  const [name, ...rest] = names;
  if (name === undefined) return value;
  if (typeof whole !== 'object' || whole === null || !(name in whole))
    throw new Error(
      `no example of the status field ${name}: write one into scripts/generate/status-examples.ts`,
    );
  return stepInto((whole as Readonly<Record<string, unknown>>)[name], rest);
}

/** Returns a value in one line, in a person's style. */
export function flow(value: unknown): string {
  // Quotes what YAML 1.1, as kubectl reads it, takes for something else: NO is false.
  return stringify(value, {
    version: '1.1',
    collectionStyle: 'flow',
    lineWidth: 0,
    flowCollectionPadding: false,
  }).trim();
}

function exampleValue(schema: JsonSchema): unknown {
  if (schema['x-example'] !== undefined) return parse(schema['x-example']) as unknown;
  if (schema.properties) return objectOf(schema.properties, schema.required ?? []);
  if (schema.items) return [exampleValue(schema.items)];
  if (schema.enum) return schema.enum.find((choice) => choice !== schema.default) ?? schema.enum[0];
  if (schema.type === 'boolean') return schema.default !== true;
  if (schema.default !== undefined) return schema.default;
  throw new Error(`a field has neither example, default nor words: ${schema.description ?? 'undescribed'}`);
}

/** Returns an object with its required fields, or else with the first one. */
function objectOf(properties: Readonly<Record<string, JsonSchema>>, required: readonly string[]): unknown {
  const names = required.length > 0 ? required : Object.keys(properties).slice(0, 1);
  return Object.fromEntries(names.map((name) => [name, exampleValue(properties[name] ?? {})]));
}
