import * as z from 'zod';
import { DURATION_PATTERN } from '../../lib/time.ts';

/** A CEL rule in the form of a CRD (`x-kubernetes-validations`). */
export interface CelRule {
  readonly rule: string;
  readonly message: string;
  /** CEL expression of the message with the given values; falls back to `message`. */
  readonly messageExpression?: string;
  readonly fieldPath?: string;
  readonly reason?:
    | 'FieldValueInvalid'
    | 'FieldValueForbidden'
    | 'FieldValueRequired'
    | 'FieldValueDuplicate';
}

/** Merge behaviour of a list in server-side apply. */
export type ListType =
  | { readonly type: 'atomic' }
  | { readonly type: 'set' }
  | { readonly type: 'map'; readonly keys: readonly string[] };

/** Properties of a field for the reference page and the CRD. */
export interface FieldNotes {
  readonly description: string;
  /** Example in the reference; YAML, as written after the field's name. */
  readonly example?: string;
  /** Name of the type in the reference, for a string with a form. */
  readonly form?: 'dollars' | 'decimal' | 'share' | 'duration' | 'quantity';
  readonly rules?: readonly CelRule[];
  readonly list?: ListType;
  /** A map or object that is replaced as a whole. */
  readonly atomic?: boolean;
  /** The API server keeps keys that the schema does not name. */
  readonly keepsUnknown?: boolean;
}

/**
 * Returns the JSON-schema annotations of these notes. `x-example` and `x-form` are for the reference and stay out of
 * the CRD.
 */
export function notes(field: FieldNotes): Record<string, unknown> {
  return {
    description: field.description,
    ...(field.example !== undefined && { 'x-example': field.example }),
    ...(field.form && { 'x-form': field.form }),
    ...(field.rules?.length && { 'x-kubernetes-validations': field.rules }),
    ...(field.list && { 'x-kubernetes-list-type': field.list.type }),
    ...(field.list?.type === 'map' && { 'x-kubernetes-list-map-keys': field.list.keys }),
    ...(field.atomic && { 'x-kubernetes-map-type': 'atomic' }),
    ...(field.keepsUnknown && { 'x-kubernetes-preserve-unknown-fields': true }),
  };
}

/** Returns a regular expression as a CEL string literal. */
function celLiteral(pattern: string): string {
  return `'${pattern.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}

/**
 * Returns a bounded string whose form CEL checks instead of `pattern`, because only CEL can tell the user what to
 * write. The same expression guards zod's own parse.
 */
export function text(field: TextField): z.ZodString {
  return formed(z.string().min(1), field);
}

/** Returns a string like {@link text} that may be empty. */
export function line(field: TextField): z.ZodString {
  return formed(z.string(), field);
}

type TextField = FieldNotes & {
  readonly maxLength: number;
  readonly pattern?: string;
  readonly write?: string;
};

function formed(string: z.ZodString, field: TextField): z.ZodString {
  const { pattern, write, maxLength, ...rest } = field;
  const bounded = string.max(maxLength);
  if (pattern === undefined) return bounded.meta(notes(rest));
  const form = { pattern, write: write ?? `does not match ${pattern}` };
  return withForms(bounded, { ...rest, forms: [form] });
}

/** A form that a text must have, with the correction. */
export interface TextForm {
  readonly pattern: string;
  readonly write: string;
}

/** Returns a string like {@link text} with several forms: only the first violated one is reported. */
export function textOfForms(
  field: FieldNotes & { readonly maxLength: number; readonly forms: readonly TextForm[] },
): z.ZodString {
  return withForms(z.string().min(1).max(field.maxLength), field);
}

function withForms(
  string: z.ZodString,
  { forms, ...field }: FieldNotes & { readonly forms: readonly TextForm[] },
): z.ZodString {
  const rules = forms.map(({ pattern, write }, at): CelRule => {
    const before = forms.slice(0, at).map((form) => `!self.matches(${celLiteral(form.pattern)})`);
    return {
      rule: [...before, `self.matches(${celLiteral(pattern)})`].join(' || '),
      message: write,
    };
  });
  return forms
    .reduce((bounded, { pattern, write }) => {
      const expression = new RegExp(pattern);
      return bounded.refine((value) => expression.test(value), { message: write, abort: true });
    }, string)
    .meta(notes({ ...field, rules: [...rules, ...(field.rules ?? [])] }));
}

const DOLLARS = '^[0-9]{1,9}([.][0-9]{1,6})?$';

/**
 * Returns a CEL comparison that is true if a field has an invalid form: the field's own rule reports that, and a failed
 * conversion would be reported too.
 */
export function whereWritten(
  form: 'dollars' | 'duration',
  fields: readonly string[],
  comparison: string,
): string {
  const pattern = celLiteral(form === 'dollars' ? DOLLARS : DURATION_PATTERN);
  return `${fields.map((field) => `!${field}.matches(${pattern})`).join(' || ')} || ${comparison}`;
}

/** Returns the schema of an id of a marketplace: text, because marketplaces use different forms. */
export function marketplaceId(description: string): z.ZodString {
  return text({ description, maxLength: MAX_ID });
}

/** Returns the schema of a {@link marketplaceId} that a user writes. */
export function writtenMarketplaceId(field: FieldNotes): z.ZodString {
  return text({
    ...field,
    maxLength: MAX_ID,
    pattern: '^[A-Za-z0-9][A-Za-z0-9._:-]*$',
    write: 'write an id of the marketplace in quotes, such as "4711"',
  });
}

/** Maximum length of an id; a UUID has 36 characters. */
const MAX_ID = 128;

const DOLLARS_FORM: TextForm = {
  pattern: DOLLARS,
  write: 'write dollars in quotes, 0 or more, with at most six digits behind the point, such as "0.80"',
};

/** Returns the schema of dollars as a decimal string, exact to the micro-dollar. */
export function dollars(field: FieldNotes): z.ZodString {
  return dollarsOfForms(field, [DOLLARS_FORM]);
}

/** Returns the schema of dollars above zero. `write`: what a user does instead of a zero. */
export function dollarsAboveZero({ write, ...field }: FieldNotes & { readonly write: string }): z.ZodString {
  return dollarsOfForms(field, [DOLLARS_FORM, { pattern: '[1-9]', write }]);
}

function dollarsOfForms(field: FieldNotes, forms: readonly TextForm[]): z.ZodString {
  return textOfForms({ example: '"0.80"', form: 'dollars', ...field, maxLength: 16, forms });
}

/** Returns the schema of a non-negative decimal as a string: for loads and multipliers, never floats. */
export function decimal(field: FieldNotes): z.ZodString {
  return text({
    example: '"2.5"',
    form: 'decimal',
    ...field,
    maxLength: 20,
    pattern: '^[0-9]{1,12}([.][0-9]{1,6})?$',
    write:
      'write a decimal in quotes that is not negative, with at most twelve digits before the point and six behind it, such as "2.5"',
  });
}

/** Returns the schema of a share such as `99.5%`. */
export function percentage(field: FieldNotes): z.ZodString {
  return text({
    example: '99.5%',
    form: 'share',
    ...field,
    maxLength: 8,
    pattern: '^(100|[0-9]{1,2}([.][0-9]{1,3})?)%$',
    write: 'write a share between 0% and 100%, such as 99.5%',
  });
}

/** Returns the schema of a duration such as `90s` or `1h30m`, with CEL bounds if they are given. */
export function duration(field: FieldNotes & { readonly min?: string; readonly max?: string }): z.ZodString {
  const bounds: CelRule[] = [];
  if (field.min)
    bounds.push({
      rule: whereWritten('duration', ['self'], `duration(self) >= duration('${field.min}')`),
      message: `write at least ${field.min}`,
    });
  if (field.max)
    bounds.push({
      rule: whereWritten('duration', ['self'], `duration(self) <= duration('${field.max}')`),
      message: `write at most ${field.max}`,
    });
  return text({
    example: '90s',
    form: 'duration',
    ...field,
    maxLength: 32,
    pattern: DURATION_PATTERN,
    write: 'write a duration with units, such as 90s, 5m or 1h30m',
    rules: [...bounds, ...(field.rules ?? [])],
  });
}

/** Returns the schema of a whole number within bounds. */
export function integer(field: FieldNotes & { readonly min: number; readonly max: number }): z.ZodInt {
  return z.int().min(field.min).max(field.max).meta(notes(field));
}

export function flag(field: FieldNotes): z.ZodBoolean {
  return z.boolean().meta(notes(field));
}

/** Returns the schema of a count or a share in Kubernetes' form: `3` or `20%`. */
export function countOrShare(field: FieldNotes) {
  const form: CelRule = {
    rule: `type(self) == int ? self >= 0 : self.matches('^(100|[0-9]{1,2})%$')`,
    message: 'write a count such as 3, or a share between 0% and 100% such as 20%',
  };
  return z.union([z.int(), z.string()]).meta({
    ...notes({ ...field, rules: [form, ...(field.rules ?? [])] }),
    maxLength: 4,
    'x-kubernetes-int-or-string': true,
  });
}

/** Returns the schema of a time in the API server's form. */
export function timestamp(field: FieldNotes): z.ZodString {
  return z.string().meta({ ...notes(field), format: 'date-time' });
}

/** Returns the schema of a closed set of words; open sets are `text`. */
export function choice<const W extends readonly [string, ...string[]]>(words: W, field: FieldNotes) {
  return z.enum(words).meta(notes(field));
}

/** Returns the schema of a bounded list with known merge behaviour. */
export function list<T extends z.ZodType>(
  item: T,
  field: FieldNotes & { readonly min?: number; readonly max: number; readonly list: ListType },
) {
  const bounded = z.array(item).max(field.max);
  return (field.min === undefined ? bounded : bounded.min(field.min)).meta(notes(field));
}

/** Returns the schema of a bounded map of strings, such as labels. */
export function stringMap(field: FieldNotes) {
  return z.record(z.string(), z.string()).meta(notes(field));
}

/** Returns a rule that refuses any change of a value after it is set. */
export function immutable(message: string): CelRule {
  return { rule: 'self == oldSelf', message, reason: 'FieldValueForbidden' };
}

/** Returns a rule for the parent of an optional field, which may be neither added, changed nor removed. */
export function immutableField(field: string, message: string): CelRule {
  return {
    rule: `has(self.${field}) == has(oldSelf.${field}) && (!has(self.${field}) || self.${field} == oldSelf.${field})`,
    message,
    fieldPath: `.${field}`,
    reason: 'FieldValueForbidden',
  };
}
