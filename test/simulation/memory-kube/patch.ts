import { failures } from './failure.ts';
import { copyOf, equalJson, isObject, type Json, type JsonObject } from './json.ts';

/** Thrown where a `test` of a JSON patch does not hold, or its path leads nowhere; the API server answers 422. */
export class PatchTestFailed extends Error {}

/** Applies an RFC 7396 merge patch: null removes, objects merge, everything else replaces. */
export function mergePatch(target: Json | undefined, patch: Json): Json {
  if (!isObject(patch)) return patch;
  const merged: JsonObject = isObject(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === undefined) continue;
    if (value === null) delete merged[key];
    else merged[key] = mergePatch(merged[key], value);
  }
  return merged;
}

const unescaped = (token: string): string => token.replaceAll('~1', '/').replaceAll('~0', '~');

interface Place {
  readonly parent: JsonObject | Json[];
  readonly key: string;
}

function placeOf(document: JsonObject, pointer: string): Place {
  const tokens = pointer.split('/').slice(1).map(unescaped);
  const key = tokens.pop();
  if (key === undefined) throw failures.badRequest('a JSON patch of the whole document is not supported');
  let parent: JsonObject | Json[] = document;
  for (const token of tokens) {
    const next: Json | undefined = Array.isArray(parent) ? parent[Number(token)] : parent[token];
    if (!isObject(next) && !Array.isArray(next)) throw missing(pointer);
    parent = next;
  }
  return { parent, key };
}

const missing = (pointer: string) => new PatchTestFailed(pointer);

const read = ({ parent, key }: Place): Json | undefined =>
  Array.isArray(parent) ? parent[Number(key)] : parent[key];

function add({ parent, key }: Place, value: Json): void {
  if (!Array.isArray(parent)) parent[key] = value;
  else if (key === '-') parent.push(value);
  else parent.splice(Number(key), 0, value);
}

function remove(place: Place, pointer: string): void {
  if (read(place) === undefined) throw missing(pointer);
  if (Array.isArray(place.parent)) place.parent.splice(Number(place.key), 1);
  else delete place.parent[place.key];
}

/** Replaces a value. Like the API server's library, it adds a missing member; only a list item must exist. */
function replace(place: Place, pointer: string, value: Json): void {
  const { parent, key } = place;
  if (!Array.isArray(parent)) parent[key] = value;
  else if (read(place) === undefined) throw missing(pointer);
  else parent[Number(key)] = value;
}

/** Applies an RFC 6902 patch with add, remove, replace and test. */
export function jsonPatch(target: JsonObject, operations: Json): JsonObject {
  if (!Array.isArray(operations)) throw failures.badRequest('a JSON patch is a list of operations');
  const document = copyOf(target);
  for (const operation of operations) {
    if (!isObject(operation)) throw failures.badRequest('a JSON patch is a list of operations');
    const pointer = String(operation['path'] ?? '');
    const place = placeOf(document, pointer);
    const value = operation['value'] ?? null;
    switch (operation['op']) {
      case 'add':
        add(place, value);
        break;
      case 'replace':
        replace(place, pointer, value);
        break;
      case 'remove':
        remove(place, pointer);
        break;
      case 'test':
        if (!equalJson(read(place) ?? null, value)) throw new PatchTestFailed(pointer);
        break;
      default:
        throw failures.badRequest(`unsupported JSON patch operation ${String(operation['op'])}`);
    }
  }
  return document;
}
