import { equalJson, isObject, type Json, type JsonObject, listAt, metadataOf } from './json.ts';

/**
 * Field owners as far as server-side apply needs them: managers that apply, and one entry for all other writers. A
 * list counts as one field. Stored in `metadata.managedFields` from the first apply on, so that a change of owners
 * alone creates a new version, as on the real server.
 */
export type FieldOwners = ReadonlyMap<string, ReadonlySet<string>>;

/** Owner name for writes other than apply. */
const OTHERS = ' others';

/** Patch and manager of one apply. */
export interface Applied {
  readonly manager: string;
  readonly patch: JsonObject;
  readonly subresource: string | undefined;
}

export const isTracked = (object: JsonObject): boolean =>
  listAt(metadataOf(object), 'managedFields').length > 0;

/**
 * Returns true if an empty apply created the object: later writers are not tracked, and the next apply assigns all
 * existing fields to non-apply writers.
 */
export const isOwnerless = (object: JsonObject): boolean =>
  Array.isArray(metadataOf(object)['managedFields']) && !isTracked(object);

/** Fields by their path: labels, annotations, and everything outside metadata and status. */
export function fieldsOf(object: JsonObject): ReadonlyMap<string, Json> {
  const { apiVersion: _version, kind: _kind, metadata: _metadata, status: _status, ...content } = object;
  const { labels, annotations, finalizers, ownerReferences } = metadataOf(object);
  const fields = new Map<string, Json>();
  collect({ ...content, metadata: { labels, annotations, finalizers, ownerReferences } }, '', fields);
  return fields;
}

function collect(value: Json | undefined, path: string, fields: Map<string, Json>): void {
  if (value === undefined) return;
  const isLeaf = !isObject(value) || (isEmpty(value) && path !== '' && !path.startsWith('/metadata'));
  if (isLeaf) {
    fields.set(path, value);
    return;
  }
  for (const [key, member] of Object.entries(value)) collect(member, `${path}/${escaped(key)}`, fields);
}

/** Escapes a path segment as in a JSON pointer: annotation names contain slashes. */
const escaped = (key: string): string => key.replaceAll('~', '~0').replaceAll('/', '~1');
const unescaped = (token: string): string => token.replaceAll('~1', '/').replaceAll('~0', '~');

/** Returns true for an empty map, which is owned as a field itself if it was applied. */
const isEmpty = (value: JsonObject): boolean => Object.keys(value).length === 0;

/** Returns the owners of an object. Before the first apply, non-apply writers own every field. */
export function ownersOf(object: JsonObject): FieldOwners {
  if (!isTracked(object)) return new Map([[OTHERS, new Set(fieldsOf(object).keys())]]);
  return new Map(
    listAt(metadataOf(object), 'managedFields')
      .filter(isObject)
      .map((entry) => [String(entry['manager']), new Set(listAt(entry, 'fields').map(String))] as const),
  );
}

/** Returns the object with its owners written into `managedFields`. */
export function withOwners(object: JsonObject, owners: FieldOwners): JsonObject {
  const managedFields = [...owners]
    .filter(([, fields]) => fields.size > 0)
    .map(([manager, fields]): JsonObject => ({ manager, fields: [...fields].sort() }))
    .sort((a, b) => String(a['manager']).localeCompare(String(b['manager'])));
  return { ...object, metadata: { ...metadataOf(object), managedFields } };
}

/** Paths that the manager owned alone, and gives up. */
export function givenUp(current: JsonObject, { manager, patch }: Applied): readonly string[] {
  const owners = ownersOf(current);
  const [standing, applied] = [fieldsOf(current), fieldsOf(patch)];
  const others = [...owners].filter(([name]) => name !== manager).map(([, fields]) => fields);
  return [...(owners.get(manager) ?? [])].filter(
    (path) => standing.has(path) && !applied.has(path) && !others.some((fields) => fields.has(path)),
  );
}

/** Owners after an apply that insists: what it changes is its own alone, what stood there already is shared. */
export function ownersAfterApply(before: JsonObject, { manager, patch }: Applied): FieldOwners {
  const standing = fieldsOf(before);
  const applied = fieldsOf(patch);
  const isTaken = (path: string): boolean =>
    applied.has(path) && !equalJson(applied.get(path), standing.get(path));
  const others = [...ownersOf(before)]
    .filter(([name]) => name !== manager)
    .map(([name, fields]) => [name, new Set([...fields].filter((path) => !isTaken(path)))] as const);
  return new Map([...others, [manager, new Set(applied.keys())]]);
}

/**
 * Returns the owners after a write other than apply: it owns the fields that it changes, and removed fields have no
 * owner.
 */
export function ownersAfterWrite(before: JsonObject, after: JsonObject): FieldOwners {
  const [was, is] = [fieldsOf(before), fieldsOf(after)];
  const changed = [...is].filter(([path, value]) => !equalJson(was.get(path), value)).map(([path]) => path);
  const isRemoved = (path: string): boolean => was.has(path) && !is.has(path);
  const owners = ownersOf(before);
  const kept = [...owners].map(
    ([name, fields]) =>
      [name, new Set([...fields].filter((path) => !isRemoved(path) && !changed.includes(path)))] as const,
  );
  const theirs = new Set([...(new Map(kept).get(OTHERS) ?? []), ...changed]);
  return new Map([...kept, [OTHERS, theirs]]);
}

/** Returns an object without the fields at these paths; maps that become empty stay. */
export function withoutFields(object: JsonObject, paths: readonly string[]): JsonObject {
  return paths.reduce((rest, path) => withoutField(rest, path.split('/').slice(1).map(unescaped)), object);
}

function withoutField(object: JsonObject, [key, ...rest]: readonly string[]): JsonObject {
  if (key === undefined) return object;
  const { [key]: member, ...others } = object;
  if (rest.length === 0) return others;
  return isObject(member) ? { ...object, [key]: withoutField(member, rest) } : object;
}
