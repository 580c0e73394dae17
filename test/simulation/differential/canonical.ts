import { type JsonObject, metadataOf } from '../memory-kube/json.ts';

/** Makes what two servers say comparable: ranks for versions and uids in the order of their appearance, no times. */
export class Canonical {
  readonly #uids: string[] = [];
  readonly #versions: string[] = [];

  /** An object without what differs between two servers, and without its kind, which lists leave out. */
  plain(object: JsonObject): JsonObject {
    const {
      managedFields: _fields,
      creationTimestamp,
      deletionTimestamp,
      uid,
      resourceVersion,
      ...metadata
    } = metadataOf(object);
    const { apiVersion: _version, kind: _kind, ...rest } = object;
    return {
      ...rest,
      metadata: {
        ...metadata,
        namespace: null,
        uid: rank(this.#uids, String(uid)),
        resourceVersion: rank(this.#versions, String(resourceVersion)),
        creationTimestamp: creationTimestamp === undefined ? null : 'a time',
        deletionTimestamp: deletionTimestamp === undefined ? null : 'a time',
      },
    };
  }
}

function rank(seen: string[], value: string): number {
  const known = seen.indexOf(value);
  return known >= 0 ? known : seen.push(value) - 1;
}
