import { equalJson, isObject, type Json, type JsonObject } from '../memory-kube/json.ts';
import { topicOf } from './topics.ts';

/** Who says yes or no to an edit: `refused` is by the schema alone, `refusedByRule` by CEL, on a real server only. */
export type Answer = 'taken' | 'refused' | 'refusedByRule';

/** A change of one or a few fields of a spec. */
export interface Edit {
  /** For people, such as `offers.[].gpuCount = 2`. */
  readonly name: string;
  /** Fields below `spec` as they are from then on, each as a whole; null takes one away. */
  readonly change: JsonObject;
  readonly answer: Answer;
}

/**
 * The spec after an edit. Other fields of its topic are as they were in the first spec, so that whatever is edited
 * before or after, no rule between fields is broken that the edit alone does not break.
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
