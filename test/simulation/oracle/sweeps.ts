import type { Contract } from '../../../src/simulator/tables/contracts.ts';
import type { Machine } from '../machine.ts';
import { type JsonObject, listAt, metadataOf, objectAt } from '../memory-kube/json.ts';
import { statusAt } from '../status-at.ts';
import { allowedBadOf, areOrphansConfirmed, isRollbackConfirmed } from './accounts.ts';
import type { ShownList } from './newest-lists.ts';
import { fitsItsLabel, isLate, MAX_WINDOW_MS, type Purchase } from './purchase.ts';
import type { Scene } from './scene.ts';

/** Start dates are rounded. */
const ROUNDING_MS = 1_000;
/** Number of lists in which a machine must be orphaned before a sweep. */
const MIN_LISTS = 2;
/** In how many lists a late machine stood for sure that a purchase has to know of. */
const LISTS_TO_KNOW = 2;
/** Time for which a process that destroys the machines of an object may not know that the object is deleted. */
const TEARDOWN_MS = 300_000;

/**
 * Number of machines of a login that may lose their objects at once, whatever `maxUnhealthy` is, before a person must
 * check.
 */
const MIN_MASS = 3;
/** Time after which an orphaned machine is an orphan to a process with lagging watches. */
const KNOWN_MS = 30_000;
/** Window for confirmed machines: a tenth, and at least one, is destroyed within it. */
const WINDOW_MS = 600_000;
const SLOW_SHARE = 0.1;

/** Facts before a process sends a destroy. */
interface DestroyContext {
  readonly machine: Machine;
  readonly isBreakerOpen: boolean;
}

/** Number of machines in a list, and of those that might be orphans then. */
interface Mass {
  readonly machines: number;
  readonly allowed: number;
}

/** A contract without an owner. */
interface Unowned {
  readonly since: number;
  /** Number of lists since then that show it. */
  readonly lists: number;
}

/**
 * The other side of I1: a machine that no object claims is swept only where the policy says so, once it is old enough,
 * after two lists, and not while the breaker has to be open: what the service says then is not to be believed. A person may
 * have made a mistake that the next minute puts right. I4: a machine whose object a restored cluster has forgotten may be at
 * work, and is left alone until a person has looked; and so are machines that lost their objects in mass, which are
 * destroyed slowly then.
 */
export class SweepWatch {
  readonly #scene: Scene;
  readonly #lists = new Map<number, Unowned>();
  /** Contracts that a list showed to a process as a mass of orphans. */
  readonly #mass = new Map<number, Mass>();
  /** When each process destroyed machines of a mass. */
  readonly #massEnds = new WeakMap<Machine, readonly number[]>();
  /** Uids of objects that went while their machines were being destroyed. */
  readonly #tornDown = new Map<string, number>();
  readonly #forgotten = new Set<string>();
  /** Contracts whose destroy was sent while they had an owner: their end is decided. */
  readonly #decided = new Set<number>();

  constructor(scene: Scene) {
    this.#scene = scene;
  }

  /** Records a deleted object. */
  released(uid: string, object: JsonObject): void {
    if (metadataOf(object)['deletionTimestamp'] !== undefined)
      this.#tornDown.set(tornKey(uid), this.#scene.now);
  }

  /** Records a restore of the cluster to a time before that object was created. */
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
    for (const id of unowned)
      if (!this.#lists.has(id)) this.#lists.set(id, { since: this.#scene.now, lists: 0 });
  }

  /**
   * Records a read list of that login. One with a wrong label proves nothing about an owner. A mass that no status
   * names, because its process died before, is none any more if a person allows as many meanwhile.
   */
  listRead(userId: number | undefined, shown: ShownList | undefined): void {
    if (!shown) return;
    const isLabelled = (id: number) => shown.get(id)?.label === this.#scene.contracts()[id]?.label;
    for (const [id, unowned] of this.#lists)
      if (shown.has(id) && isLabelled(id)) this.#lists.set(id, { ...unowned, lists: unowned.lists + 1 });
    if (this.#lists.size > MIN_MASS) this.#noteMass(userId, shown);
  }

  #noteMass(userId: number | undefined, shown: ShownList): void {
    const orphans = [...shown.keys()].filter((id) => this.#isKnownOrphan(id));
    const accounts = this.#scene.accounts.ofLogin(userId);
    const allowed = accounts.map((account) => {
      const { maxUnhealthy = '20%' } = objectAt(account, 'spec');
      return allowedBadOf(maxUnhealthy, shown.size) ?? shown.size;
    });
    const most = Math.max(MIN_MASS, ...allowed);
    const isMass = orphans.length > most;
    for (const id of orphans) {
      const isSettled = (this.#mass.get(id)?.allowed ?? most) < most && !accounts.some(isLatchedBy(id));
      if (isMass) this.#mass.set(id, { machines: shown.size, allowed: most });
      else if (isSettled) this.#mass.delete(id);
    }
  }

  /** Returns true for a known orphan: its label matches, for long enough, and orphans are destroyed. */
  #isKnownOrphan(id: number): boolean {
    const unowned = this.#lists.get(id);
    const contract = this.#scene.contracts()[id];
    return (
      contract !== undefined &&
      unowned !== undefined &&
      this.#scene.now - unowned.since >= KNOWN_MS &&
      fitsItsLabel(contract) &&
      !this.#scene.isKept(contract) &&
      !this.#isTornDown(this.#scene.purchaseOf(contract)?.uid) &&
      this.#scene.orphanPolicy(contract) === 'Destroy'
    );
  }

  /** Machines rented by this operator that no object claims. */
  orphans(): readonly number[] {
    return [...this.#lists.keys()];
  }

  /** I2: nothing is bought while lists show a machine of an earlier purchase, which was carried out late (H6). */
  rentSent({ uid, attempt }: Purchase): void {
    for (const [id, { lists }] of this.#lists) {
      const contract = this.#scene.contracts()[id];
      const purchase = contract && this.#scene.isLateRental(contract) && this.#scene.purchaseOf(contract);
      if (!purchase || purchase.uid !== uid || purchase.attempt >= attempt || lists < LISTS_TO_KNOW) continue;
      this.#scene.broken(
        'I2',
        `purchase ${attempt} was sent while contract ${id} of purchase ${purchase.attempt} was listed`,
      );
    }
  }

  destroySent(id: number, context: DestroyContext): void {
    const unowned = this.#lists.get(id);
    if (!unowned) this.#decided.add(id);
    const why = unowned && this.#whyNot(id, unowned, context);
    if (why !== undefined) this.#scene.broken('I1', `contract ${id}, which nobody claims, was swept ${why}`);
    if (unowned && this.#mass.has(id)) this.#checkMass(id, context.machine);
    if (this.#isForgotten(id) && !this.#scene.accounts.all().some(isRollbackConfirmed))
      this.#scene.broken('I4', `contract ${id} was swept, which a restored cluster had forgotten`);
  }

  #checkMass(id: number, machine: Machine): void {
    const accounts = this.#scene.accounts.ofLogin(this.#scene.contracts()[id]?.userId);
    if (!accounts.some(areOrphansConfirmed)) {
      this.#scene.broken(
        'I4',
        `contract ${id} was swept with a mass of orphans that no person has confirmed`,
      );
      return;
    }
    const { now } = this.#scene;
    const recent = (this.#massEnds.get(machine) ?? []).filter((at) => now - at < WINDOW_MS);
    this.#massEnds.set(machine, [...recent, now]);
    const most = Math.max(1, Math.floor((this.#mass.get(id)?.machines ?? 0) * SLOW_SHARE));
    this.#mass.delete(id);
    if (recent.length >= most)
      this.#scene.broken('I4', `contract ${id} was swept as orphan ${recent.length + 1} in ten minutes`);
  }

  #isForgotten(id: number): boolean {
    const contract = this.#scene.contracts()[id];
    const uid = contract && this.#scene.purchaseOf(contract)?.uid;
    return uid !== undefined && this.#forgotten.has(forgottenKey(uid));
  }

  /** Returns true if a process that was destroying the machines of that object may still do so. */
  #isTornDown(uid: string | undefined): boolean {
    const at = uid === undefined ? undefined : this.#tornDown.get(tornKey(uid));
    return this.#scene.now - (at ?? Number.NEGATIVE_INFINITY) < TEARDOWN_MS;
  }

  /**
   * Returns true if its object ends a machine: the object has recorded it, which a process does that lists showed no
   * start of it; or it is no late rental by the longest duration that an operator is installed with, and its object is
   * being deleted, has another machine, or has settled a newer purchase.
   */
  #isEndedByObject(contract: Contract): boolean {
    const owner = this.#scene.ownerOf(contract);
    if (owner === undefined) return false;
    const { instanceId, attempt } = statusAt(owner);
    if (Number(instanceId) === contract.id) return true;
    if (isLate(contract, MAX_WINDOW_MS + ROUNDING_MS)) return false;
    const isOlder = Number(attempt) > (this.#scene.purchaseOf(contract)?.attempt ?? 0);
    const isReplaced = isOlder || instanceId !== undefined;
    return isReplaced || metadataOf(owner)['deletionTimestamp'] !== undefined;
  }

  #whyNot(id: number, { lists }: Unowned, { isBreakerOpen }: DestroyContext): string | undefined {
    const contract = this.#scene.contracts()[id];
    const uid = contract && this.#scene.purchaseOf(contract)?.uid;
    if (!contract || uid === undefined) return undefined;
    if (this.#isTornDown(uid) || this.#isEndedByObject(contract)) return undefined;
    const isDecided = this.#decided.has(id);
    if (this.#scene.orphanPolicy(contract) === 'Report' && !isDecided)
      return 'although the policy is to report it';
    if (this.#scene.isNamespaced()) return 'while fewer namespaces are watched than before';
    if (isBreakerOpen) return 'while the breaker had to be open';
    const age = this.#scene.now - contract.createdAt;
    const least = isLate(contract) ? this.#scene.lateOrphanAgeMs : this.#scene.orphanAgeMs;
    if (age < least - ROUNDING_MS && !isDecided) return `${age / 1000} s after it began`;
    return lists < MIN_LISTS ? `after ${lists} lists` : undefined;
  }
}

const isLatchedBy =
  (id: number) =>
  (account: JsonObject): boolean =>
    listAt(statusAt(account), 'massOrphaned').includes(String(id));

/** Returns a key other than the uid, which the test searches in the memory of processes. */
const forgottenKey = (uid: string): string => `forgotten ${uid}`;
const tornKey = (uid: string): string => `torn down ${uid}`;
