import type { Clock } from '../../../src/lib/clock.ts';
import type { Address } from './address.ts';
import { isObject, type JsonObject, listAt, metadataOf, textAt } from './json.ts';
import type { Kind } from './kinds.ts';
import type { Store } from './store.ts';
import { ORPHAN_FINALIZER, ownerUids, type Writes } from './writes.ts';

export interface ReapersOptions {
  readonly store: Store;
  readonly writes: Writes;
  readonly clock: Clock;
  readonly kinds: () => readonly Kind[];
  readonly namespaceKind: Kind;
}

const addressOf = (kind: Kind, object: JsonObject): Address => ({
  kind,
  namespace: textAt(metadataOf(object), 'namespace'),
  name: textAt(metadataOf(object), 'name') ?? '',
});

function withMetadata(current: JsonObject, changes: JsonObject): JsonObject {
  return { ...current, metadata: { ...metadataOf(current), ...changes } };
}

/**
 * The garbage collector and the namespace controller: they run a little after each deletion, on the clock,
 * as the real ones do. Deletes what every owner of has gone; empties terminating namespaces.
 */
export class Reapers {
  readonly #options: ReapersOptions;
  #scheduled = false;

  constructor(options: ReapersOptions) {
    this.#options = options;
    options.store.onCommit((commit) => {
      if (commit.type === 'DELETED' || metadataOf(commit.object)['deletionTimestamp']) this.#schedule();
      else if (commit.type === 'ADDED' && ownerUids(commit.object).length > 0) this.#schedule();
    });
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    this.#options.clock.setTimer(
      100,
      () => {
        this.#scheduled = false;
        this.#orphanDependents();
        this.#collectGarbage();
        this.#emptyNamespaces();
      },
      { background: true },
    );
  }

  #each(visit: (address: Address, object: JsonObject) => void): void {
    for (const kind of this.#options.kinds()) {
      for (const object of this.#options.store.all(kind)) visit(addressOf(kind, object), object);
    }
  }

  /** `kubectl delete --cascade=orphan`: its dependents lose their reference to it, then it may go. */
  #orphanDependents(): void {
    const { writes } = this.#options;
    this.#each((address, owner) => {
      const { uid, deletionTimestamp, finalizers } = metadataOf(owner);
      if (!deletionTimestamp || !Array.isArray(finalizers) || !finalizers.includes(ORPHAN_FINALIZER)) return;
      this.#each((dependent, object) => {
        if (!ownerUids(object).includes(String(uid))) return;
        const references = listAt(metadataOf(object), 'ownerReferences');
        const others = references.filter((one) => !isObject(one) || one['uid'] !== uid);
        writes.update(dependent, (current) => withMetadata(current, { ownerReferences: others }), undefined);
      });
      const rest = finalizers.filter((one) => one !== ORPHAN_FINALIZER);
      writes.update(address, (current) => withMetadata(current, { finalizers: rest }), undefined);
    });
  }

  #collectGarbage(): void {
    const living = new Set<string>();
    this.#each((_address, object) => living.add(String(metadataOf(object)['uid'])));
    this.#each((address, object) => {
      const owners = ownerUids(object);
      const isGarbage = owners.length > 0 && !owners.some((uid) => living.has(uid));
      if (isGarbage && !metadataOf(object)['deletionTimestamp']) this.#options.writes.delete(address, {});
    });
  }

  #emptyNamespaces(): void {
    const { store, writes, namespaceKind } = this.#options;
    for (const namespace of store.all(namespaceKind)) {
      if (!metadataOf(namespace)['deletionTimestamp']) continue;
      const name = String(metadataOf(namespace)['name']);
      let left = 0;
      this.#each((address, object) => {
        if (address.namespace !== name) return;
        if (!metadataOf(object)['deletionTimestamp']) writes.delete(address, {});
        if (writes.read(address)) left += 1;
      });
      if (left === 0) store.commit('DELETED', namespaceKind, namespace);
    }
  }
}
