import { equalJson, isObject, type Json, type JsonObject } from '../memory-kube/json.ts';
import { topicOf } from './topics.ts';

/** Result of an edit: `refused` is by the schema alone, `refusedByRule` by CEL, which only a real server evaluates. */
export type Answer = 'taken' | 'refused' | 'refusedByRule';

/** A change of one or a few fields of a spec. */
export interface Edit {
  /** For people, such as `offers.[].gpuCount = 2`. */
  readonly name: string;
  /** Complete new values of fields below `spec`; null removes a field. */
  readonly change: JsonObject;
  readonly answer: Answer;
}

/**
 * Returns the spec after an edit. The other fields of its topic get their first values, so that an edit never
 * violates a cross-field rule because of the edits around it.
 */
export function applyEdit(spec: JsonObject, first: JsonObject, { change }: Edit): JsonObject {
  const topics = new Set(Object.keys(change).map(topicOf));
  const edited: JsonObject = {};
  for (const key of new Set([...Object.keys(spec), ...Object.keys(first), ...Object.keys(change)])) {
    const before = topics.has(topicOf(key)) ? first[key] : spec[key];
    const value = change[key] === undefined ? before : change[key];
    if (value !== undefined && value !== null) edited[key] = value;
  }
  return edited;
}

/** Paths of a schema whose values differ between two specs; items of a list are all at `[]`. */
export function pathsBetween(
  before: Json | undefined,
  after: Json | undefined,
  path = '',
): readonly string[] {
  if (equalJson(before, after)) return [];
  const own = path === '' ? [] : [path];
  if (Array.isArray(before) || Array.isArray(after)) {
    const [old, fresh] = [before, after].map((value) => (Array.isArray(value) ? value : []));
    return [...own, ...(fresh ?? []).flatMap((item, at) => pathsBetween(old?.[at], item, `${path}.[]`))];
  }
  if (!isObject(before) && !isObject(after)) return own;
  const [old, fresh] = [before, after].map((value): JsonObject => (isObject(value) ? value : {}));
  const keys = new Set([...Object.keys(old ?? {}), ...Object.keys(fresh ?? {})]);
  const inside = [...keys].flatMap((key) =>
    pathsBetween(old?.[key], fresh?.[key], path === '' ? key : `${path}.${key}`),
  );
  return [...own, ...inside];
}
