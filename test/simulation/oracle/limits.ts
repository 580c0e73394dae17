import { parseDollars } from '../../../src/lib/money.ts';
import { creditMicros } from '../../../src/simulator/world/ledger.ts';
import type { Contract } from '../../../src/simulator/world/world.ts';
import type { Machine } from '../machine.ts';
import { equalJson, isObject, type JsonObject, listAt, objectAt } from '../memory-kube/json.ts';
import { priceOf } from './price.ts';
import type { Purchase } from './purchase.ts';
import { nameOf, type Scene } from './scene.ts';

const HOUR_MS = 3_600_000;
/** How long a process may go by the credit that it read last. */
const CREDIT_IS_KNOWN_MS = 90_000;
/** How long a process may go by limits that were changed: watches lag, and are cut and begun again. */
const LIMITS_ARE_KNOWN_MS = 30_000;

/** What held when a rent call left: it may be carried out two minutes later, and no limit that is set meanwhile recalls it. */
interface Allowed {
  readonly at: number;
  /** Those of the account, and those that it had until just now; none for a process that cannot know them. */
  readonly limits: readonly JsonObject[];
  /** Micro-dollars an hour; undefined where any price will do. */
  readonly dearest: number | undefined;
  readonly isPoor: boolean;
}

/**
 * I9 for money: nothing is rented beyond what the `limits` of its account allow, nor at a price that its object does
 * not. What runs already may stay.
 */
export class LimitWatch {
  readonly #scene: Scene;
  readonly #seen = new Set<number>();
  readonly #sent = new Map<string, Allowed>();
  /** When contracts began, within an hour. */
  #begun: readonly number[] = [];
  #poorSince = Number.POSITIVE_INFINITY;
  #limits: JsonObject | undefined;
  #former: { readonly limits: JsonObject; readonly until: number }[] = [];
  readonly #blindUntil = new WeakMap<Machine, number>();

  constructor(scene: Scene) {
    this.#scene = scene;
  }

  changed(): void {
    const { now } = this.#scene;
    const begun = this.#scene.live().filter(({ id }) => !this.#seen.has(id));
    for (const { id } of begun) this.#seen.add(id);
    const fresh = begun.filter((contract) => this.#scene.purchaseOf(contract) !== undefined);
    if (fresh.length === 0) return;
    this.#begun = [...this.#begun.filter((at) => at > now - HOUR_MS), ...fresh.map(() => now)];
    this.#checkRate();
    for (const contract of fresh) {
      const allowed = this.#allowed(contract);
      this.#checkAccount(allowed.at);
      this.#checkPrice(contract, allowed.dearest);
      if (allowed.isPoor)
        this.#scene.broken('I9', 'the account rented although less credit is left than has to remain');
    }
  }

  /** A rent call leaves. */
  rentSent(machine: Machine, purchase: Purchase): void {
    const allowed = this.#allowedNow(this.#scene.objects.get(purchase.uid));
    const isBlind = this.#scene.now < (this.#blindUntil.get(machine) ?? 0);
    this.#sent.set(keyOf(purchase), isBlind ? { ...allowed, limits: [], isPoor: false } : allowed);
  }

  /** A process may not know what the account allows until then. */
  blind(machine: Machine, until: number): void {
    this.#blindUntil.set(machine, until);
  }

  /** By what its call left. A machine for which no call was seen to leave goes by what held when it was first seen. */
  #allowed(contract: Contract): Allowed {
    const purchase = this.#scene.purchaseOf(contract);
    const key = purchase ? keyOf(purchase) : `contract ${contract.id}`;
    const known = this.#sent.get(key) ?? this.#allowedNow(this.#scene.ownerOf(contract));
    this.#sent.set(key, known);
    return known;
  }

  #allowedNow(owner: JsonObject | undefined): Allowed {
    return {
      at: this.#scene.now,
      limits: [this.#scene.accountLimits(), ...this.#formerLimits()],
      dearest: owner && dearestOf(owner),
      isPoor: this.#scene.now - this.#poorSince >= CREDIT_IS_KNOWN_MS,
    };
  }

  #formerLimits(): readonly JsonObject[] {
    return this.#former.filter(({ until }) => this.#scene.now < until).map(({ limits }) => limits);
  }

  /** Since when the credit has been so low that nothing may be rented. */
  elapsed(): void {
    const limits = this.#scene.accountLimits();
    if (limits !== this.#limits) this.#changed(limits);
    const { minCredit } = limits;
    if (minCredit === undefined) {
      this.#poorSince = Number.POSITIVE_INFINITY;
      return;
    }
    const world = this.#scene.world.market.store.current();
    const [user] = Object.values(world.tables.users);
    const isPoor = user && creditMicros(world, user, this.#scene.now) <= (dollarsOf(minCredit) ?? 0);
    if (!isPoor) this.#poorSince = Number.POSITIVE_INFINITY;
    else this.#poorSince = Math.min(this.#poorSince, this.#scene.now);
  }

  #changed(limits: JsonObject): void {
    const before = this.#limits;
    this.#limits = limits;
    if (before === undefined || equalJson(limits, before)) return;
    const { now } = this.#scene;
    const standing = this.#former.filter(({ until }) => until > now);
    this.#former = [...standing, { limits: before, until: now + LIMITS_ARE_KNOWN_MS }];
  }

  /**
   * A machine whose call left at that moment is there now. Each call that left since had to reckon with it, by the limits
   * that it went by itself: one that left after a limit was lifted is no reason against one that left before.
   */
  #checkAccount(since: number): void {
    const counted = this.#counted().map((contract) => ({ contract, allowed: this.#allowed(contract) }));
    for (const { allowed } of counted.filter(({ allowed: { at } }) => at >= since)) {
      const before = counted.filter((other) => other.allowed.at <= allowed.at);
      const problems = allowed.limits.map((limits) =>
        whyNot(
          before.map(({ contract }) => contract),
          limits,
        ),
      );
      const [first] = problems;
      if (first === undefined || problems.includes(undefined)) continue;
      this.#scene.broken('I9', first);
      return;
    }
  }

  /** What was kept when its object went counts no more, and what nobody has taken over yet not at all. */
  #counted(): readonly Contract[] {
    return this.#scene
      .live()
      .filter((contract) => !this.#scene.isKept(contract) && this.#scene.purchaseOf(contract) !== undefined);
  }

  #checkRate(): void {
    const most = this.#scene.maxRentalsPerHour;
    if (this.#begun.length <= most) return;
    this.#scene.broken(
      'I9',
      `the account rented ${this.#begun.length} times within an hour, and may ${most} times`,
    );
  }

  #checkPrice(contract: Contract, most: number | undefined): void {
    if (most === undefined || priceOf(contract) <= most) return;
    const name = nameOf(this.#scene.ownerOf(contract) ?? {});
    const text = `contract ${contract.id} costs $${priceOf(contract) / 1e6}/h`;
    this.#scene.broken('I9', `${text}, and ${name} may pay $${most / 1e6}/h`);
  }
}

function whyNot(
  live: readonly Contract[],
  { maxInstances, maxSpendPerHour }: JsonObject,
): string | undefined {
  if (typeof maxInstances === 'number' && live.length > maxInstances)
    return `the account has ${live.length} machines, and may have ${maxInstances}`;
  const most = dollarsOf(maxSpendPerHour) ?? Number.POSITIVE_INFINITY;
  const spent = live.reduce((sum, contract) => sum + costOf(contract), 0);
  return spent > most ? `the account rents for $${spent / 1e6}/h, and may for $${most / 1e6}/h` : undefined;
}

const keyOf = ({ uid, attempt }: Purchase): string => `${uid} ${attempt}`;

/** A machine costs its disk while it is stopped, be it by a person or by the service. */
const costOf = (contract: Contract): number =>
  contract.intendedStatus === 'stopped' || contract.heldBy !== null
    ? contract.diskPricePerHour
    : priceOf(contract);

const dollarsOf = (value: unknown): number | undefined => parseDollars(String(value));

/** What the dearest of an object's alternatives may cost; undefined where one has no limit of its own. */
function dearestOf(object: JsonObject): number | undefined {
  const offers = listAt(objectAt(object, 'spec'), 'offers').filter(isObject);
  const limits = offers.map(({ maxPricePerHour }) => dollarsOf(maxPricePerHour));
  return limits.reduce<number | undefined>(
    (most, limit) => (most === undefined || limit === undefined ? undefined : Math.max(most, limit)),
    0,
  );
}
