import { isObject, type JsonObject, metadataOf } from './json.ts';

/** What each field manager last applied to each object. */
export class AppliedFields {
  readonly #last = new Map<string, JsonObject>();

  of(object: JsonObject, manager: string): JsonObject | undefined {
    return this.#last.get(keyOf(object, manager));
  }

  note(object: JsonObject, manager: string, applied: JsonObject): void {
    this.#last.set(keyOf(object, manager), applied);
  }
}

const keyOf = (object: JsonObject, manager: string): string =>
  `${String(metadataOf(object)['uid'])} ${manager}`;

/** An object without the members that were applied `before` and are not applied now. Lists count as a whole. */
export function without(object: JsonObject, before: JsonObject, now: JsonObject): JsonObject {
  const kept = { ...object };
  for (const [key, value] of Object.entries(before)) {
    const standing = kept[key];
    const wanted = now[key];
    if (wanted === undefined && !isObject(value)) delete kept[key];
    else if (isObject(value) && isObject(standing)) {
      kept[key] = without(standing, value, isObject(wanted) ? wanted : {});
    }
  }
  return kept;
}
