import { parseDollars } from '../../../src/lib/money.ts';
import type { TransportRequest } from '../../../src/lib/transport.ts';
import type { Contract } from '../../../src/simulator/tables/contracts.ts';
import type { Machine } from '../machine.ts';
import type { JsonObject } from '../memory-kube/json.ts';
import { AccountLimits } from './account-limits.ts';
import { accountKeyOf } from './accounts.ts';
import { billedThisMonth } from './money.ts';
import { currentCost, maxPriceOf, priceOf } from './price.ts';
import { isLate, type Purchase } from './purchase.ts';
import { keyOf, nameOf, type Scene } from './scene.ts';
import { startedMachine } from './sent-start.ts';

const HOUR_MS = 3_600_000;
/** A changed cost is known by then: two lists, and a read where they agree. */
const COST_IS_KNOWN_MS = 90_000;
/** Part of the bill of each machine that may not be counted yet. */
const UNKNOWN_MS = 60_000;
const RENTED = 'rented ';
/** Maximum age of the credit that a process uses. */
const CREDIT_IS_KNOWN_MS = 90_000;
/** Maximum time between a decision and its rent call. */
const TICKET_MS = 5_000;
/** Time by which a sweep has found a machine that lost its object, also after a restart. */
const SWEPT_MS = 90_000;
const FIRST_SWEEP_MS = 60_000;

/**
 * Limits in effect when a rent call was sent: it may be carried out two minutes later, and no later limit recalls it.
 */
interface Allowed {
  readonly at: number;
  /** namespace/name of the account; undefined without an object that names it. */
  readonly account: string | undefined;
  /** Maximum rentals of the account within an hour. */
  readonly mostRentals: number;
  /** Present and recent limits of the account; none for a process that cannot know them. */
  readonly limits: readonly JsonObject[];
  /** Micro-dollars per hour; undefined if any price is allowed. */
  readonly maxPrice: number | undefined;
  readonly isPoor: boolean;
  /** Micro-dollars that its account had spent at least by what it has to know. */
  readonly spentMicros: number;
  /** True if its process had not read lists for long enough to have swept. */
  readonly isFresh: boolean;
}

/** A machine, and what held when its call left. */
interface Counted {
  readonly contract: Contract;
  readonly allowed: Allowed;
}

/**
 * I9 for money: nothing is rented beyond what the `limits` of its account allow, nor at a price that its object does
 * not. What runs already may stay.
 */
export class LimitWatch {
  readonly #scene: Scene;
  readonly #seen = new Set<number>();
  /** Hourly cost of each machine, and its start. */
  readonly #costs = new Map<number, { readonly cost: number; readonly since: number }>();
  readonly #sent = new Map<string, Allowed>();
  /** The purchases that contracts came of, and when their calls left. */
  readonly #begun: {
    readonly key: string;
    readonly account: string | undefined;
    readonly at: number;
    readonly contract: Contract;
  }[] = [];
  #clockWrongAt = Number.NEGATIVE_INFINITY;
  readonly #accounts = new Map<string, AccountLimits>();
  /** Until when the copy that a process has of objects, or of accounts, may lack a change. */
  readonly #blindUntil = {
    objects: new WeakMap<Machine, number>(),
    accounts: new WeakMap<Machine, number>(),
  };
  /** Time since which no object claims a machine. */
  readonly #unownedSince = new Map<number, number>();
  /** When an object claimed a machine that no object claimed before. */
  readonly #adoptedAt = new Map<number, number>();
  /** Time since which a process reads lists. */
  readonly #listsSince = new WeakMap<Machine, number>();

  constructor(scene: Scene) {
    this.#scene = scene;
  }

  changed(): void {
    this.#noteUnowned();
    this.#noteCosts();
    const begun = this.#scene.live().filter(({ id }) => !this.#seen.has(id));
    for (const { id } of begun) this.#seen.add(id);
    const fresh = begun.filter((contract) => this.#scene.purchaseOf(contract) !== undefined);
    if (fresh.length === 0) return;
    for (const contract of fresh) {
      const allowed = this.#allowed(contract);
      this.#checkRate(contract, allowed);
      if (!isLate(contract)) this.#checkAccount(allowed);
      this.#checkPrice(contract, allowed.maxPrice);
      if (allowed.isPoor)
        this.#scene.broken('I9', 'the account rented although less credit is left than has to remain');
    }
  }

  #noteUnowned(): void {
    const unowned = this.#scene.live().filter((contract) => this.#scene.ownerOf(contract) === undefined);
    const ids = new Set(unowned.map(({ id }) => id));
    for (const id of this.#unownedSince.keys()) {
      if (ids.has(id)) continue;
      this.#unownedSince.delete(id);
      this.#adoptedAt.set(id, this.#scene.now);
    }
    for (const id of ids) if (!this.#unownedSince.has(id)) this.#unownedSince.set(id, this.#scene.now);
  }

  /** Records a sent rent call. */
  rentSent(machine: Machine, purchase: Purchase): void {
    this.#sent.set(purchaseKey(purchase), this.#allowedAt(machine, this.#scene.objects.get(purchase.uid)));
  }

  /** Returns the limits in effect when a process sends a call. */
  #allowedAt(machine: Machine, owner: JsonObject | undefined): Allowed {
    const isFresh = this.#scene.now - (this.#listsSince.get(machine) ?? this.#scene.now) < FIRST_SWEEP_MS;
    const allowed = { ...this.#allowedNow(owner), isFresh };
    const isBlindTo = (copies: WeakMap<Machine, number>) => this.#scene.now < (copies.get(machine) ?? 0);
    const { objects, accounts } = this.#blindUntil;
    const isBlind = isBlindTo(objects) || isBlindTo(accounts);
    return {
      ...allowed,
      ...(isBlind && { limits: [] }),
      // Credit is read from the service, and what has to remain of it from the account.
      ...(isBlindTo(accounts) && { isPoor: false }),
    };
  }

  /** Records a sent call: the start of a stopped machine adds its compute cost. */
  sent(machine: Machine, request: TransportRequest): void {
    const id = startedMachine(request) ?? Number.NaN;
    const contract = this.#scene.contracts()[id];
    const owner = contract && this.#scene.ownerOf(contract);
    if (!owner || currentCost(contract) === priceOf(contract)) return;
    const allowed = this.#allowedAt(machine, owner);
    const counted = this.#countedBeside(allowed).filter((other) => other.id !== id);
    if ([contract, ...counted].some((each) => this.#isCostNew(each))) return;
    const hourly = (limits: JsonObject) => ({ ...limits, maxInstances: null });
    const spent = counted.reduce((sum, each) => sum + currentCost(each), priceOf(contract));
    const problems = allowed.limits.map(
      (limits) => tooMuch(spent, hourly(limits)) ?? overMonth(allowed.spentMicros, limits),
    );
    this.#report(problems, `${nameOf(owner)} starts its machine: `);
  }

  /** Returns true if a machine may cost more by itself, before a process has seen it in lists. */
  #isCostNew({ id }: Contract): boolean {
    return this.#scene.now - (this.#costs.get(id)?.since ?? this.#scene.now) < COST_IS_KNOWN_MS;
  }

  #noteCosts(): void {
    for (const contract of this.#scene.live()) {
      const cost = currentCost(contract);
      if (this.#costs.get(contract.id)?.cost !== cost)
        this.#costs.set(contract.id, { cost, since: this.#scene.now });
    }
  }

  /** Reports a problem if all possible counts break all limits that a process may use. */
  #report(problems: readonly (string | undefined)[], what: string): void {
    const [first] = problems;
    if (first === undefined || problems.includes(undefined)) return;
    this.#scene.broken('I9', `${what}${first}`);
  }

  /** Records a request for a list. */
  listed(machine: Machine): void {
    if (!this.#listsSince.has(machine)) this.#listsSince.set(machine, this.#scene.now);
  }

  /** Records a change of a process's wall clock: by it a recent rental may look an hour old. */
  clockJumped(): void {
    this.#clockWrongAt = this.#scene.now;
  }

  /**
   * Records that a process may not know the limits of accounts until then or, if it knows accounts, the rentals of
   * objects.
   */
  blind(
    machine: Machine,
    { until, knowsAccounts }: { readonly until: number; readonly knowsAccounts: boolean },
  ): void {
    this.#blindUntil[knowsAccounts ? 'objects' : 'accounts'].set(machine, until);
  }

  /** Returns the limits of a machine's call; without a seen call those when it was first seen. */
  #allowed(contract: Contract): Allowed {
    const purchase = this.#scene.purchaseOf(contract);
    const key = purchase ? purchaseKey(purchase) : `contract ${contract.id}`;
    const known = this.#sent.get(key) ?? this.#allowedNow(this.#scene.ownerOf(contract));
    this.#sent.set(key, known);
    // No limit keeps a person from an adoption.
    return this.#adoptedAt.has(contract.id) ? { ...known, limits: [] } : known;
  }

  #allowedNow(owner: JsonObject | undefined): Allowed {
    const account = owner && accountKeyOf(owner);
    const limits = account === undefined ? undefined : this.#accounts.get(account);
    return {
      at: this.#scene.now,
      account,
      mostRentals: this.#scene.maxRentalsPerHour,
      limits: (limits?.known() ?? []).map(withBrake),
      maxPrice: owner && maxPriceOf(owner),
      isPoor: (limits?.poorForMs() ?? 0) >= CREDIT_IS_KNOWN_MS,
      isFresh: true,
      spentMicros: account === undefined ? 0 : this.#spentBy(account),
    };
  }

  /**
   * Returns the machines' bill of this month that the account's objects must count, less the part that they may not
   * know yet.
   */
  #spentBy(account: string): number {
    const own = this.#begun.filter(
      ({ account: of, key, contract }) =>
        of === account &&
        this.#isRemembered(uidIn(key)) &&
        !isLate(contract) &&
        !this.#scene.isRepeated(contract) &&
        this.#scene.purchaseOf(contract)?.uid === uidIn(key),
    );
    const unknown = own.reduce((sum, { contract }) => sum + priceOf(contract) * (UNKNOWN_MS / HOUR_MS), 0);
    return own.reduce((sum, { contract }) => sum + billedThisMonth(this.#scene, contract.id), 0) - unknown;
  }

  /** Follows what accounts allow. */
  elapsed(): void {
    for (const account of this.#scene.accounts.all()) {
      const limits = this.#accounts.get(keyOf(account)) ?? new AccountLimits(this.#scene);
      this.#accounts.set(keyOf(account), limits);
      limits.follow(account);
    }
  }

  /**
   * Checks an account whose machine, sent at that time, exists now. Each later call had to count it, by the limits of
   * its own time: a call after a limit was lifted does not contradict an earlier one.
   */
  #checkAccount({ at: since, account }: Allowed): void {
    const counted = this.#countedOf(account);
    const isCountedBeside = (other: Counted, allowed: Allowed) => this.#isCountedBeside(other, allowed);
    for (const { allowed } of counted.filter(({ allowed: { at } }) => at >= since)) {
      const before = counted.filter((other) => isCountedBeside(other, allowed));
      const machines = before.map(({ contract }) => contract);
      const problems = allowed.limits.map(
        (limits) => whyNot(machines, limits) ?? overMonth(allowed.spentMicros, limits),
      );
      this.#report(problems, '');
      if (problems.length > 0 && !problems.includes(undefined)) return;
    }
  }

  #countedOf(account: string | undefined): readonly Counted[] {
    return this.#counted()
      .map((contract) => ({ contract, allowed: this.#allowed(contract) }))
      .filter(({ allowed }) => allowed.account === account);
  }

  #countedBeside(allowed: Allowed): readonly Contract[] {
    return this.#countedOf(allowed.account)
      .filter((other) => this.#isCountedBeside(other, allowed))
      .map(({ contract }) => contract);
  }

  /** Returns true if a machine counts for that call. */
  #isCountedBeside(other: Counted, allowed: Allowed): boolean {
    return (
      other.allowed.at <= allowed.at &&
      !(allowed.isFresh && this.#unownedSince.has(other.contract.id)) &&
      (this.#adoptedAt.get(other.contract.id) ?? Number.NEGATIVE_INFINITY) + TICKET_MS <= allowed.at
    );
  }

  /**
   * Returns the machines that count. One that was kept at its object's deletion does not, nor does one that no object
   * has adopted yet. A machine that lost its object, or a late rental, counts from the sweep that finds it.
   */
  #counted(): readonly Contract[] {
    return this.#scene
      .live()
      .filter((contract) => !this.#scene.isKept(contract) && this.#scene.purchaseOf(contract) !== undefined)
      .filter((contract) => this.#isKnown(contract));
  }

  #isKnown(contract: Contract): boolean {
    const unownedSince = this.#unownedSince.get(contract.id) ?? 0;
    const since = isLate(contract) ? Math.max(unownedSince, contract.createdAt) : unownedSince;
    return this.#scene.now - since >= SWEPT_MS;
  }

  /**
   * Checks the rate of rentals by the calls that were sent before. An object that a person edited may be forgotten, and
   * a namespace that is no longer watched is unknown. A late or repeated rental is on no record: it counts while it
   * exists.
   */
  #checkRate(contract: Contract, { at, account, mostRentals, isFresh }: Allowed): void {
    const uid = this.#scene.purchaseOf(contract)?.uid ?? '';
    this.#begun.push({ key: rentedKey(uid), account, at, contract });
    const isUnrecorded = (other: Contract) => isLate(other) || this.#scene.isRepeated(other);
    if (at - this.#clockWrongAt < HOUR_MS || this.#scene.isHandled(uid)) return;
    const before = this.#begun.filter(
      (other) => other.account === account && other.at <= at && other.at > at - HOUR_MS,
    );
    const live = new Set(isFresh ? [] : this.#counted().map(({ id }) => id));
    const count = before.filter(
      (other) =>
        this.#isRemembered(uidIn(other.key)) &&
        (other.contract === contract || !isUnrecorded(other.contract) || live.has(other.contract.id)),
    ).length;
    if (count <= mostRentals) return;
    this.#scene.broken(
      'I9',
      `the account rented ${count} times within an hour, and may ${mostRentals} times`,
    );
  }

  #isRemembered(uid: string): boolean {
    const object = this.#scene.objects.get(uid);
    return !this.#scene.isHandled(uid) && (object === undefined || this.#scene.isWatched(object));
  }

  #checkPrice(contract: Contract, most: number | undefined): void {
    if (most === undefined || priceOf(contract) <= most) return;
    const name = nameOf(this.#scene.ownerOf(contract) ?? {});
    const text = `contract ${contract.id} costs $${priceOf(contract) / 1e6}/h`;
    this.#scene.broken('I9', `${text}, and ${name} may pay $${most / 1e6}/h`);
  }
}

/** The operator's own brake (`--max-dollars-per-hour`, `--max-live-machines`), below what an account allows. */
const BRAKE = { dollars: 250, machines: 250 };

function withBrake(limits: JsonObject): JsonObject {
  const { maxInstances, maxSpendPerHour } = limits;
  const dollars = (dollarsOf(maxSpendPerHour) ?? Number.POSITIVE_INFINITY) / 1e6;
  return {
    ...limits,
    maxInstances: Math.min(Number(maxInstances ?? BRAKE.machines), BRAKE.machines),
    maxSpendPerHour: dollars < BRAKE.dollars ? (maxSpendPerHour ?? null) : String(BRAKE.dollars),
  };
}

function whyNot(
  live: readonly Contract[],
  { maxInstances, maxSpendPerHour }: JsonObject,
): string | undefined {
  if (typeof maxInstances === 'number' && live.length > maxInstances)
    return `the account has ${live.length} machines, and may have ${maxInstances}`;
  const spent = live.reduce((sum, contract) => sum + currentCost(contract), 0);
  return tooMuch(spent, { maxSpendPerHour: maxSpendPerHour ?? null });
}

function tooMuch(spent: number, { maxSpendPerHour }: JsonObject): string | undefined {
  const most = dollarsOf(maxSpendPerHour) ?? Number.POSITIVE_INFINITY;
  return spent > most ? `the account rents for $${spent / 1e6}/h, and may for $${most / 1e6}/h` : undefined;
}

function overMonth(spent: number, { maxSpendPerMonth }: JsonObject): string | undefined {
  const most = dollarsOf(maxSpendPerMonth) ?? Number.POSITIVE_INFINITY;
  return spent >= most
    ? `$${spent / 1e6} are spent this month, deleted objects included, and may be $${most / 1e6}`
    : undefined;
}

/** Returns a key other than the uid, which the test searches in the memory of processes. */
const rentedKey = (uid: string): string => `${RENTED}${uid}`;
const uidIn = (key: string): string => key.slice(RENTED.length);
const purchaseKey = ({ uid, attempt }: Purchase): string => `${uid} ${attempt}`;

const dollarsOf = (value: unknown): number | undefined => parseDollars(String(value));
