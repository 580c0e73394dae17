import { isObject, type JsonObject, metadataOf, objectAt, objectsAt, textAt } from '../memory-kube/json.ts';
import type { Reply } from './servers.ts';

const INITIAL_STATE_ENDS = 'k8s.io/initial-events-end';

/** Makes what two servers say comparable: ranks for versions and uids in the order of their appearance, no times. */
export class Canonical {
  readonly #uids: string[] = [];
  readonly #versions: string[] = [];

  /** Returns an object without what differs between two servers, and without its kind, which lists omit. */
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

  /** Returns the canonical form of any reply except a watch. */
  reply(type: string, { status, body }: Reply): JsonObject {
    if (!isObject(body)) return { status, body: String(body) };
    if (status >= 300) return { status, reason: body['reason'] };
    if (body['kind'] === 'Status') return { status, gone: this.#gone(objectAt(body, 'details')) };
    if (type !== 'list') return { status, object: this.plain(body) };
    const at = this.#placeOf(textAt(metadataOf(body), 'resourceVersion'));
    return { status, at, items: objectsAt(body, 'items').map((item) => this.plain(item)) };
  }

  /** Returns the details of an object that was deleted immediately. */
  #gone({ uid, ...details }: JsonObject): JsonObject {
    return { ...details, uid: rank(this.#uids, String(uid)) };
  }

  /**
   * Returns the canonical form of a watch event; undefined for a timed bookmark, which only one of two servers may
   * send.
   */
  event(event: JsonObject): JsonObject | undefined {
    const object = objectAt(event, 'object');
    const type = String(event['type']);
    if (type === 'ERROR') return { type, code: object['code'], reason: object['reason'] };
    if (type !== 'BOOKMARK') return { type, object: this.plain(object) };
    const metadata = metadataOf(object);
    const annotations = objectAt(metadata, 'annotations');
    if (annotations[INITIAL_STATE_ENDS] !== 'true') return undefined;
    return { type, ends: 'the initial state' };
  }

  /** Returns the number of known versions that are at most the given version of the collection. */
  #placeOf(version: string | undefined): number {
    return this.#versions.filter((known) => Number(known) <= Number(version)).length;
  }
}

function rank(seen: string[], value: string): number {
  const known = seen.indexOf(value);
  return known >= 0 ? known : seen.push(value) - 1;
}
