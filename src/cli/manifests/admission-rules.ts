import { Environment } from '@marcbachmann/cel-js';
import * as z from 'zod';
import type { KindDefinition } from '../../api/v1alpha1/definitions.ts';
import type { CelRule } from '../../api/v1alpha1/schema.ts';
import { parseQuantity } from '../../lib/quantity.ts';

/** A field that a rule of a CRD refuses. */
export interface BrokenRule {
  readonly path: readonly PropertyKey[];
  readonly message: string;
}

/**
 * Returns the rules of a CRD that an object breaks, in the order of its fields. The rules are those of the schema
 * (`x-kubernetes-validations`), evaluated like an API server does at creation; transition rules (`oldSelf`) and rules
 * on a missing name do not apply. The spec has its defaults. Throws if a rule cannot be parsed.
 */
export function brokenRules(
  { spec, rules }: Pick<KindDefinition, 'spec' | 'rules'>,
  object: { readonly metadata?: { readonly name?: string } | undefined; readonly spec: unknown },
): readonly BrokenRule[] {
  const whole: Schema = object.metadata?.name === undefined ? {} : { 'x-kubernetes-validations': rules };
  const schema = z.toJSONSchema(spec, { unrepresentable: 'any' }) as Schema;
  return [...walk(whole, object, []), ...walk(schema, object.spec, ['spec'])];
}

/** The part of a JSON schema that contains rules. */
interface Schema {
  readonly type?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema | boolean;
  readonly items?: Schema;
  readonly 'x-kubernetes-validations'?: readonly CelRule[];
  readonly 'x-kubernetes-list-type'?: 'atomic' | 'set' | 'map';
  readonly 'x-kubernetes-list-map-keys'?: readonly string[];
}

function walk(schema: Schema, value: unknown, path: readonly PropertyKey[]): readonly BrokenRule[] {
  if (value === undefined) return [];
  const rules = (schema['x-kubernetes-validations'] ?? []).filter(({ rule }) => !isTransition(rule));
  const self = rules.length > 0 ? celValue(value, schema) : undefined;
  const own = rules.filter(({ rule }) => !holds(rule, self)).map((rule) => brokenRule(rule, self, path));
  return [
    ...own,
    ...duplicates(schema, value, path),
    ...membersOf(schema, value).flatMap(([key, inner, member]) => walk(inner, member, [...path, key])),
  ];
}

function isTransition(rule: string): boolean {
  return /\boldSelf\b/.test(rule);
}

/** Items of a set, and entries of a keyed list, without repetitions. */
function duplicates(schema: Schema, value: unknown, path: readonly PropertyKey[]): readonly BrokenRule[] {
  const type = schema['x-kubernetes-list-type'] ?? 'atomic';
  if (!Array.isArray(value) || type === 'atomic') return [];
  const keys = schema['x-kubernetes-list-map-keys'] ?? [];
  const identities = value.map((item) =>
    type === 'set' ? item : Object.fromEntries(keys.map((key) => [key, item?.[key]])),
  );
  const texts = identities.map((identity) => JSON.stringify(identity));
  return texts.flatMap((text, index) =>
    texts.indexOf(text) < index ? [{ path: [...path, index], message: `Duplicate value: ${text}` }] : [],
  );
}

/** Fields, items and map values that have a schema of their own. */
function membersOf(schema: Schema, value: unknown): readonly (readonly [PropertyKey, Schema, unknown])[] {
  if (Array.isArray(value)) {
    const { items } = schema;
    return items === undefined ? [] : value.map((item, index) => [index, items, item] as const);
  }
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, member]) => {
    const inner = memberSchema(schema, key);
    return inner === undefined ? [] : [[key, inner, member] as const];
  });
}

function memberSchema({ properties, additionalProperties }: Schema, key: string): Schema | undefined {
  if (properties && Object.hasOwn(properties, key)) return properties[key];
  return typeof additionalProperties === 'object' ? additionalProperties : undefined;
}

/** Returns true if the rule holds; a rule that fails to evaluate is broken, as for the API server. */
function holds(rule: string, self: unknown): boolean {
  const evaluate = compiled(rule);
  try {
    return evaluate({ self }) === true;
  } catch {
    return false;
  }
}

function brokenRule(
  { message, messageExpression, fieldPath = '' }: CelRule,
  self: unknown,
  path: readonly PropertyKey[],
): BrokenRule {
  return {
    path: [...path, ...fieldPath.split('.').slice(1)],
    message: describedBy(messageExpression, self) ?? message,
  };
}

/** Returns the message of an expression; undefined if it fails: the API server then uses the fixed message. */
function describedBy(messageExpression: string | undefined, self: unknown): string | undefined {
  if (messageExpression === undefined) return undefined;
  try {
    return String(compiled(messageExpression)({ self }));
  } catch {
    return undefined;
  }
}

/**
 * Returns the value for CEL, which distinguishes integers from doubles: a JSON number is an integer unless its schema
 * is `number`.
 */
function celValue(value: unknown, schema: Schema): unknown {
  if (typeof value === 'number') return schema.type === 'number' ? value : BigInt(Math.trunc(value));
  if (Array.isArray(value)) return value.map((item) => celValue(item, schema.items ?? {}));
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  return Object.fromEntries(
    members.map(([key, member]) => [key, celValue(member, memberSchema(schema, key) ?? {})]),
  );
}

/** A quantity of bytes, for comparisons. */
class Quantity {
  readonly bytes: number;
  constructor(text: string) {
    const bytes = parseQuantity(text);
    if (bytes === undefined) throw new Error(`no quantity: ${text}`);
    this.bytes = bytes;
  }
}

/** CEL with the Kubernetes libraries that the rules use. */
const environment = new Environment({ unlistedVariablesAreDyn: true, homogeneousAggregateLiterals: false })
  .registerType('Quantity', Quantity)
  .registerFunction('quantity(string): Quantity', (text: string) => new Quantity(text))
  .registerFunction('isQuantity(string): bool', (text: string) => parseQuantity(text) !== undefined)
  .registerFunction('Quantity.compareTo(Quantity): int', (left: Quantity, right: Quantity) =>
    BigInt(Math.sign(left.bytes - right.bytes)),
  )
  .registerType('Url', URL)
  .registerFunction('url(string): Url', (text: string) => new URL(text))
  .registerFunction('isURL(string): bool', (text: string) => URL.canParse(text))
  .registerFunction('Url.getHostname(): string', (url: URL) => url.hostname)
  .registerFunction('string.format(list): string', (template: string, values: readonly unknown[]) => {
    const left = values.values();
    return template.replaceAll(/%[sd]/g, () => String(left.next().value));
  });

const expressions = new Map<string, (scope: Record<string, unknown>) => unknown>();

/** Throws if the expression has a syntax error or an unknown function. */
function compiled(source: string): (scope: Record<string, unknown>) => unknown {
  const known = expressions.get(source) ?? environment.parse(source);
  expressions.set(source, known);
  return known;
}
