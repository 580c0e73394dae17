import { parseDollars } from '../../../src/lib/money.ts';
import { creditMicros } from '../../../src/simulator/world/ledger.ts';
import type { Contract } from '../../../src/simulator/world/world.ts';
import { isObject, type JsonObject, listAt, objectAt } from '../memory-kube/json.ts';
import type { Purchase } from './purchase.ts';
import { nameOf, type Scene } from './scene.ts';

const HOUR_MS = 3_600_000;
/** How long a process may go by the credit that it read last. */
const CREDIT_IS_KNOWN_MS = 90_000;

/** What held when a rent call left: it may be carried out two minutes later, and no limit that is set meanwhile recalls it. */
interface Allowed {
  readonly limits: JsonObject;
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

  constructor(scene: Scene) {
    this.#scene = scene;
  }

  changed(): void {
    const { now } = this.#scene;
    const fresh = this.#scene.live().filter(({ id }) => !this.#seen.has(id));
    if (fresh.length === 0) return;
    for (const { id } of fresh) this.#seen.add(id);
    this.#begun = [...this.#begun.filter((at) => at > now - HOUR_MS), ...fresh.map(() => now)];
    this.#checkRate();
    for (const contract of fresh) {
      const allowed = this.#allowed(contract);
      this.#checkAccount(allowed.limits);
      this.#checkPrice(contract, allowed.dearest);
      if (allowed.isPoor)
        this.#scene.broken('I9', 'the account rented although less credit is left than has to remain');
    }
  }

  /** A rent call leaves. */
  rentSent(purchase: Purchase): void {
    this.#sent.set(keyOf(purchase), this.#allowedNow(this.#scene.objects.get(purchase.uid)));
  }

  #allowed(contract: Contract): Allowed {
    const purchase = this.#scene.purchaseOf(contract);
    const sent = purchase && this.#sent.get(keyOf(purchase));
    return sent ?? this.#allowedNow(this.#scene.ownerOf(contract));
  }

  #allowedNow(owner: JsonObject | undefined): Allowed {
    return {
      limits: this.#scene.accountLimits(),
      dearest: owner && dearestOf(owner),
      isPoor: this.#scene.now - this.#poorSince >= CREDIT_IS_KNOWN_MS,
    };
  }

  /** Since when the credit has been so low that nothing may be rented. */
  elapsed(): void {
    const { minCredit } = this.#scene.accountLimits();
    if (minCredit === undefined) return;
    const world = this.#scene.world.market.store.current();
    const [user] = Object.values(world.tables.users);
    const isPoor = user && creditMicros(world, user, this.#scene.now) <= (dollarsOf(minCredit) ?? 0);
    if (!isPoor) this.#poorSince = Number.POSITIVE_INFINITY;
    else this.#poorSince = Math.min(this.#poorSince, this.#scene.now);
  }

  #checkAccount({ maxInstances, maxSpendPerHour }: JsonObject): void {
    // What was kept when its object went counts no more.
    const live = this.#scene.live().filter((contract) => !this.#scene.isKept(contract));
    if (typeof maxInstances === 'number' && live.length > maxInstances)
      this.#scene.broken('I9', `the account has ${live.length} machines, and may have ${maxInstances}`);
    const most = dollarsOf(maxSpendPerHour) ?? Number.POSITIVE_INFINITY;
    const spent = live.reduce((sum, contract) => sum + priceOf(contract), 0);
    if (spent > most)
      this.#scene.broken('I9', `the account rents for $${spent / 1e6}/h, and may for $${most / 1e6}/h`);
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

const keyOf = ({ uid, attempt }: Purchase): string => `${uid} ${attempt}`;

const priceOf = ({ gpuPricePerHour, diskPricePerHour }: Contract): number =>
  gpuPricePerHour + diskPricePerHour;

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
