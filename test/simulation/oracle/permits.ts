import { isObject, type JsonObject, listAt, metadataOf, objectAt, textAt } from '../memory-kube/json.ts';
import { statusAt } from '../status-at.ts';
import { accountKeyOf } from './accounts.ts';
import { nameOf, type Scene } from './scene.ts';

/** Time for which a process may use a changed account: watches lag, and are interrupted and restarted. */
const ACCOUNT_IS_KNOWN_MS = 30_000;
/** Time for which a status may still be written by facts that a watch had not changed yet. */
const WITHDRAWAL_IS_KNOWN_MS = 2_000;
/** Labels of a namespace are read once in a minute; a read may fail, and the next one, too. */
const LABELS_ARE_KNOWN_MS = 200_000;

/** Nothing is rented or started for an object of a namespace from which its account may not be used, nor is it told of it. */
export class PermitWatch {
  readonly #scene: Scene;
  /** Time since which objects of a namespace may not use an account. */
  readonly #refusedSince = new Map<string, number>();
  /** Message of an account when it withdrew its permission: namespaces that could read it then may still show it. */
  readonly #readBefore = new Map<string, readonly string[]>();
  readonly #allowed = new Set<string>();
  /** Refused ones that were allowed before. */
  readonly #withdrawn = new Set<string>();
  /** Last written status by uid. */
  readonly #statusOf = new Map<string, string>();

  constructor(scene: Scene) {
    this.#scene = scene;
  }

  /** Records a written account, namespace or object, or another installation of the operator. */
  changed(): void {
    const uses = new Map([...this.#scene.objects.values()].map((object) => [useOf(object), object]));
    for (const use of this.#refusedSince.keys()) if (!uses.has(use)) this.#refusedSince.delete(use);
    for (const [use, object] of uses) {
      if (this.#isAllowed(object)) {
        this.#allowed.add(use);
        this.#refusedSince.delete(use);
      } else if (!this.#refusedSince.has(use)) {
        this.#refusedSince.set(use, this.#scene.now);
        const isWithdrawn = this.#allowed.delete(use);
        if (isWithdrawn) this.#withdrawn.add(use);
        else this.#withdrawn.delete(use);
        this.#readBefore.set(use, isWithdrawn ? this.#wordsOfAccount(object) : []);
      }
    }
  }

  /** Records a sent rental or start for an object. */
  spends(object: JsonObject, what: string): void {
    if (!this.#isKnownOutside(object)) return;
    const text = `${nameOf(object)} ${what} by ${accountKeyOf(object)}, which is not for its namespace`;
    this.#scene.broken('Access', text);
  }

  #isKnownOutside(object: JsonObject): boolean {
    const since = this.#refusedSince.get(useOf(object));
    const known = this.#rules(object)['from'] === 'Selector' ? LABELS_ARE_KNOWN_MS : ACCOUNT_IS_KNOWN_MS;
    return since !== undefined && this.#scene.now - since >= known;
  }

  /** Returns true if the watch of a process may not show yet that an account has withdrawn its permission. */
  #isJustRefused(object: JsonObject): boolean {
    const since = this.#refusedSince.get(useOf(object));
    return this.#withdrawn.has(useOf(object)) && this.#scene.now - (since ?? 0) < WITHDRAWAL_IS_KNOWN_MS;
  }

  /** Checks an object written by the operator: an outsider's contains no message of the account. */
  written(object: JsonObject): void {
    const uid = `status of ${String(metadataOf(object)['uid'])}`;
    const status = JSON.stringify(statusAt(object));
    const before = this.#statusOf.get(uid);
    this.#statusOf.set(uid, status);
    if (status === before || this.#isAllowed(object) || this.#isJustRefused(object)) return;
    const readBefore = this.#readBefore.get(useOf(object)) ?? [];
    const unread = this.#wordsOfAccount(object).filter((message) => !readBefore.includes(message));
    const known = conditionsOf(object).flatMap((condition) => textAt(condition, 'message') ?? []);
    const leaked = unread.find((message) => message !== '' && known.some((each) => each.includes(message)));
    if (leaked === undefined || before?.includes(JSON.stringify(leaked).slice(1, -1))) return;
    const text = `${nameOf(object)} may not use ${accountKeyOf(object)}, and its status says of it: ${leaked}`;
    this.#scene.broken('Access', text);
  }

  #wordsOfAccount(object: JsonObject): readonly string[] {
    return conditionsOf(this.#scene.accountOf(object)).flatMap((each) => textAt(each, 'message') ?? []);
  }

  #isAllowed(object: JsonObject): boolean {
    const namespace = namespaceOf(object);
    if (accountKeyOf(object).startsWith(`${namespace}/`)) return true;
    const rules = this.#rules(object);
    if (this.#scene.isNamespaced()) return false;
    if (rules['from'] !== 'Selector') return rules['from'] === 'All';
    const labels = this.#labelsOf(namespace);
    const required = Object.entries(objectAt(objectAt(rules, 'selector'), 'matchLabels'));
    return required.every(([label, value]) => labels[label] === value);
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

const conditionsOf = (object: JsonObject): readonly JsonObject[] =>
  listAt(statusAt(object), 'conditions').filter(isObject);

const namespaceOf = (object: JsonObject): string => String(metadataOf(object)['namespace']);

/** Returns the key of a namespace's use of an account. */
const useOf = (object: JsonObject): string => `${namespaceOf(object)} by ${accountKeyOf(object)}`;
