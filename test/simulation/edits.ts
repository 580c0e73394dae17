import { isObject, type Json, type JsonObject, listAt, objectAt, textAt } from './memory-kube/json.ts';

/** One change of one field of a spec, made from its schema. */
export interface Edit {
  /** Keys below `spec`. */
  readonly path: readonly string[];
  readonly value: Json | undefined;
  /** Whether the schema allows it; CEL and the operator may still say no. */
  readonly valid: boolean;
}

/** Another account or another machine is another object: these are immutable, and CEL says so. */
const IMMUTABLE = new Set(['accountRef', 'adopt', 'url']);
const DEEPEST = 3;

/** Changes of every field that a spec's schema knows: other values that are valid, and ones that are not. */
export function editsOf(schema: JsonObject): readonly Edit[] {
  return fieldsOf(schema, []);
}

function fieldsOf(schema: JsonObject, path: readonly string[]): readonly Edit[] {
  return Object.entries(objectAt(schema, 'properties')).flatMap(([key, field]) => {
    if (!isObject(field) || (path.length === 0 && IMMUTABLE.has(key))) return [];
    const here = [...path, key];
    const nested = field['type'] === 'object' && here.length < DEEPEST ? fieldsOf(field, here) : [];
    return [...nested, ...valuesOf(field).map((edit) => ({ path: here, ...edit }))];
  });
}

type Value = Pick<Edit, 'value' | 'valid'>;

const valid = (value: Json | undefined): Value => ({ value, valid: true });
const invalid = (value: Json): Value => ({ value, valid: false });

function valuesOf(field: JsonObject): readonly Value[] {
  if (field['x-kubernetes-int-or-string'] === true) return [invalid({ is: 'no such thing' })];
  switch (field['type']) {
    case 'boolean':
      return [valid(true), valid(false), invalid('yes')];
    case 'integer':
      return [...integers(field).map(valid), invalid('many'), invalid(1.5)];
    case 'string':
      return [...texts(field), invalid(7)];
    case 'array':
      return [invalid('no list')];
    case 'object':
      return [invalid('no object')];
    default:
      return [];
  }
}

function integers(field: JsonObject): readonly number[] {
  const least = Number(field['minimum'] ?? 1);
  const most = Number(field['maximum'] ?? least + 5);
  return [...new Set([least, Math.min(most, least + 1), most])];
}

function texts(field: JsonObject): readonly Value[] {
  const options = listAt(field, 'enum').filter((option) => typeof option === 'string');
  if (options.length > 0) return [...options.map(valid), invalid('NoSuchOption')];
  const pattern = textAt(field, 'pattern');
  if (pattern === undefined) return [];
  const fits = ['90s', '0.55', '1', '30G', '10%'].filter((text) => new RegExp(pattern).test(text));
  return [...fits.slice(0, 2).map(valid), invalid('!?')];
}
