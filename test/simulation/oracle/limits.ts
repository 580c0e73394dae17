import { parseDollars } from '../../../src/lib/money.ts';
import { creditMicros } from '../../../src/simulator/world/ledger.ts';
import type { Contract } from '../../../src/simulator/world/world.ts';
import { isObject, type JsonObject, listAt, objectAt } from '../memory-kube/json.ts';
import { nameOf, type Scene } from './scene.ts';

const HOUR_MS = 3_600_000;
/** How long a process may go by the credit that it read last. */
const CREDIT_IS_KNOWN_MS = 90_000;

/**
 * I9 for money: nothing is rented beyond what the `limits` of its account allow, nor at a price that its object does
 * not. What runs already may stay.
 */
export class LimitWatch {
  readonly #scene: Scene;
  readonly #seen = new Set<number>();
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
    this.#checkAccount();
    this.#checkRate();
    this.#checkCredit();
    for (const contract of fresh) this.#checkPrice(contract);
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

  #checkAccount(): void {
    // What was kept when its object went counts no more.
    const live = this.#scene.live().filter((contract) => !this.#scene.isKept(contract));
    const { maxInstances, maxSpendPerHour } = this.#scene.accountLimits();
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

  #checkCredit(): void {
    if (this.#scene.now - this.#poorSince < CREDIT_IS_KNOWN_MS) return;
    this.#scene.broken('I9', 'the account rented although less credit is left than has to remain');
  }

  #checkPrice(contract: Contract): void {
    const owner = this.#scene.ownerOf(contract);
    const most = owner && dearestOf(owner);
    if (most === undefined || priceOf(contract) <= most) return;
    const text = `contract ${contract.id} costs $${priceOf(contract) / 1e6}/h`;
    this.#scene.broken('I9', `${text}, and ${nameOf(owner ?? {})} may pay $${most / 1e6}/h`);
  }
}

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
