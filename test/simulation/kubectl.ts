import type { Address } from './memory-kube/address.ts';
import { Failure } from './memory-kube/failure.ts';
import { type JsonObject, metadataOf, objectAt } from './memory-kube/json.ts';
import { NAMESPACE, type SimulatedWorld } from './world.ts';

/** A change of an object that is there. */
export interface Edit {
  /** Description in the trace: `a user <what>`. */
  readonly what: string;
  readonly change: (current: JsonObject) => JsonObject;
  readonly subresource?: 'status';
}

/** kubectl commands of a person with full rights. The trace records each one; the API server may refuse it. */
export class Kubectl {
  readonly #world: SimulatedWorld;

  constructor(world: SimulatedWorld) {
    this.#world = world;
  }

  /** Returns the address of an object by its short name: see {@link calledOf}. */
  address(plural: string, called: string): Address {
    return addressOf(this.#world, plural, called);
  }

  create(plural: string, called: string, body: JsonObject): void {
    const address = this.address(plural, called);
    const { name } = address;
    this.try(`creates ${plural} ${called}`, () =>
      this.#world.kube.writes.create(address, { ...body, metadata: { name } }),
    );
  }

  edit(address: Address, { what, change, subresource }: Edit): void {
    this.try(what, () => this.#world.kube.writes.update(address, change, subresource));
  }

  annotate(address: Address, what: string, annotations: JsonObject): void {
    this.edit(address, { what, change: (current) => withAnnotations(current, annotations) });
  }

  delete(address: Address, what: string, propagation?: 'Orphan'): void {
    this.try(what, () => this.#world.kube.writes.delete(address, { propagation }));
  }

  /** Names of all objects of a kind. */
  names(plural: string): string[] {
    const objects = this.#world.kube.store.all(this.#world.kube.kind(plural));
    return objects.map(calledOf);
  }

  /** Tells what was done, or why the API server refused it. */
  try(what: string, act: () => unknown): void {
    try {
      act();
      this.#world.note(`a user ${what}`);
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      this.#world.note(`a user ${what}: ${error.reason}`);
    }
  }
}

/** Returns the address of an object by its short name. */
export function addressOf({ kube }: SimulatedWorld, plural: string, called: string): Address {
  const [name = '', namespace = NAMESPACE] = called.split('.');
  return { kind: kube.kind(plural), namespace, name };
}

/**
 * Returns an object's short name; objects outside the default namespace have the namespace appended, as in `a.other`.
 */
export function calledOf(object: JsonObject): string {
  const { namespace, name } = metadataOf(object);
  return namespace === NAMESPACE ? String(name) : `${String(name)}.${String(namespace)}`;
}

function withAnnotations(current: JsonObject, more: JsonObject): JsonObject {
  const metadata = metadataOf(current);
  const annotations = { ...objectAt(metadata, 'annotations'), ...more };
  return { ...current, metadata: { ...metadata, annotations } };
}
