import { type Json, type JsonObject, listAt, objectsAt, textAt } from '../memory-kube/json.ts';

/** Text forms. A pattern belongs to the first form whose `fits` it matches and whose `misfit` it does not match. */
const FORMS = [
  { fits: '1h30m', misfit: '7', texts: ['90s', '3m'] },
  { fits: '0.75', misfit: 'word', texts: ['0.75', '2'] },
  { fits: '99.5%', misfit: '7', texts: ['50%', '99.5%'] },
  { fits: 'another', misfit: '!?', texts: ['another'] },
] as const;
const MATCHES = /^self\.matches\('(.*)'\)$/;

/** Returns other values of a field that the schema describes: booleans, bounds, options, and texts of a known form. */
export function validValues(field: JsonObject): readonly Json[] {
  switch (field['type']) {
    case 'boolean':
      return [true, false];
    case 'integer':
      return integers(field);
    case 'string':
      return texts(field);
    default:
      return [];
  }
}

function integers(field: JsonObject): readonly number[] {
  const least = Number(field['minimum'] ?? 1);
  const most = Number(field['maximum'] ?? least + 5);
  return [...new Set([least, Math.min(most, least + 1), most])];
}

function texts(field: JsonObject): readonly Json[] {
  const options = listAt(field, 'enum');
  if (options.length > 0) return options;
  const patterns = objectsAt(field, 'x-kubernetes-validations').flatMap(patternOf);
  const form = FORMS.find(
    ({ fits, misfit }) =>
      patterns.length > 0 &&
      patterns.every((pattern) => pattern.test(fits)) &&
      !patterns.every((pattern) => pattern.test(misfit)),
  );
  return form?.texts ?? [];
}

/** Returns the pattern of a rule that only matches a text; CEL doubles backslashes. */
function patternOf(rule: JsonObject): readonly RegExp[] {
  const [, pattern] = MATCHES.exec(textAt(rule, 'rule') ?? '') ?? [];
  return pattern === undefined ? [] : [new RegExp(pattern.replaceAll('\\\\', '\\'))];
}

/** Values that the schema itself refuses, without any rule: of another type, beyond a bound, no option. */
export function wrongValues(field: JsonObject): readonly Json[] {
  if (field['x-kubernetes-int-or-string'] === true) return [{ is: 'no such thing' }];
  switch (field['type']) {
    case 'boolean':
      return ['yes'];
    case 'integer':
      return ['many', 1.5, ...beyond(field)];
    case 'string':
      return [7, ...(listAt(field, 'enum').length > 0 ? ['NoSuchOption'] : []), ...lengths(field)];
    case 'array':
      return ['no list'];
    case 'object':
      return ['no object', ...(listAt(field, 'required').length > 0 ? [{}] : [])];
    default:
      return [];
  }
}

function beyond(field: JsonObject): readonly number[] {
  const { minimum, maximum } = field;
  return [
    ...(typeof minimum === 'number' ? [minimum - 1] : []),
    ...(typeof maximum === 'number' ? [maximum + 1] : []),
  ];
}

function lengths(field: JsonObject): readonly string[] {
  const { minLength, maxLength } = field;
  return [
    ...(Number(minLength) > 0 ? [''] : []),
    ...(typeof maxLength === 'number' ? ['x'.repeat(maxLength + 1)] : []),
  ];
}
