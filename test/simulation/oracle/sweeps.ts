import { type JsonObject, metadataOf } from '../memory-kube/json.ts';
import { isRollbackConfirmed } from './accounts.ts';
import { isLate, type Purchase } from './purchase.ts';
import type { Scene } from './scene.ts';

/** Start dates are rounded. */
const ROUNDING_MS = 1_000;
/** In how many lists a machine has to be unclaimed before it may be swept. */
const LEAST_LISTS = 2;
/** In how many lists a late machine stood for sure that a purchase has to know of. */
const LISTS_TO_KNOW = 2;
/** How long a process that was destroying the machines of an object may not know that the object is gone. */
const TEARDOWN_MS = 300_000;

/** What stood before a process that sends a destroy. */
interface Sight {
  readonly lists: number;
  readonly isBreakerOpen: boolean;
}

/**
 * The other side of I1: a machine that no object claims is swept only where the policy says so, once it is old enough,
 * after two lists, and not while the breaker has to be open: what the service says then is not to be believed. A person may have made a mistake that the next minute puts right. I4: a machine whose object a
 * restored cluster has forgotten may be at work, and is left alone until a person has looked.
 */
export class SweepWatch {
  readonly #scene: Scene;
  /** Contracts without an owner, with the number of lists asked for since. */
  readonly #lists = new Map<number, number>();
  /** Uids of objects that went while their machines were being destroyed. */
  readonly #tornDown = new Map<string, number>();
  readonly #forgotten = new Set<string>();

  constructor(scene: Scene) {
    this.#scene = scene;
  }

  /** An object is gone. */
  released(uid: string, object: JsonObject): void {
    if (metadataOf(object)['deletionTimestamp'] !== undefined)
      this.#tornDown.set(tornKey(uid), this.#scene.now);
  }

  /** The cluster is restored to a moment before that object was made. */
  forgotten(uid: string): void {
    this.#forgotten.add(forgottenKey(uid));
  }

  changed(): void {
    const unowned = new Set(
      this.#scene
        .live()
        .filter(
          (contract) =>
            this.#scene.purchaseOf(contract) &&
            (!this.#scene.ownerOf(contract) || this.#scene.isLateRental(contract)),
        )
        .map(({ id }) => id),
    );
    for (const id of this.#lists.keys()) if (!unowned.has(id)) this.#lists.delete(id);
    for (const id of unowned) if (!this.#lists.has(id)) this.#lists.set(id, 0);
  }

  /** Some process sends for the list of that login, or of any. */
  listed(userId: number | undefined): void {
    for (const [id, lists] of this.#lists)
      if (this.#scene.isListedFor(id, userId)) this.#lists.set(id, lists + 1);
  }

  /** I2: nothing is bought while lists show a machine of the purchase before, which was carried out late. */
  rentSent({ uid, attempt }: Purchase): void {
    for (const [id, lists] of this.#lists) {
      const contract = this.#scene.contracts()[id];
      const purchase = contract && this.#scene.isLateRental(contract) && this.#scene.purchaseOf(contract);
      if (!purchase || purchase.uid !== uid || purchase.attempt !== attempt - 1 || lists < LISTS_TO_KNOW)
        continue;
      this.#scene.broken(
        'I2',
        `purchase ${attempt} was sent while contract ${id} of the one before was listed`,
      );
    }
  }

  destroySent(id: number, { isBreakerOpen }: { readonly isBreakerOpen: boolean }): void {
    const sight = { lists: this.#lists.get(id) ?? 0, isBreakerOpen };
    const why = this.#lists.has(id) ? this.#whyNot(id, sight) : undefined;
    if (why !== undefined) this.#scene.broken('I1', `contract ${id}, which nobody claims, was swept ${why}`);
    if (this.#isForgotten(id) && !this.#scene.accounts.all().some(isRollbackConfirmed))
      this.#scene.broken('I4', `contract ${id} was swept, which a restored cluster had forgotten`);
  }

  #isForgotten(id: number): boolean {
    const contract = this.#scene.contracts()[id];
    const uid = contract && this.#scene.purchaseOf(contract)?.uid;
    return uid !== undefined && this.#forgotten.has(forgottenKey(uid));
  }

  #whyNot(id: number, { lists, isBreakerOpen }: Sight): string | undefined {
    const contract = this.#scene.contracts()[id];
    const uid = contract && this.#scene.purchaseOf(contract)?.uid;
    if (!contract || uid === undefined) return undefined;
    const tornDownAt = this.#tornDown.get(tornKey(uid)) ?? Number.NEGATIVE_INFINITY;
    if (this.#scene.now - tornDownAt < TEARDOWN_MS) return undefined;
    if (this.#scene.orphanPolicy(contract) === 'Report') return 'although the policy is to report it';
    if (this.#scene.isNamespaced()) return 'while fewer namespaces are watched than before';
    if (isBreakerOpen) return 'while the breaker had to be open';
    const age = this.#scene.now - contract.createdAt;
    const least = isLate(contract) ? this.#scene.lateOrphanAgeMs : this.#scene.orphanAgeMs;
    if (age < least - ROUNDING_MS) return `${age / 1000} s after it began`;
    return lists < LEAST_LISTS ? `after ${lists} lists` : undefined;
  }
}

/** Not the uid itself: that is looked for in the memory of processes. */
const forgottenKey = (uid: string): string => `forgotten ${uid}`;
const tornKey = (uid: string): string => `torn down ${uid}`;
