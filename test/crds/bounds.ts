import type { JsonSchema } from '../../scripts/generate/json-schema.ts';

/** Field of a spec, and a value that violates one of its bounds. */
export interface BrokenBound {
  /** Path as the API server writes it: `spec.offers[0].gpuCount`. */
  readonly path: string;
  readonly given: string;
  readonly spec: unknown;
  /** Text after the path; undefined for any rule of the field. */
  readonly refusal: string | undefined;
}

interface Place {
  readonly path: string;
  readonly schema: JsonSchema;
  /** A spec that has everything required around this place, and the value in it. */
  readonly specWith: (value: unknown) => unknown;
}

/** Returns the minimal value that a schema accepts. */
function least(schema: JsonSchema): unknown {
  if (schema.enum) return schema.enum[0];
  if (schema.type === 'integer') return schema.minimum ?? 1;
  if (schema.type === 'array') return [];
  if (schema.type === 'boolean') return true;
  if (schema.type === 'object') return leastObject(schema);
  return 'a';
}

function leastObject(schema: JsonSchema): Record<string, unknown> {
  const required = schema.required ?? [];
  return Object.fromEntries(required.map((name) => [name, least(schema.properties?.[name] ?? {})]));
}

function places(place: Place, skip: string): readonly Place[] {
  const { path, schema, specWith } = place;
  if (path === skip) return [];
  const fields = Object.entries(schema.properties ?? {}).flatMap(([name, child]) =>
    places(
      {
        path: `${path}.${name}`,
        schema: child,
        specWith: (value) => specWith({ ...leastObject(schema), [name]: value }),
      },
      skip,
    ),
  );
  const items = schema.items
    ? places({ path: `${path}[0]`, schema: schema.items, specWith: (value) => specWith([value]) }, skip)
    : [];
  return [place, ...fields, ...items];
}

const quoted = (values: readonly unknown[]): string => values.map((value) => `"${value}"`).join(', ');

type Broken = readonly [given: string, value: unknown, refusal: string | undefined];

function brokenNumbers(path: string, { minimum, maximum, type }: JsonSchema): readonly Broken[] {
  if (type !== 'integer') return [];
  const low = minimum === undefined ? undefined : minimum - 1;
  const high = maximum === undefined ? undefined : maximum + 1;
  return [
    ...(low === undefined
      ? []
      : [
          [
            `${low}`,
            low,
            `Invalid value: ${low}: ${path} in body should be greater than or equal to ${minimum}`,
          ] as const,
        ]),
    ...(high === undefined
      ? []
      : [
          [
            `${high}`,
            high,
            `Invalid value: ${high}: ${path} in body should be less than or equal to ${maximum}`,
          ] as const,
        ]),
  ];
}

/** Fits no text with a form: a header value takes every printable character, but no line break, and a word no NUL. */
const MISFIT = '!\n\0';

function brokenTexts(path: string, schema: JsonSchema): readonly Broken[] {
  const { type, enum: words, minLength, maxLength } = schema;
  if (type !== 'string') return [];
  if (words)
    return [['another word', 'Another', `Unsupported value: "Another": supported values: ${quoted(words)}`]];
  return [
    ...(schema['x-kubernetes-validations'] ? [['a form that does not fit', MISFIT, undefined] as const] : []),
    ...(minLength
      ? [['no text', '', `Invalid value: "": ${path} in body should be at least 1 chars long`] as const]
      : []),
    ...(maxLength
      ? [
          [
            `${maxLength + 1} characters`,
            'a'.repeat(maxLength + 1),
            `Too long: may not be more than ${maxLength} bytes`,
          ] as const,
        ]
      : []),
  ];
}

function brokenLists({ type, items, maxItems }: JsonSchema): readonly Broken[] {
  if (type !== 'array' || maxItems === undefined) return [];
  const many = Array.from({ length: maxItems + 1 }, () => least(items ?? {}));
  return [[`${maxItems + 1} items`, many, `Too many: ${maxItems + 1}: must have at most ${maxItems} items`]];
}

/** Returns every bound of a spec, violated once. Another kind's table covers what `skip` names. */
export function brokenBounds(spec: JsonSchema, skip = ''): readonly BrokenBound[] {
  const all = places({ path: 'spec', schema: spec, specWith: (value) => value }, skip);
  return all.flatMap(({ path, schema, specWith }) =>
    [...brokenNumbers(path, schema), ...brokenTexts(path, schema), ...brokenLists(schema)].map(
      ([given, value, refusal]) => ({ path, given, spec: specWith(value), refusal }),
    ),
  );
}
