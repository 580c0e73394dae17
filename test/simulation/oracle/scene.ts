import { parseDuration } from '../../../src/lib/time.ts';
import type { TransportRequest } from '../../../src/lib/transport.ts';
import type { Contract } from '../../../src/simulator/tables/contracts.ts';
import { rowsOf } from '../../../src/simulator/world/world-store.ts';
import { BY_HAND } from '../console.ts';
import { idAt, type JsonObject, metadataOf, objectAt, objectsAt } from '../memory-kube/json.ts';
import type { Commit } from '../memory-kube/store.ts';
import { statusAt } from '../status-at.ts';
import type { SimulatedWorld } from '../world.ts';
import { Accounts, accountKeyOf, holdsSweep, isSweptSlowly } from './accounts.ts';
import { hasKeptLabel, isLate, type Purchase, readPurchase } from './purchase.ts';

/** A promise that was broken, with the moment. */
export interface Violation {
  readonly invariant: string;
  readonly second: number;
  readonly text: string;
}

export interface SceneOptions {
  /** With pauses and a sweeper two machines may overlap for a while; without both, never. */
  readonly strict: boolean;
}

/** Time that calls and watches may take between a renewal and the clock of a waiting candidate. */
const LEASE_MARGIN_MS = 100;
const MAX_RENTALS_PER_HOUR = 600;
const ORPHAN_AGE = '60s';
const LATE_ORPHAN_AGE = '1h';
const INSTANCES = 'gpuinstances';
const GROUPS = 'endpointgroups';
const BUDGETS = 'spendbudgets';

/** Facts against which all promises are checked: the marketplace's own ledger, and the objects in etcd. */
export class Scene {
  readonly world: SimulatedWorld;
  readonly strict: boolean;
  readonly violations: Violation[] = [];
  /** GpuInstances that stand, by uid. */
  readonly objects = new Map<string, JsonObject>();
  /** EndpointGroups that stand, by uid. */
  readonly groups = new Map<string, JsonObject>();
  /** SpendBudgets that stand, by uid. */
  readonly budgets = new Map<string, JsonObject>();
  readonly accounts = new Accounts();
  #leaseEndsAt = Number.POSITIVE_INFINITY;
  #leaseHolder: string | undefined;
  /** GpuInstances that are gone, with the time of their end. */
  readonly gone: { readonly uid: string; readonly key: string; readonly at: number }[] = [];
  readonly #copies = new Set<number>();
  readonly #handled = new Set<string>();
  readonly #sent = new Map<number, Purchase>();
  /** Purchases by the contract of their call: another may request the same offer later, and be refused. */
  readonly #made = new Map<number, Purchase | undefined>();
  readonly #purchases = new Map<string, Purchase | undefined>();
  #commits = 0;
  #seenCommits = -1;
  #rows: readonly Contract[] | undefined;
  #machines: unknown;
  #live: readonly Contract[] = [];

  constructor(world: SimulatedWorld, options: SceneOptions) {
    this.world = world;
    this.strict = options.strict;
  }

  /** The operator's `--max-rentals-per-hour`. */
  get maxRentalsPerHour(): number {
    return Number(this.world.flags.maxRentalsPerHour ?? MAX_RENTALS_PER_HOUR);
  }

  /** False if the operator runs with `--pacing off`. */
  get paced(): boolean {
    return this.world.flags.pacing !== 'off';
  }

  /** The operator's `--orphan-age`, in milliseconds. */
  /** The age from which a machine is an orphan that was rented late. */
  get lateOrphanAgeMs(): number {
    return parseDuration(String(this.world.flags.lateOrphanAge ?? LATE_ORPHAN_AGE)) ?? 0;
  }

  get orphanAgeMs(): number {
    return parseDuration(String(this.world.flags.orphanAge ?? ORPHAN_AGE)) ?? 0;
  }

  /** Returns true if the operator watches the namespace of that object. */
  isWatched(object: JsonObject): boolean {
    const scope = this.world.flags.watchNamespace;
    return !Array.isArray(scope) || scope.length === 0 || scope.includes(metadataOf(object)['namespace']);
  }

  /** Returns true if it watches some namespaces only, fewer than before: machines may work for objects of others. */
  isNamespaced(): boolean {
    const scope = this.world.flags.watchNamespace;
    return Array.isArray(scope) && scope.length > 0;
  }

  get now(): number {
    return this.world.now;
  }

  /** Returns the login of a request's key; undefined without one. */
  loginOf({ headers }: TransportRequest): number | undefined {
    const [, key = ''] = (headers?.['authorization'] ?? '').split(' ');
    return this.world.market.store.keyBySecret(key)?.userId;
  }

  /** Returns true if the list of a login shows that contract. */
  isListedFor(id: number, userId: number | undefined): boolean {
    return userId === undefined || this.contracts()[id]?.userId === userId;
  }

  /** Contracts that bill now, by id. */
  contracts(): Readonly<Record<number, Contract>> {
    return this.world.market.store.current().tables.contracts;
  }

  /** Contracts that bill now, those of people left out. */
  live(): readonly Contract[] {
    return this.#live;
  }

  /** Updates the facts; returns true if contracts, machines or objects have changed. */
  refresh(): boolean {
    const { contracts, machines } = this.world.market.store.current().tables;
    const rows = rowsOf(contracts);
    const machineRows = rowsOf(machines);
    if (rows === this.#rows && machineRows === this.#machines && this.#commits === this.#seenCommits)
      return false;
    if (rows !== this.#rows) this.#readContracts(rows);
    this.#machines = machineRows;
    this.#seenCommits = this.#commits;
    return true;
  }

  #readContracts(rows: readonly Contract[]): void {
    this.#rows = rows;
    this.#live = rows.filter(({ image }) => image !== BY_HAND);
    for (const { id, offerId } of this.#live)
      if (!this.#made.has(id)) this.#made.set(id, this.#sent.get(offerId));
  }

  /** Records a sent rent call: its machine belongs to that purchase, even if the service loses the label. */
  rentSent(offerId: number, purchase: Purchase): void {
    this.#sent.set(offerId, purchase);
  }

  /**
   * Returns the purchase of a contract: by the object for which a call rented it while that records it, else by its
   * label, or without one by that call.
   */
  purchaseOf({ id, label, image }: Contract): Purchase | undefined {
    const made = image === BY_HAND ? undefined : this.madeBy({ id });
    if (label === null || (made && this.#records(made, id))) return made;
    if (!this.#purchases.has(label)) this.#purchases.set(label, readPurchase(label));
    return this.#purchases.get(label);
  }

  /** Returns true if the object of a purchase has recorded and claimed that machine, whatever its label is now (A3). */
  #records({ uid }: Purchase, id: number): boolean {
    const { instanceId, claim } = statusAt(this.objects.get(uid) ?? {});
    return claim !== undefined && Number(instanceId) === id;
  }

  /** Returns the purchase of the call that rented a contract, whatever its label is now. */
  madeBy({ id }: Pick<Contract, 'id'>): Purchase | undefined {
    return this.#made.get(id);
  }

  /** Returns the object for which a contract was rented if it exists, or the one that has adopted it since. */
  ownerOf(contract: Contract): JsonObject | undefined {
    const uid = this.purchaseOf(contract)?.uid;
    return uid === undefined ? undefined : (this.objects.get(uid) ?? this.takerOf(contract.id));
  }

  /**
   * Returns true if a contract is a late rental without another listed or recorded machine. One that was seen beside
   * such a machine counts as a copy permanently.
   */
  isLateRental(contract: Contract): boolean {
    const purchase = this.purchaseOf(contract);
    if (!purchase || contract.image === BY_HAND || !isLate(contract)) return false;
    const { instanceId, attempt } = statusAt(this.ownerOf(contract) ?? {});
    const isSame = (other: Purchase | undefined) =>
      other?.uid === purchase.uid && other.attempt === purchase.attempt;
    const hasOriginal =
      (instanceId !== undefined && attempt === purchase.attempt) ||
      this.live().some((other) => other.id !== contract.id && isSame(this.purchaseOf(other)));
    if (hasOriginal) this.#copies.add(contract.id);
    return !this.#copies.has(contract.id);
  }

  /**
   * Returns true if a contract outlives its object on purpose: by its label, or by the account if nothing could be
   * labelled.
   */
  isKept(contract: Contract): boolean {
    const isMarked = hasKeptLabel(contract) || this.accounts.keeps(contract.id);
    return isMarked && this.takerOf(contract.id) === undefined;
  }

  /**
   * Returns the object that has adopted a contract which existed before it; the label of the former one may still come.
   * If a person wrote its record, this is unknown.
   */
  takerOf(id: number): JsonObject | undefined {
    return [...this.objects.values()].find((object) => {
      const adopt = objectAt(objectAt(object, 'spec'), 'adopt');
      const isTaken =
        idAt(statusAt(object), 'instanceId') === id || this.isHandled(String(metadataOf(object)['uid']));
      return idAt(adopt, 'instanceId') === id && adopt['policy'] === 'Manage' && isTaken;
    });
  }

  /**
   * Returns true if a contract is another one of a purchase whose machine had ended before: a proxy has repeated a rent
   * call that was answered. What comes of that when the object is gone, or about to go, is an orphan like a late
   * rental.
   */
  isRepeated(contract: Contract): boolean {
    const purchase = this.purchaseOf(contract);
    if (!purchase || contract.image === BY_HAND) return false;
    return [...this.#made].some(
      ([id, other]) =>
        id < contract.id &&
        other?.uid === purchase.uid &&
        other.attempt === purchase.attempt &&
        this.contracts()[id] === undefined,
    );
  }

  /** Returns true if the host of a contract answers. */
  isUp({ machineId }: Contract): boolean {
    return this.world.market.store.current().tables.machines[machineId]?.state === 'up';
  }

  /**
   * Returns true if the sweep of a contract's login waits: for a breaker to close, for a person to look at what may be
   * a restore, for its turn among many that a person has confirmed, or for the namespaces to be watched that were.
   */
  isSweepDelayed({ userId, id }: Contract): boolean {
    const holds = (account: JsonObject) => holdsSweep(account) || isSweptSlowly(account, id);
    return this.isNamespaced() || this.accounts.ofLogin(userId).some(holds);
  }

  /** End of the lease of its holder, unless it renews it; never without a holder. */
  get leaseEndsAt(): number {
    return this.#leaseEndsAt;
  }

  /** Returns the account of an object; empty if there is none. */
  accountOf(object: JsonObject): JsonObject {
    return this.accounts.get(accountKeyOf(object));
  }

  /** Returns the policy for a machine without an object: one account of its login with policy Report is enough. */
  orphanPolicy({ userId }: Contract): 'Destroy' | 'Report' {
    const policies = this.accounts
      .ofLogin(userId)
      .map((account) => objectAt(account, 'spec')['orphanPolicy']);
    return policies.length > 0 && policies.every((policy) => policy === 'Destroy') ? 'Destroy' : 'Report';
  }

  /** Records that a person edited that object, so that promises do not apply to hand-made states. */
  markHandled(uid: string): void {
    this.#handled.add(`handled ${uid}`);
  }

  isHandled(uid: string | undefined): boolean {
    return uid !== undefined && this.#handled.has(`handled ${uid}`);
  }

  /** Records a written or removed object. */
  committed({ kind, object, type }: Commit): void {
    if (kind.plural === 'marketplaceaccounts') this.accounts.committed(object, type);
    if (kind.plural === 'leases') this.#leaseWritten(objectAt(object, 'spec'));
    const standing = {
      ...{ [INSTANCES]: this.objects, [GROUPS]: this.groups },
      [BUDGETS]: this.budgets,
    }[kind.plural];
    if (!standing) return;
    this.#commits += 1;
    const uid = String(metadataOf(object)['uid']);
    if (type !== 'DELETED') {
      standing.set(uid, object);
      return;
    }
    standing.delete(uid);
    this.gone.push({ uid, key: keyOf(object), at: this.now });
  }

  #leaseWritten({ holderIdentity, leaseDurationSeconds }: JsonObject): void {
    const hasHolder = typeof holderIdentity === 'string' && holderIdentity !== '';
    if (hasHolder) this.#checkLease(holderIdentity);
    this.#leaseHolder = hasHolder ? holderIdentity : undefined;
    this.#leaseEndsAt = hasHolder ? this.now + Number(leaseDurationSeconds) * 1000 : Number.POSITIVE_INFINITY;
  }

  /**
   * Checks that the lease of another process is taken after its end, by any clock, or when that process has ended (I6).
   */
  #checkLease(holder: string): void {
    const before = this.#leaseHolder;
    const leftMs = this.#leaseEndsAt - this.now;
    if (before === undefined || before === holder || leftMs < LEASE_MARGIN_MS) return;
    const isAlive = this.world.processes.some(
      ({ pod, machine }) => `${pod}_${machine.name}` === before && machine.alive,
    );
    if (isAlive) this.broken('I6', `${holder} took the lease of ${before} ${leftMs / 1000} s before its end`);
  }

  broken(invariant: string, text: string): void {
    this.violations.push({ invariant, second: this.world.second, text });
    this.world.note(`VIOLATION ${invariant}: ${text}`);
  }
}

export const nameOf = (object: JsonObject): string => String(metadataOf(object)['name']);

/** Returns the condition of that type; undefined if the object's status has none. */
export function conditionOf(object: JsonObject, type: string): JsonObject | undefined {
  return objectsAt(statusAt(object), 'conditions').find((condition) => condition['type'] === type);
}

/** Returns namespace/name, the key of an object in caches; another object may have it later. */
export const keyOf = (object: JsonObject): string =>
  `${String(metadataOf(object)['namespace'])}/${nameOf(object)}`;
