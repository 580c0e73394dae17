import { parseDollars } from '../../../src/lib/money.ts';
import type { TransportRequest } from '../../../src/lib/transport.ts';
import type { Contract } from '../../../src/simulator/tables/contracts.ts';
import type { Machine } from '../machine.ts';
import { idAt, type JsonObject, metadataOf, objectAt } from '../memory-kube/json.ts';
import type { Commit } from '../memory-kube/store.ts';
import { statusAt } from '../status-at.ts';
import { billedThisMonth } from './money.ts';
import { currentCost, priceOf } from './price.ts';
import { isLate, type Purchase } from './purchase.ts';
import type { Scene } from './scene.ts';
import { startedMachine } from './sent-start.ts';

const HOUR_MS = 3_600_000;
/** Time for which a process may use changed budgets: watches lag, and are interrupted and restarted. */
const BUDGETS_ARE_KNOWN_MS = 30_000;
/** A price that changed by itself is known by then: two lists, and a read where they agree. */
const PRICE_IS_KNOWN_MS = 90_000;
/** Part of the bill of each machine that may not be counted yet. */
const UNKNOWN_MS = 60_000;
/** A machine that is about to end gives its room to others before; its DELETE is sent by then. */
const STILL_BILLS_MS = 120_000;

/** Budgets of a namespace that block, as one: each of them has to agree. */
interface Limits {
  /** Micro-dollars. */
  readonly perHour: number;
  readonly perMonth: number;
}

/** Budgets in effect when a rent call was sent. */
interface Asked {
  readonly at: number;
  readonly namespace: string;
  /** Present and recent ones; none for a process that cannot know them. */
  readonly limits: readonly Limits[];
}

interface Spending {
  readonly contracts: readonly Contract[];
  /** Micro-dollars per hour of all of them, once the call was carried out. */
  readonly cost: number;
  readonly what: string;
}

/** More than the budgets allow, if its machines still bill a while later. */
interface Suspicion {
  readonly at: number;
  readonly namespace: string;
  readonly ids: readonly number[];
  readonly limits: readonly Limits[];
  readonly what: string;
}

/**
 * No rental and no start takes a namespace beyond its budgets, by the prices in the ledger. A machine that ends within
 * two minutes does not count: a replacement may use its room before.
 */
export class BudgetWatch {
  readonly #scene: Scene;
  /** Former budgets by namespace, each with the time until which a process may use it. */
  readonly #former = new Map<string, { readonly limits: Limits; readonly until: number }[]>();
  readonly #limits = new Map<string, Limits>();
  readonly #asked = new Map<string, Asked>();
  readonly #seen = new Set<number>();
  readonly #costs = new Map<number, { readonly cost: number; readonly changedAt: number }>();
  readonly #blindUntil = new WeakMap<Machine, number>();
  readonly #destroys = new Map<number, number>();
  #suspicions: readonly Suspicion[] = [];

  constructor(scene: Scene) {
    this.#scene = scene;
  }

  /** Records a written or removed budget. */
  committed({ kind, object }: Commit): void {
    if (kind.plural !== 'spendbudgets') return;
    const namespace = namespaceOf(object);
    const before = this.#limitsOf(namespace);
    const own = [...this.#scene.budgets.values()].filter((budget) => namespaceOf(budget) === namespace);
    const limits = limitsOf(own);
    this.#limits.set(namespace, limits);
    if (limits.perHour === before.perHour && limits.perMonth === before.perMonth) return;
    const former = (this.#former.get(namespace) ?? []).filter(({ until }) => until > this.#scene.now);
    const until = this.#scene.now + BUDGETS_ARE_KNOWN_MS;
    this.#former.set(namespace, [...former, { limits: before, until }]);
  }

  /** Records that a process may not know budgets, objects or accounts until then. */
  blind(machine: Machine, until: number): void {
    this.#blindUntil.set(machine, until);
  }

  /** Records a sent rent call. */
  rentSent(machine: Machine, purchase: Purchase): void {
    const owner = this.#scene.objects.get(purchase.uid);
    if (owner) this.#asked.set(keyOf(purchase), this.#askedBy(machine, owner));
  }

  destroySent(id: number): void {
    this.#destroys.set(id, this.#scene.now);
  }

  /** Records a sent call: the start of a stopped machine adds the cost of its compute. */
  sent(machine: Machine, request: TransportRequest): void {
    const contract = this.#scene.contracts()[startedMachine(request) ?? Number.NaN];
    const owner = contract && this.#scene.ownerOf(contract);
    if (!owner || currentCost(contract) === priceOf(contract)) return;
    const asked = this.#askedBy(machine, owner);
    const others = this.#countedBeside(asked).filter(({ id }) => id !== contract.id);
    const cost = others.reduce((sum, each) => sum + currentCost(each), priceOf(contract));
    this.#suspect(asked, {
      contracts: [contract, ...others],
      cost,
      what: `${nameOf(owner)} starts its machine`,
    });
  }

  /** Checks the namespaces of new machines. */
  changed(): void {
    if (this.#limits.size === 0) return;
    for (const contract of this.#scene.live()) this.#noteCost(contract);
    const fresh = this.#scene.live().filter(({ id }) => !this.#seen.has(id));
    for (const contract of fresh) {
      this.#seen.add(contract.id);
      const asked = this.#askedFor(contract);
      if (asked && !isLate(contract)) this.#checkFrom(asked);
    }
  }

  /** Reports what still bills. */
  elapsed(): void {
    const isOver = ({ at }: Suspicion) => this.#scene.now - at >= STILL_BILLS_MS;
    if (!this.#suspicions.some(isOver)) return;
    const over = this.#suspicions.filter(isOver);
    this.#suspicions = this.#suspicions.filter((each) => !isOver(each));
    for (const suspicion of over) this.#judge(suspicion);
  }

  /** Checks each call since then: one of them may have been carried out before an earlier one. */
  #checkFrom({ namespace, at: since }: Asked): void {
    for (const contract of this.#scene.live()) {
      const asked = this.#askedFor(contract);
      if (!asked || asked.namespace !== namespace || asked.at < since) continue;
      const contracts = this.#countedBeside(asked);
      this.#suspect(asked, { contracts, cost: costOf(contracts), what: `machine ${contract.id} is rented` });
    }
  }

  #suspect({ namespace, limits }: Asked, { contracts, cost, what }: Spending): void {
    if (limits.length === 0 || contracts.some(({ id }) => this.#isPriceNew(id))) return;
    if (this.#fits({ namespace, limits }, cost)) return;
    const ids = contracts.map(({ id }) => id);
    this.#suspicions = [...this.#suspicions, { at: this.#scene.now, namespace, ids, limits, what }];
  }

  #judge({ namespace, ids, limits, what, at }: Suspicion): void {
    const contracts = ids.flatMap((id) => this.#scene.contracts()[id] ?? []);
    const isEnding = ids.some((id) => (this.#destroys.get(id) ?? 0) >= at);
    const cost = costOf(contracts);
    if (isEnding || contracts.length < ids.length || this.#fits({ namespace, limits }, cost)) return;
    const most = limits.map(({ perHour, perMonth }) => `$${perHour / 1e6}/h, $${perMonth / 1e6} a month`);
    const text = `the machines of ${namespace} cost $${cost / 1e6}/h beside $${this.#spentIn(namespace) / 1e6}`;
    this.#scene.broken('Budget', `${what}: ${text}; its budgets allow ${most.join(' or ')}`);
  }

  /** Returns true if some budgets that a process may use have room for that hourly cost. */
  #fits({ namespace, limits }: Pick<Asked, 'namespace' | 'limits'>, cost: number): boolean {
    const spent = this.#spentIn(namespace);
    return limits.some(({ perHour, perMonth }) => cost <= perHour && spent + cost <= perMonth);
  }

  #askedBy(machine: Machine, owner: JsonObject): Asked {
    const namespace = namespaceOf(owner);
    const isBlind = this.#scene.now < (this.#blindUntil.get(machine) ?? 0) || !this.#scene.isWatched(owner);
    const former = (this.#former.get(namespace) ?? []).filter(({ until }) => until > this.#scene.now);
    const limits = isBlind ? [] : [this.#limitsOf(namespace), ...former.map((each) => each.limits)];
    return { at: this.#scene.now, namespace, limits };
  }

  #limitsOf(namespace: string): Limits {
    return this.#limits.get(namespace) ?? NO_LIMITS;
  }

  #askedFor(contract: Contract): Asked | undefined {
    const purchase = this.#scene.purchaseOf(contract);
    return purchase && this.#asked.get(keyOf(purchase));
  }

  /** Returns the machines whose calls were sent until then: one for each object, by its record if that names one. */
  #countedBeside({ at, namespace }: Asked): readonly Contract[] {
    const byOwner = new Map<string, Contract>();
    for (const contract of this.#scene.live()) {
      const owner = this.#scene.ownerOf(contract);
      const asked = this.#askedFor(contract);
      if (!owner || !asked || asked.at > at || namespaceOf(owner) !== namespace) continue;
      const uid = String(metadataOf(owner)['uid']);
      if (this.#scene.isHandled(uid) || isLate(contract) || this.#scene.isRepeated(contract)) continue;
      const recorded = idAt(statusAt(owner), 'instanceId');
      if (recorded === undefined || recorded === contract.id) byOwner.set(uid, contract);
    }
    return [...byOwner.values()];
  }

  #noteCost(contract: Contract): void {
    const cost = priceOf(contract);
    const known = this.#costs.get(contract.id);
    if (known?.cost === cost) return;
    const changedAt = known ? this.#scene.now : Number.NEGATIVE_INFINITY;
    this.#costs.set(contract.id, { cost, changedAt });
  }

  #isPriceNew(id: number): boolean {
    return this.#scene.now - (this.#costs.get(id)?.changedAt ?? 0) < PRICE_IS_KNOWN_MS;
  }

  /** Returns the bill of this month that the objects of the namespace have to count. */
  #spentIn(namespace: string): number {
    const own = this.#scene.live().filter((contract) => {
      const owner = this.#scene.ownerOf(contract);
      return (
        owner !== undefined && namespaceOf(owner) === namespace && this.#askedFor(contract) !== undefined
      );
    });
    const billed = own.reduce((sum, { id }) => sum + billedThisMonth(this.#scene, id), 0);
    return Math.max(0, billed - own.reduce((sum, each) => sum + priceOf(each) * (UNKNOWN_MS / HOUR_MS), 0));
  }
}

const NO_LIMITS: Limits = { perHour: Number.POSITIVE_INFINITY, perMonth: Number.POSITIVE_INFINITY };

function limitsOf(budgets: readonly JsonObject[]): Limits {
  const specs = budgets.map((budget) => objectAt(budget, 'spec')).filter(({ action }) => action === 'Block');
  const least = (name: string) =>
    Math.min(...specs.map((spec) => parseDollars(String(spec[name])) ?? Number.POSITIVE_INFINITY));
  return { perHour: least('perHour'), perMonth: least('perMonth') };
}

function costOf(contracts: readonly Contract[]): number {
  return contracts.reduce((sum, contract) => sum + currentCost(contract), 0);
}

const namespaceOf = (object: JsonObject): string => String(metadataOf(object)['namespace']);
const nameOf = (object: JsonObject): string => String(metadataOf(object)['name']);
const keyOf = ({ uid, attempt }: Purchase): string => `asked for ${uid} ${attempt}`;
