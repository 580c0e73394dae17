import { type JsonObject, metadataOf } from '../memory-kube/json.ts';
import type { Known } from './known.ts';
import type { Operation, Uid, Version, WatchFrom } from './operations.ts';
import { collectionOf, GROUPS, KINDS } from './resources.ts';
import type { Request } from './servers.ts';

/** Environment of a program. */
export interface Place {
  /** The program's own. */
  readonly id: string;
  readonly namespace: string;
  readonly known: Known;
}

/** Returns the request of an operation, from what its client knows. */
export function requestOf(operation: Exclude<Operation, { type: 'watch' }>, place: Place): Request {
  const collection = collectionOf(operation.plural, place.namespace);
  if (operation.type === 'list') return { method: 'GET', path: listPath(operation, place) };
  const path = `${collection}/${operation.name}`;
  switch (operation.type) {
    case 'create':
      return { method: 'POST', path: collection, body: whole(operation, {}) };
    case 'get':
      return { method: 'GET', path };
    case 'replace':
      return {
        method: 'PUT',
        path: withStatus(path, operation),
        body: whole(operation, asked(operation, place)),
      };
    case 'merge': {
      const { body } = operation;
      const metadata = { ...metadataOf(body), ...asked(operation, place) };
      const contentType = 'application/merge-patch+json';
      return { method: 'PATCH', path: withStatus(path, operation), body: { ...body, metadata }, contentType };
    }
    case 'json': {
      const contentType = 'application/json-patch+json';
      return { method: 'PATCH', path, body: guarded(operation, place), contentType };
    }
    case 'apply':
      return {
        method: 'PATCH',
        path: `${path}?fieldManager=differential&force=true`,
        body: whole(operation, asked(operation, place)),
        contentType: 'application/apply-patch+yaml',
      };
    case 'delete': {
      const preconditions = asked(operation, place);
      return { method: 'DELETE', path, body: { apiVersion: 'v1', kind: 'DeleteOptions', preconditions } };
    }
  }
}

/** Returns the path of a watch. */
export function watchPath(operation: Extract<Operation, { type: 'watch' }>, place: Place): string {
  const { plural, selector, bookmarks, from } = operation;
  const query = new URLSearchParams({
    watch: '1',
    labelSelector: selector,
    timeoutSeconds: '120',
    ...(bookmarks ? { allowWatchBookmarks: 'true' } : {}),
    ...fromOf(from, place),
  });
  return `${collectionOf(plural, place.namespace)}?${query}`;
}

const STATE = { sendInitialEvents: 'true', resourceVersionMatch: 'NotOlderThan' } as const;

function fromOf(from: WatchFrom, { known }: Place): Readonly<Record<string, string>> {
  const { firstVersion, newestVersion } = known;
  switch (from) {
    case 'unset':
      return {};
    case 'any':
      return { resourceVersion: '0' };
    case 'state':
      return STATE;
    case 'stateNotOlder':
      return { ...STATE, ...(newestVersion && { resourceVersion: newestVersion }) };
    case 'newest':
      return newestVersion ? { resourceVersion: newestVersion } : {};
    case 'first':
      return firstVersion ? { resourceVersion: firstVersion } : {};
  }
}

function listPath(
  { plural, limit, notOlder }: Extract<Operation, { type: 'list' }>,
  { id, namespace, known }: Place,
): string {
  const query = new URLSearchParams({
    labelSelector: `program=${id}`,
    ...(limit === undefined ? {} : { limit: String(limit) }),
    ...(notOlder ? notOlderThan(known) : {}),
  });
  return `${collectionOf(plural, namespace)}?${query}`;
}

/** Returns the query of a list that must be at least as new as every earlier reply. */
export function notOlderThan({ newestVersion }: Known): Readonly<Record<string, string>> {
  return newestVersion ? { resourceVersion: newestVersion, resourceVersionMatch: 'NotOlderThan' } : {};
}

const withStatus = (path: string, { subresource }: { readonly subresource: 'status' | undefined }): string =>
  subresource === undefined ? path : `${path}/${subresource}`;

type Write = Extract<Operation, { readonly version: Version; readonly uid: Uid }>;

/** Returns the version and UID that a write is conditional on. */
function asked({ client, name, version, uid }: Write, { known }: Place): JsonObject {
  const [resourceVersion, incarnation] = [known.version(client, name, version), known.uid(client, name, uid)];
  return {
    ...(resourceVersion === undefined ? {} : { resourceVersion }),
    ...(incarnation === undefined ? {} : { uid: incarnation }),
  };
}

function whole(
  { plural, name, body }: Pick<Write, 'plural' | 'name'> & { readonly body: JsonObject },
  more: JsonObject,
): JsonObject {
  return {
    apiVersion: GROUPS[plural].replace(/^\/apis?\//, ''),
    kind: KINDS[plural],
    ...body,
    metadata: { ...metadataOf(body), name, ...more },
  };
}

/** Returns a JSON patch that tests the version first. */
function guarded(
  { client, name, version, patch }: Extract<Operation, { type: 'json' }>,
  { known }: Place,
): readonly JsonObject[] {
  const value = known.version(client, name, version);
  return value === undefined ? patch : [{ op: 'test', path: '/metadata/resourceVersion', value }, ...patch];
}
