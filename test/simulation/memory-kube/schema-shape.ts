import { isObject, type Json, type JsonObject, listAt, objectAt, textAt } from './json.ts';

/** Parsed schema, cached because every write reads each of its fields. */
export interface Shape {
  readonly type: string | undefined;
  readonly isNullable: boolean;
  readonly isIntOrString: boolean;
  readonly members: ReadonlyMap<string, JsonObject>;
  /** Members that have a default, or may not be null. */
  readonly filled: readonly (readonly [
    key: string,
    shape: { isNullable: boolean; fallback: Json | undefined },
  ])[];
  /** Schema of members without a name; undefined if the schema does not allow them. */
  readonly rest: JsonObject | undefined;
  /** True if unknown members are kept. */
  readonly keepsUnknown: boolean;
  readonly items: JsonObject;
  readonly required: readonly string[];
  readonly pattern: { readonly text: string; readonly expression: RegExp } | undefined;
  readonly choices: readonly Json[];
  readonly bounds: readonly Bound[];
  /** Key by which list items must be unique; undefined if duplicates are allowed. */
  readonly identity: ((item: Json) => string) | undefined;
}

/** Minimum or maximum of a measure of a value. */
export interface Bound {
  readonly name: string;
  readonly bound: number;
  /** Returns the measure; undefined if the value's type has none. */
  readonly measure: (value: Json) => number | undefined;
  readonly breaks: (measure: number, bound: number) => boolean;
}

const textLength = (value: Json) => (typeof value === 'string' ? [...value].length : undefined);
const itemCount = (value: Json) => (Array.isArray(value) ? value.length : undefined);
const memberCount = (value: Json) => (isObject(value) ? Object.keys(value).length : undefined);
const amount = (value: Json) => (typeof value === 'number' ? value : undefined);
const below = (measure: number, bound: number) => measure < bound;
const above = (measure: number, bound: number) => measure > bound;

const BOUNDS: readonly Omit<Bound, 'bound'>[] = [
  { name: 'minLength', measure: textLength, breaks: below },
  { name: 'maxLength', measure: textLength, breaks: above },
  { name: 'minItems', measure: itemCount, breaks: below },
  { name: 'maxItems', measure: itemCount, breaks: above },
  { name: 'minProperties', measure: memberCount, breaks: below },
  { name: 'maxProperties', measure: memberCount, breaks: above },
  { name: 'minimum', measure: amount, breaks: below },
  { name: 'maximum', measure: amount, breaks: above },
];

const shapes = new WeakMap<JsonObject, Shape>();

/** Returns the shape of a schema, which must never change. */
export function shapeOf(schema: JsonObject): Shape {
  const known = shapes.get(schema);
  if (known) return known;
  const shape = readShape(schema);
  shapes.set(schema, shape);
  return shape;
}

/** Returns the schema of a member; undefined if the field is unknown. */
export const memberSchema = ({ members, rest }: Shape, key: string): JsonObject | undefined =>
  members.get(key) ?? rest;

function readShape(schema: JsonObject): Shape {
  const members = Object.entries(objectAt(schema, 'properties')).flatMap(([key, member]) =>
    isObject(member) ? [[key, member] as const] : [],
  );
  const rest = schema['additionalProperties'];
  const pattern = textAt(schema, 'pattern');
  return {
    type: textAt(schema, 'type'),
    isNullable: schema['nullable'] === true,
    isIntOrString: schema['x-kubernetes-int-or-string'] === true,
    members: new Map(members),
    filled: members
      .map(
        ([key, { nullable, default: fallback }]) =>
          [key, { isNullable: nullable === true, fallback }] as const,
      )
      .filter(([, { isNullable, fallback }]) => !isNullable || fallback !== undefined),
    rest: isObject(rest) ? rest : undefined,
    keepsUnknown: schema['x-kubernetes-preserve-unknown-fields'] === true || rest === true,
    items: objectAt(schema, 'items'),
    required: listAt(schema, 'required').map(String),
    pattern: pattern ? { text: pattern, expression: new RegExp(pattern) } : undefined,
    choices: listAt(schema, 'enum'),
    bounds: boundsOf(schema),
    identity: identityOf(schema),
  };
}

function boundsOf(schema: JsonObject): readonly Bound[] {
  return BOUNDS.flatMap((kind) => {
    const bound = schema[kind.name];
    return typeof bound === 'number' ? [{ ...kind, bound }] : [];
  });
}

function identityOf(schema: JsonObject): Shape['identity'] {
  const keys = listAt(schema, 'x-kubernetes-list-map-keys').map(String);
  const isSet = schema['x-kubernetes-list-type'] === 'set';
  if (keys.length === 0 && !isSet) return undefined;
  return (item) =>
    isSet || !isObject(item) ? JSON.stringify(item) : JSON.stringify(keys.map((key) => item[key] ?? null));
}
