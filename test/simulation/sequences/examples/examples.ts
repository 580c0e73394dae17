import { equalJson, isObject, type Json, type JsonObject } from '../../memory-kube/json.ts';
import type { Answer, Edit } from '../edit.ts';

/** Edits by hand, for fields that a schema says too little about. */
export interface Examples {
  /** Returns true if a field's only values are these examples: others would be refused or have no effect. */
  readonly isOwn: (path: string) => boolean;
  readonly edits: (first: JsonObject) => readonly Edit[];
  /** Paths without an edit that is taken, and why. */
  readonly untaken: Readonly<Record<string, string>>;
}

/** A change as it is written here, of the first spec. */
export type Change = (first: JsonObject) => JsonObject;

export const IMMUTABLE = 'immutable: each edit is refused';
export const ONE_VALUE = 'one value: the schema refuses every other';

/** The same change whatever the first spec is. */
export const just =
  (change: JsonObject): Change =>
  () =>
    change;

/** Edits that make these changes, all with one answer. */
export const edits =
  (answer: Answer, changes: readonly Change[]) =>
  (first: JsonObject): readonly Edit[] =>
    changes.map((change) => {
      const made = change(first);
      return { name: nameOf(first, made), change: made, answer };
    });

/** Names the fields that an example changes, without the unchanged ones around them. */
function nameOf(first: Json | undefined, change: JsonObject): string {
  return JSON.stringify(changed(first, change));
}

function changed(before: Json | undefined, after: Json): Json {
  if (!isObject(before) || !isObject(after)) return after;
  const fresh = Object.entries(after).flatMap(([key, value = null]) =>
    equalJson(before[key], value) ? [] : [[key, changed(before[key], value)] as const],
  );
  return Object.fromEntries(fresh);
}

/** Returns a predicate for paths that match one of these patterns. */
export const anyOf =
  (patterns: readonly RegExp[]) =>
  (path: string): boolean =>
    patterns.some((pattern) => pattern.test(path));
