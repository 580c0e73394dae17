import type { Machine } from '../machine.ts';
import { type JsonObject, metadataOf, objectAt } from '../memory-kube/json.ts';
import { accountKeyOf } from './accounts.ts';
import type { Purchase } from './purchase.ts';
import { nameOf, type Scene } from './scene.ts';

/** How long a process may go by an account that was changed: watches lag, and are cut and begun again. */
const ACCOUNT_IS_KNOWN_MS = 30_000;
/** Labels of a namespace are read once in a minute; a read may fail, and the next one, too. */
const LABELS_ARE_KNOWN_MS = 200_000;

/** Nothing is rented for an object of a namespace from which its account may not be used. */
export class PermitWatch {
  readonly #scene: Scene;
  /** Since when objects of a namespace may not use an account. */
  readonly #refusedSince = new Map<string, number>();
  readonly #blindUntil = new WeakMap<Machine, number>();

  constructor(scene: Scene) {
    this.#scene = scene;
  }

  /** A process may not know what accounts allow until then. */
  blind(machine: Machine, until: number): void {
    this.#blindUntil.set(machine, until);
  }

  /** An account, a namespace or an object was written, or the operator was installed anew. */
  changed(): void {
    const uses = new Map([...this.#scene.objects.values()].map((object) => [useOf(object), object]));
    for (const use of this.#refusedSince.keys()) if (!uses.has(use)) this.#refusedSince.delete(use);
    for (const [use, object] of uses) {
      if (this.#isAllowed(object)) this.#refusedSince.delete(use);
      else if (!this.#refusedSince.has(use)) this.#refusedSince.set(use, this.#scene.now);
    }
  }

  /** A rent call leaves. */
  rentSent(machine: Machine, { uid }: Purchase): void {
    const { now } = this.#scene;
    const object = this.#scene.objects.get(uid);
    const since = object && this.#refusedSince.get(useOf(object));
    if (!object || since === undefined || now < (this.#blindUntil.get(machine) ?? 0)) return;
    const known = this.#rules(object)['from'] === 'Selector' ? LABELS_ARE_KNOWN_MS : ACCOUNT_IS_KNOWN_MS;
    if (now - since < known) return;
    const text = `${nameOf(object)} rents by ${accountKeyOf(object)}, which is not for its namespace`;
    this.#scene.broken('Access', text);
  }

  #isAllowed(object: JsonObject): boolean {
    const namespace = namespaceOf(object);
    if (accountKeyOf(object).startsWith(`${namespace}/`)) return true;
    const rules = this.#rules(object);
    if (this.#scene.isNamespaced()) return false;
    if (rules['from'] !== 'Selector') return rules['from'] === 'All';
    const labels = this.#labelsOf(namespace);
    const wanted = Object.entries(objectAt(objectAt(rules, 'selector'), 'matchLabels'));
    return wanted.every(([label, value]) => labels[label] === value);
  }

  #rules(object: JsonObject): JsonObject {
    return objectAt(objectAt(this.#scene.accountOf(object), 'spec'), 'allowedNamespaces');
  }

  #labelsOf(namespace: string): JsonObject {
    const { store, kind } = this.#scene.world.kube;
    const found = store.get(kind('namespaces'), `/${namespace}`);
    return found ? objectAt(metadataOf(found), 'labels') : {};
  }
}

const namespaceOf = (object: JsonObject): string => String(metadataOf(object)['namespace']);

/** Which namespace uses which account. */
const useOf = (object: JsonObject): string => `${namespaceOf(object)} by ${accountKeyOf(object)}`;
