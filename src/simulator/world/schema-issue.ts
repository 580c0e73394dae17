import type * as z from 'zod';
import { textOf } from '../calls/request-body.ts';
import { type Json, ownValue } from '../json.ts';

type Issue = z.core.$ZodIssue;

/** What a shape is called: a row has fields, the settings are settings. */
export interface ShapeNames {
  /** Where it stands in the document: `users 401`, `settings`. */
  readonly place: string;
  readonly field: 'field' | 'setting';
}

/** Refuses what differs from the shape: the first difference, with its place and what to write instead. */
export function differenceIn(
  shape: z.ZodType,
  value: Json,
  { place, field }: ShapeNames,
): string | undefined {
  const issue = shape.safeParse(value).error?.issues[0];
  if (!issue) return undefined;
  const path = issue.path.map(String);
  if (issue.code === 'unrecognized_keys') {
    const name = [...path, issue.keys[0] ?? ''].join('.');
    return `${joined(place, name, field)}: there is no such ${field}; leave it out.`;
  }
  const at = joined(place, path.join('.'), field);
  const found = valueAt(value, path);
  if (found === undefined) return `${at} is missing; it must be ${wanted(issue)}.`;
  return `${at} must be ${wanted(issue)}, not ${textOf(found).slice(0, 50)}.`;
}

const joined = (place: string, name: string, field: ShapeNames['field']): string => {
  if (name === '') return place;
  return field === 'setting' ? `${place}.${name}` : `${place}: ${name}`;
};

function valueAt(value: Json, path: readonly string[]): Json | undefined {
  let found: Json | undefined = value;
  for (const name of path) {
    if (typeof found !== 'object' || found === null) return undefined;
    found = ownValue(found as { readonly [key: string]: Json }, name);
  }
  return found;
}

const TYPES: Readonly<Record<string, string>> = {
  string: 'a text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  record: 'an object',
  object: 'an object',
  tuple: 'a list',
};

/** What would have been right, as the rest of a sentence that begins with "must be". */
function wanted(issue: Issue): string {
  if (issue.code === 'invalid_type') return TYPES[issue.expected] ?? issue.message;
  if (issue.code === 'too_small' || issue.code === 'too_big') return boundOf(issue);
  const words = wordsOf(issue);
  return words ? oneOf(words) : issue.message;
}

/** The words of which one may stand there. */
function wordsOf(issue: Issue): readonly string[] | undefined {
  if (issue.code === 'invalid_value') return issue.values.map(String);
  if (issue.code === 'invalid_union' && 'options' in issue) return issue.options?.map(String);
  return undefined;
}

function boundOf(issue: z.core.$ZodIssueTooSmall | z.core.$ZodIssueTooBig): string {
  const unit = UNITS[issue.origin] ?? '';
  if (issue.code === 'too_small')
    return `${issue.inclusive ? 'at least' : 'more than'} ${issue.minimum}${unit}`;
  return `${issue.inclusive ? 'at most' : 'less than'} ${issue.maximum}${unit}`;
}

const oneOf = (values: readonly string[]): string =>
  values.length === 1 ? `"${values[0]}"` : `one of ${values.map((value) => `"${value}"`).join(', ')}`;

const UNITS: Readonly<Record<string, string>> = { string: ' characters long', array: ' entries long' };
