import * as z from 'zod';

/** A JSON schema as this project writes it: structural, plus `x-example` and `x-form` for the reference. */
export interface JsonSchema {
  type?: string;
  format?: string;
  description?: string;
  default?: unknown;
  enum?: readonly unknown[];
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  maxItems?: number;
  items?: JsonSchema;
  properties?: Record<string, JsonSchema>;
  additionalProperties?: JsonSchema;
  required?: string[];
  anyOf?: unknown;
  'x-example'?: string;
  'x-form'?: string;
  'x-kubernetes-int-or-string'?: boolean;
  'x-kubernetes-list-type'?: string;
  'x-kubernetes-list-map-keys'?: readonly string[];
  'x-kubernetes-map-type'?: string;
  'x-kubernetes-validations'?: readonly ValidationRule[];
}

export interface ValidationRule {
  readonly rule: string;
  readonly message: string;
  readonly messageExpression?: string;
  readonly fieldPath?: string;
  readonly reason?: string;
}

/** The order in which keys are written, so that a person finds the description first. */
const KEY_ORDER = [
  'description',
  'type',
  'format',
  'default',
  'enum',
  'minimum',
  'maximum',
  'minLength',
  'maxLength',
  'maxItems',
  'items',
  'additionalProperties',
  'required',
  'properties',
] as const;

/**
 * Returns the schema of a zod type in the API server's structural form: unions only as int-or-string, no bounds that
 * merely mean "a safe integer", no key of another dialect. It keeps `x-example` and `x-form`.
 */
export function annotatedSchema(type: z.ZodType): JsonSchema {
  const schema = z.toJSONSchema(type, {
    target: 'openapi-3.0',
    io: 'input',
    reused: 'inline',
    override: ({ jsonSchema }) => makeStructural(jsonSchema as JsonSchema & Record<string, unknown>),
  });
  return ordered(withWholeDefaults(schema as JsonSchema));
}

/** Returns the schema without the parts for the reference. */
export function structuralSchema(type: z.ZodType): JsonSchema {
  return withoutNotes(annotatedSchema(type));
}

function makeStructural(schema: JsonSchema & Record<string, unknown>): void {
  delete schema.propertyNames;
  if (schema.additionalProperties === (false as unknown)) delete schema.additionalProperties;
  if (schema['x-kubernetes-int-or-string']) {
    delete schema.anyOf;
    delete schema.type;
  }
  if (schema.type === 'integer') describeInteger(schema);
}

function describeInteger(schema: JsonSchema): void {
  schema.format = 'int64';
  if (schema.maximum === Number.MAX_SAFE_INTEGER) delete schema.maximum;
  if (schema.minimum === Number.MIN_SAFE_INTEGER) delete schema.minimum;
  if (schema.maximum !== undefined && schema.maximum < 2 ** 31) schema.format = 'int32';
}

/** Applies `change` to a schema's children and keeps everything else. */
export function mapChildren(schema: JsonSchema, change: (child: JsonSchema) => JsonSchema): JsonSchema {
  return {
    ...schema,
    ...(schema.items && { items: change(schema.items) }),
    ...(schema.additionalProperties && { additionalProperties: change(schema.additionalProperties) }),
    ...(schema.properties && {
      properties: Object.fromEntries(
        Object.entries(schema.properties).map(([name, child]) => [name, change(child)]),
      ),
    }),
  };
}

/**
 * Returns the default of an object, completed with those of its fields: the API server evaluates a default by the rules
 * before nested defaults reach it.
 */
function withWholeDefaults(schema: JsonSchema): JsonSchema {
  const whole = mapChildren(schema, withWholeDefaults);
  if (!isEmptyObject(whole.default)) return whole;
  const defaults = Object.entries(whole.properties ?? {}).filter(([, child]) => child.default !== undefined);
  return { ...whole, default: Object.fromEntries(defaults.map(([name, child]) => [name, child.default])) };
}

function isEmptyObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0;
}

function withoutNotes(schema: JsonSchema): JsonSchema {
  const { 'x-example': _example, 'x-form': _form, ...rest } = schema;
  return mapChildren(rest, withoutNotes);
}

function ordered(schema: JsonSchema): JsonSchema {
  const rank = (key: string): number => {
    const index = (KEY_ORDER as readonly string[]).indexOf(key);
    return index < 0 ? KEY_ORDER.length : index;
  };
  const entries = Object.entries(mapChildren(schema, ordered));
  const sorted = entries.toSorted(([left], [right]) => rank(left) - rank(right));
  return Object.fromEntries(sorted) as JsonSchema;
}
