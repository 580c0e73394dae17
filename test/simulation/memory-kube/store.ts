import { failures } from './failure.ts';
import { type JsonObject, metadataOf, textAt } from './json.ts';
import type { Kind } from './kinds.ts';

/** Committed change. `previous` is the object before it. */
export interface Commit {
  readonly revision: number;
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly kind: Kind;
  readonly object: JsonObject;
  readonly previous: JsonObject | undefined;
}

/** A list that is being paged: its items stay those of the first page's revision. */
interface Snapshot {
  readonly revision: number;
  readonly items: readonly JsonObject[];
}

const collectionKey = (kind: Kind): string => `${kind.group}/${kind.plural}`;

/** Returns the key of an object within its kind, in the order in which etcd lists. */
export function storeKey(object: JsonObject): string {
  const metadata = metadataOf(object);
  return `${textAt(metadata, 'namespace') ?? ''}/${textAt(metadata, 'name') ?? ''}`;
}

/** etcd as the API server sees it: one revision over all kinds, a history to watch from, and compaction. */
export class Store {
  #revision = 1;
  #compacted = 0;
  readonly #collections = new Map<string, Map<string, JsonObject>>();
  #history: Commit[] = [];
  readonly #snapshots = new Map<string, Snapshot>();
  readonly #listeners = new Set<(commit: Commit) => void>();

  get revision(): number {
    return this.#revision;
  }

  get(kind: Kind, key: string): JsonObject | undefined {
    return this.#collection(kind).get(key);
  }

  /** Returns all objects of a kind in key order. */
  all(kind: Kind): JsonObject[] {
    const collection = this.#collection(kind);
    return [...collection.keys()].sort().map((key) => collection.get(key) ?? {});
  }

  /** Commits a change under the next revision, which becomes the object's resource version. */
  commit(type: Commit['type'], kind: Kind, object: JsonObject): JsonObject {
    this.#revision += 1;
    const stamped: JsonObject = {
      ...object,
      metadata: { ...metadataOf(object), resourceVersion: String(this.#revision) },
    };
    const collection = this.#collection(kind);
    const key = storeKey(stamped);
    const previous = collection.get(key);
    if (type === 'DELETED') collection.delete(key);
    else collection.set(key, stamped);
    const commit: Commit = { revision: this.#revision, type, kind, object: stamped, previous };
    this.#history.push(commit);
    for (const listener of [...this.#listeners]) listener(commit);
    return stamped;
  }

  /** Writes into an object, under its version, what the server keeps about it beside its content. */
  amend(kind: Kind, object: JsonObject): JsonObject {
    this.#collection(kind).set(storeKey(object), object);
    return object;
  }

  /** Returns every commit after `revision`; throws 410 if some of them were compacted. */
  since(revision: number): readonly Commit[] {
    if (revision < this.#compacted) {
      throw failures.expired(`too old resource version: ${revision} (${this.#compacted})`);
    }
    return this.#history.slice(Math.max(0, this.#history.length - (this.#revision - revision)));
  }

  onCommit(listener: (commit: Commit) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Forgets history and paged lists up to now: later watches and continuations from before get 410. */
  compact(): void {
    this.#compacted = this.#revision;
    this.#history = [];
    this.#snapshots.clear();
  }

  /** Keeps the rest of a paged list; returns the token that brings it back. */
  keepPage(snapshot: Snapshot): string {
    const token = `${snapshot.revision}-${this.#snapshots.size + 1}`;
    this.#snapshots.set(token, snapshot);
    return token;
  }

  page(token: string): Snapshot {
    const snapshot = this.#snapshots.get(token);
    if (snapshot) return snapshot;
    throw failures.expired(
      'The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter.',
    );
  }

  #collection(kind: Kind): Map<string, JsonObject> {
    const key = collectionKey(kind);
    const known = this.#collections.get(key);
    if (known) return known;
    const fresh = new Map<string, JsonObject>();
    this.#collections.set(key, fresh);
    return fresh;
  }
}
