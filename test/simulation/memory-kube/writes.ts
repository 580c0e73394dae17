import type { Clock } from '../../../src/lib/clock.ts';
import type { Random } from '../../../src/lib/random.ts';
import { type Address, type Preconditions, targetOf } from './address.ts';
import {
  refuseNewFinalizers,
  requirePreconditions,
  requireSameIncarnation,
  requireSamePatched,
  requireSameVersion,
} from './conditions-of-writes.ts';
import { failures } from './failure.ts';
import {
  type Applied,
  fieldsOf,
  givenUp,
  isOwnerless,
  isTracked,
  ownersAfterApply,
  ownersAfterWrite,
  ownersOf,
  withOwners,
  withoutFields,
} from './field-owners.ts';
import {
  copyOf,
  equalJson,
  isObject,
  type Json,
  type JsonObject,
  listAt,
  metadataOf,
  objectAt,
  objectsAt,
  textAt,
} from './json.ts';
import { apiVersionOf, hasFinalizers, type Kind } from './kinds.ts';
import { randomSuffix } from './names.ts';
import { mergePatch } from './patch.ts';
import { applyDefaults, problemsOf, prune } from './schema.ts';
import type { Store } from './store.ts';

export interface WritesOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly namespaceKind: Kind;
}

/** Computes the next state of an object from the one that stands; throws a `Failure` to refuse. */
export type Change = (current: JsonObject) => JsonObject;

const SERVER_METADATA = [
  'uid',
  'creationTimestamp',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
  'generation',
];

/** Finalizer that stays on an object until the garbage collector has removed the owner references. */
export const ORPHAN_FINALIZER = 'orphan';

/** Finalizer per propagation policy, which the garbage collector removes once its work is done. */
const COLLECTOR_FINALIZERS: Readonly<Record<string, string>> = {
  Foreground: 'foregroundDeletion',
  Orphan: ORPHAN_FINALIZER,
};

/** Creates, updates and deletes with the API server's rules about versions, generations and finalizers. */
export class Writes {
  readonly #options: WritesOptions;
  /**
   * Objects whose status defaults are not stored yet: the first update stores them, and so counts as a change in any
   * case.
   */
  readonly #unsettled = new WeakSet<JsonObject>();
  constructor(options: WritesOptions) {
    this.#options = options;
  }

  read(address: Address): JsonObject | undefined {
    return this.#options.store.get(address.kind, `${address.namespace ?? ''}/${address.name}`);
  }

  /** `isTrial`: everything but the storing. */
  create(address: Address, body: JsonObject, isTrial = false): JsonObject {
    const { store } = this.#options;
    const metadata = metadataOf(body);
    const name = textAt(metadata, 'name') ?? this.#generateName(address.kind, metadata);
    const target = { ...address, name };
    this.#requireNamespace(target);
    const fresh = this.#validated(target, this.#fresh(target, body));
    if (this.read(target)) throw failures.alreadyExists(targetOf(target));
    if (isTrial) return fresh;
    const created = store.commit('ADDED', address.kind, fresh);
    if (address.kind.schema && created['status'] !== undefined) this.#unsettled.add(created);
    return created;
  }

  /** Replaces an object: with the resource version that it carries or, for a built-in kind, unconditionally. */
  replace(address: Address, body: JsonObject, subresource: string | undefined): JsonObject {
    const current = this.read(address);
    if (!current) {
      if (address.kind.createsOnUpdate && subresource === undefined) {
        requireSameIncarnation(address, {}, body);
        return this.create(address, body);
      }
      throw failures.notFound(targetOf(address));
    }
    requireSameIncarnation(address, current, body);
    const given = textAt(metadataOf(body), 'resourceVersion');
    if (!given && !address.kind.allowsUnconditional) {
      throw failures.invalid(targetOf(address), [
        'metadata.resourceVersion: Invalid value: 0: must be specified for an update',
      ]);
    }
    return this.update(address, () => body, subresource);
  }

  update(address: Address, change: Change, subresource: string | undefined): JsonObject {
    const current = this.read(address);
    if (!current) throw failures.notFound(targetOf(address));
    const desired = change(current);
    requireSameVersion(address, current, desired);
    if (subresource === undefined) requireSamePatched(address, current, desired);
    const merged = this.#merge({ address, current, desired, subresource });
    const next = this.#validated(address, merged);
    const owned = isTracked(current) ? withOwners(next, ownersAfterWrite(current, next)) : next;
    return this.#commitUpdate(address, current, owned);
  }

  /**
   * Performs a forced server-side apply: creates a missing object, and removes fields that only this manager had
   * applied.
   */
  apply(address: Address, applied: Applied): { readonly object: JsonObject; readonly isNew: boolean } {
    const current = this.read(address);
    if (!current) return { object: this.#applyNew(address, applied), isNew: true };
    requireSameVersion(address, current, applied.patch);
    requireSamePatched(address, current, applied.patch);
    const rest = withoutFields(copyOf(current), givenUp(current, applied));
    const desired = mergePatch(rest, applied.patch);
    if (!isObject(desired)) throw failures.badRequest('an object is wanted');
    const merged = this.#merge({ address, current, desired, subresource: applied.subresource });
    const next = this.#validated(address, merged);
    const tracks =
      fieldsOf(applied.patch).size > 0 || ownersOf(current).has(applied.manager) || isOwnerless(current);
    const owned = tracks ? withOwners(next, ownersAfterApply(current, applied)) : next;
    return { object: this.#commitUpdate(address, current, owned), isNew: false };
  }

  #applyNew(address: Address, applied: Applied): JsonObject {
    const uid = textAt(metadataOf(applied.patch), 'uid');
    if (uid) {
      const why = `uid mismatch: the provided object specified uid ${uid}, and no existing object was found`;
      throw failures.conflict(targetOf(address), why);
    }
    const created = this.create(address, applied.patch);
    const stored = withOwners(created, new Map([[applied.manager, new Set(fieldsOf(applied.patch).keys())]]));
    if (this.#unsettled.has(created)) this.#unsettled.add(stored);
    return this.#options.store.amend(address.kind, stored);
  }

  delete(address: Address, preconditions: Preconditions): JsonObject {
    const current = this.read(address);
    if (!current) throw failures.notFound(targetOf(address));
    requirePreconditions(address, current, preconditions);
    const metadata = metadataOf(current);
    const finalizers = listAt(metadata, 'finalizers').map(String);
    const collector = COLLECTOR_FINALIZERS[preconditions.propagation ?? ''];
    const holds = collector === undefined ? finalizers : [...finalizers, collector];
    const isNamespace = address.kind === this.#options.namespaceKind;
    if (holds.length === 0 && !isNamespace) return this.#remove(address, current);
    if (metadata['deletionTimestamp']) return current;
    return this.#markDeleted(address, current, holds);
  }

  #markDeleted(address: Address, current: JsonObject, finalizers: readonly string[]): JsonObject {
    const { store, clock, namespaceKind } = this.#options;
    const metadata = metadataOf(current);
    const generation = metadata['generation'];
    const marked: JsonObject = {
      ...current,
      metadata: {
        ...metadata,
        ...(finalizers.length > 0 ? { finalizers: [...finalizers] } : {}),
        deletionTimestamp: timestamp(clock.now()),
        deletionGracePeriodSeconds: 0,
        ...(typeof generation === 'number' ? { generation: generation + 1 } : {}),
      },
      ...(address.kind === namespaceKind ? { status: { phase: 'Terminating' } } : {}),
    };
    return store.commit('MODIFIED', address.kind, marked);
  }

  #remove(address: Address, current: JsonObject): JsonObject {
    return this.#options.store.commit('DELETED', address.kind, current);
  }

  #commitUpdate(address: Address, current: JsonObject, next: JsonObject): JsonObject {
    const metadata = metadataOf(next);
    if (
      metadata['deletionTimestamp'] &&
      !hasFinalizers(metadata) &&
      address.kind !== this.#options.namespaceKind
    ) {
      // The answer shows the object as it stood, the watch its removal.
      this.#remove(address, next);
      return { ...next, metadata: { ...metadata, resourceVersion: metadataOf(current)['resourceVersion'] } };
    }
    if (equalJson(current, next) && !this.#unsettled.has(current)) return current;
    return this.#options.store.commit('MODIFIED', address.kind, next);
  }

  #generateName(kind: Kind, metadata: JsonObject): string {
    const prefix = textAt(metadata, 'generateName');
    if (prefix) return `${prefix}${randomSuffix(this.#options.random)}`;
    throw failures.invalid({ ...kind, name: '' }, [
      'metadata.name: Required value: name or generateName is required',
    ]);
  }

  #requireNamespace(address: Address): void {
    const { store, namespaceKind } = this.#options;
    if (!address.kind.namespaced) return;
    const name = address.namespace ?? '';
    const namespace = store.get(namespaceKind, `/${name}`);
    if (!namespace) {
      throw failures.notFound({ group: '', plural: 'namespaces', kind: 'Namespace', name });
    }
    if (metadataOf(namespace)['deletionTimestamp']) throw failures.terminating(targetOf(address), name);
  }

  #fresh(address: Address, body: JsonObject): JsonObject {
    const { kind, namespace, name } = address;
    const { clock, random } = this.#options;
    const given = { ...metadataOf(body) };
    for (const field of [...SERVER_METADATA, 'resourceVersion', 'managedFields', 'selfLink'])
      delete given[field];
    const { status: _status, ...rest } = body;
    return {
      ...(kind.hasStatus && kind.schema ? rest : body),
      apiVersion: apiVersionOf(kind),
      kind: kind.kind,
      metadata: {
        ...withoutEmpty(given),
        name,
        ...(kind.namespaced ? { namespace: namespace ?? '' } : {}),
        uid: random.uuid(),
        creationTimestamp: timestamp(clock.now()),
        ...(kind.countsGenerations ? { generation: 1 } : {}),
      },
    };
  }

  /** Returns the stored object with the part of `wanted` that this subresource may change. */
  #merge(request: {
    readonly address: Address;
    readonly current: JsonObject;
    readonly desired: JsonObject;
    readonly subresource: string | undefined;
  }): JsonObject {
    const { address, current, desired, subresource } = request;
    const { kind } = address;
    if (subresource === 'status') {
      return withMember(current, 'status', desired['status']);
    }
    const kept = kind.hasStatus && kind.schema ? withMember(desired, 'status', current['status']) : desired;
    const merged: JsonObject = { ...kept, apiVersion: apiVersionOf(kind), kind: kind.kind };
    merged['metadata'] = mergedMetadata(metadataOf(current), metadataOf(desired));
    refuseNewFinalizers(address, current, merged);
    return merged;
  }

  #validated(address: Address, object: JsonObject): JsonObject {
    const { schema } = address.kind;
    if (!schema) return address.kind.kind === 'Secret' ? withoutStringData(object) : object;
    const shaped = applyDefaults(prune(object, schema, true), schema);
    if (!isObject(shaped)) throw failures.badRequest('an object is wanted');
    const problems = problemsOf(shaped, schema);
    if (problems.length > 0) throw failures.invalid(targetOf(address), problems);
    return this.#withGeneration(address, shaped);
  }

  #withGeneration(address: Address, next: JsonObject): JsonObject {
    const current = this.read(address);
    if (!current || !address.kind.countsGenerations) return next;
    const content = ({ metadata: _metadata, status: _status, ...rest }: JsonObject) => rest;
    if (equalJson(content(current), content(next))) return next;
    const generation = Number(metadataOf(current)['generation'] ?? 0) + 1;
    return { ...next, metadata: { ...metadataOf(next), generation } };
  }
}

/** Returns an RFC 3339 time in whole seconds, as in metadata. */
export function timestamp(milliseconds: number): string {
  return new Date(Math.floor(milliseconds / 1000) * 1000).toISOString().replace('.000Z', 'Z');
}

function withMember(object: JsonObject, key: string, value: Json | undefined): JsonObject {
  const { [key]: _old, ...rest } = object;
  return value === undefined ? rest : { ...rest, [key]: value };
}

function mergedMetadata(current: JsonObject, desired: JsonObject): JsonObject {
  const merged: JsonObject = { ...desired };
  for (const field of ['name', 'namespace', ...SERVER_METADATA, 'resourceVersion', 'managedFields']) {
    if (current[field] === undefined) delete merged[field];
    else merged[field] = current[field];
  }
  return withoutEmpty(merged);
}

/** Removes empty maps and lists from metadata. */
function withoutEmpty(metadata: JsonObject): JsonObject {
  const kept = { ...metadata };
  for (const field of ['labels', 'annotations']) {
    if (Object.keys(objectAt(kept, field)).length === 0) delete kept[field];
  }
  for (const field of ['finalizers', 'ownerReferences']) {
    if (listAt(kept, field).length === 0) delete kept[field];
  }
  return kept;
}

/** Returns the UIDs of an object's owner references. */
export function ownerUids(object: JsonObject): readonly string[] {
  return objectsAt(metadataOf(object), 'ownerReferences').map((owner) => String(owner['uid'] ?? ''));
}

/** Returns a Secret with its `stringData` merged into `data`: `stringData` is never read back. */
function withoutStringData({ stringData, type = 'Opaque', ...rest }: JsonObject): JsonObject {
  const secret: JsonObject = { ...rest, type };
  if (!isObject(stringData)) return secret;
  const encoded = Object.entries(stringData).map(([key, text]): [string, Json] => [
    key,
    Buffer.from(String(text), 'utf8').toString('base64'),
  ]);
  return { ...secret, data: { ...objectAt(secret, 'data'), ...Object.fromEntries(encoded) } };
}
