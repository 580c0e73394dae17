import { compareResourceVersions } from '../kube/kube-object.ts';

/** A state of one object, from list or watch. */
export interface Seen<T> {
  readonly key: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly object: T;
}

/** A change of one key. An object that was replaced under its name is `deleted`, then `added`. */
export type Change<T> =
  | { readonly type: 'added'; readonly key: string; readonly object: T }
  | { readonly type: 'updated'; readonly key: string; readonly object: T; readonly previous: T }
  | { readonly type: 'deleted'; readonly key: string; readonly object: T };

export type Indexes<T> = Readonly<Record<string, (object: T) => readonly string[]>>;

/** Keys of the objects by value of one index. */
interface Index<T> {
  readonly name: string;
  readonly valuesOf: (object: T) => readonly string[];
  readonly keys: Map<string, Set<string>>;
  /** Cached results by value, until an object with that value changes: thousands may read the same one. */
  readonly found: Map<string, readonly T[]>;
}

/**
 * The newest known state of each object. An older or equal state changes nothing, so late and repeated events are
 * harmless. Each real change is passed to `onChange` once, after it is in the store.
 */
export class ObjectStore<T> {
  readonly #entries = new Map<string, Seen<T>>();
  readonly #indexes: readonly Index<T>[];
  readonly #onChange: (change: Change<T>) => void;
  readonly #touchListeners = new Set<(key: string) => void>();
  #listed: readonly T[] | undefined;

  constructor(indexes: Indexes<T>, onChange: (change: Change<T>) => void) {
    this.#indexes = Object.entries(indexes).map(([name, valuesOf]) => ({
      ...{ name, valuesOf },
      ...{ keys: new Map(), found: new Map() },
    }));
    this.#onChange = onChange;
  }

  get(key: string): T | undefined {
    return this.#entries.get(key)?.object;
  }

  entry(key: string): Seen<T> | undefined {
    return this.#entries.get(key);
  }

  keys(): readonly string[] {
    return [...this.#entries.keys()];
  }

  list(): readonly T[] {
    this.#listed ??= [...this.#entries.values()].map((entry) => entry.object);
    return this.#listed;
  }

  byIndex(index: string, value: string): readonly T[] {
    const known = this.#indexes.find(({ name }) => name === index);
    if (!known) throw new TypeError(`There is no index named ${index}`);
    const found = known.found.get(value);
    if (found) return found;
    const keys = known.keys.get(value);
    if (!keys) return [];
    const objects = [...keys].flatMap((key) => this.#entries.get(key)?.object ?? []);
    known.found.set(value, objects);
    return objects;
  }

  /** Calls `listener` with the key of each later change. Returns a function that removes it. */
  onTouch(listener: (key: string) => void): () => void {
    this.#touchListeners.add(listener);
    return () => {
      this.#touchListeners.delete(listener);
    };
  }

  upsert(seen: Seen<T>): void {
    const known = this.#entries.get(seen.key);
    if (known && compareResourceVersions(seen.resourceVersion, known.resourceVersion) <= 0) return;
    if (known && known.uid !== seen.uid) {
      this.#drop(known, known.object);
      this.#put(seen, undefined);
      return;
    }
    this.#put(seen, known);
  }

  /** Removes a deleted object; `seen` is its last state. */
  remove(seen: Seen<T>): void {
    const known = this.#entries.get(seen.key);
    if (!known || known.uid !== seen.uid) return;
    if (compareResourceVersions(seen.resourceVersion, known.resourceVersion) < 0) return;
    this.#drop(known, seen.object);
  }

  /** Removes a deleted object whose last state is unknown. */
  forget(key: string): void {
    const known = this.#entries.get(key);
    if (known) this.#drop(known, known.object);
  }

  #put(seen: Seen<T>, known: Seen<T> | undefined): void {
    if (known) this.#unindex(known);
    this.#entries.set(seen.key, seen);
    for (const { keys, found, valuesOf } of this.#indexes) {
      for (const value of valuesOf(seen.object)) {
        found.delete(value);
        const bucket = keys.get(value) ?? new Set();
        keys.set(value, bucket.add(seen.key));
      }
    }
    this.#listed = undefined;
    const { key, object } = seen;
    this.#emit(
      known ? { type: 'updated', key, object, previous: known.object } : { type: 'added', key, object },
    );
  }

  #drop(known: Seen<T>, lastState: T): void {
    this.#unindex(known);
    this.#entries.delete(known.key);
    this.#listed = undefined;
    this.#emit({ type: 'deleted', key: known.key, object: lastState });
  }

  #emit(change: Change<T>): void {
    for (const listener of this.#touchListeners) listener(change.key);
    this.#onChange(change);
  }

  #unindex(entry: Seen<T>): void {
    for (const { keys, found, valuesOf } of this.#indexes) {
      for (const value of valuesOf(entry.object)) {
        found.delete(value);
        const bucket = keys.get(value);
        bucket?.delete(entry.key);
        if (bucket?.size === 0) keys.delete(value);
      }
    }
  }
}
