/** A JSON schema (draft 7) as values.schema.json holds it. */
export type ValueSchema = Readonly<Record<string, unknown>>;

/** A value of the chart: its purpose, its default, and its valid values. */
export interface ChartValue {
  readonly type: 'value';
  readonly doc: string;
  readonly standard: unknown;
  readonly schema: ValueSchema;
}

/** Values that belong together. Closed: a typing error in a key is refused. */
export interface ChartGroup {
  readonly type: 'group';
  readonly doc: string;
  readonly members: ChartValues;
}

export type ChartValues = Readonly<Record<string, ChartValue | ChartGroup>>;

export function value(doc: string, standard: unknown, schema: ValueSchema): ChartValue {
  return { type: 'value', doc, standard, schema };
}

export function group(doc: string, members: ChartValues): ChartGroup {
  return { type: 'group', doc, members };
}

/** Schemas that several values share. */
export const schemas = {
  flag: { type: 'boolean' },
  text: { type: 'string' },
  port: { type: 'integer', minimum: 1, maximum: 65_535 },
  /** Form of names of objects; a Service's name begins with a letter. */
  dnsLabelOrNone: { type: 'string', pattern: '^([a-z]([-a-z0-9]{0,61}[a-z0-9])?)?$' },
  stringMap: { type: 'object', additionalProperties: { type: 'string' } },
  objects: { type: 'array', items: { type: 'object' } },
  object: { type: 'object' },
  duration: { type: 'string', pattern: '^([0-9]+(ms|s|m|h))+$' },
  /** A group in an expression and a sentence of a policy: quotes, backslashes, `: ` and ` #` would mean something else there. */
  userGroup: { type: 'string', pattern: '^[^\\s"\'\\\\{}#:]+([ :][^\\s"\'\\\\{}#:]+)*$' },
  renderMode: { type: 'string', enum: ['skipIfMissing', 'failIfMissing', 'alwaysRender'] },
  nameReferences: {
    type: 'array',
    items: {
      type: 'object',
      additionalProperties: false,
      required: ['name'],
      properties: { name: { type: 'string', minLength: 1 } },
    },
  },
} as const satisfies Readonly<Record<string, ValueSchema>>;

/** A list or a map of objects, as Helm merges maps of several values files but replaces lists. */
export const listOrMap: ValueSchema = { type: ['array', 'object'] };
