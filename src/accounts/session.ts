import type { MarketplaceAccount } from '../api/v1alpha1/marketplace-account.ts';
import type { AccountRef } from '../instance/account-ref.ts';
import { monthName } from '../instance/cost.ts';
import type { InstanceSummary } from '../instance/summary.ts';
import type { Clock } from '../lib/clock.ts';
import type { MicroDollars } from '../lib/money.ts';
import type { Feed } from '../market/feed.ts';
import type { CompleteList, FeedEvent } from '../market/feed-state.ts';
import type { Market } from '../market/market.ts';
import type { Pacer } from '../market/pacing.ts';
import type { PurchaseConstants } from '../ownership/constants.ts';
import type { Identity } from '../ownership/identity.ts';
import type { Login } from '../ownership/login.ts';
import { compareResourceVersions, uidOf } from '../runtime/kube/kube-object.ts';
import type { AccountObjects } from './account-objects.ts';
import { type AccountRefusal, Admission, type AdmissionOptions } from './admission.ts';
import { AvoidList, avoidOf } from './avoid-list.ts';
import type { LoginConnection } from './connection.ts';
import { FeedObserver } from './feed-observer.ts';
import { type InventoryEntry, MachineInventory, PendingOrphans, provenGone } from './inventory.ts';
import type { AdmissionQueue } from './queue/admission-queue.ts';
import type { ServiceClock } from './service-clock.ts';
import {
  type AccountLimits,
  type BrakeSettings,
  deletedSumsOf,
  limitsOf,
  maxRentalPrice,
  type OrphanBill,
  sumAccount,
} from './spend-limits.ts';

/** The queue of a login, as the objects that wait in it use it. */
export type RentalQueue = Pick<
  AdmissionQueue,
  'offers' | 'explain' | 'place' | 'leave' | 'waiting' | 'slotEnded'
>;

/** Facts of the user in the latest proof of the key. */
export interface UserFacts {
  /** Undefined if the key may not read it. */
  readonly credit: MicroDollars | undefined;
  /** Undefined if the key may not read SSH keys. */
  readonly sshKeyRegistered: boolean | undefined;
  /** False if the account's key may not list or not destroy; then nothing is rented. */
  readonly mayDestroy: boolean;
}

/** Findings of a sweep of the login's machines. */
export interface SweepFindings {
  /** Ids of orphans that are old enough to be destroyed. */
  readonly orphans: readonly string[];
  /**
   * Ids of machines without an object that are too new to count as orphans; their age or a second check decides.
   */
  readonly unsettled: readonly string[];
  /** Ids of orphans younger than every rental that was on record when they were first seen: memory was rolled back. */
  readonly rolledBack: readonly string[];
  /**
   * Epoch milliseconds of the last time that a person confirmed a rollback, as known to the sweep; 0 for never.
   */
  readonly confirmedAt: number;
  /**
   * Ids of machines without an object if so many lost their objects that a person has to decide; otherwise absent.
   */
  readonly massOrphaned?: readonly string[];
  /** Ids of machines that carry a copied or edited label of this operator. */
  readonly copied: readonly string[];
  /** Ids of machines without an object that began after the window of their label: rentals that were carried out late. */
  readonly late?: readonly string[];
  /** Other installations that labels of the login name. */
  readonly others?: readonly string[];
}

const NOTHING_FOUND: SweepFindings = {
  orphans: [],
  unsettled: [],
  rolledBack: [],
  confirmedAt: 0,
  copied: [],
};

/** Dependencies of a session. */
export interface AccountSessionOptions {
  readonly account: MarketplaceAccount;
  readonly connection: LoginConnection;
  /** Undefined until the installation's identity is known; no session is returned before. */
  readonly identity: () => Identity | undefined;
  readonly clock: Clock;
  /** Returns the time until which machines of the account have cost something, which names the month. */
  readonly spendingTime: () => number;
  readonly brake: BrakeSettings;
  readonly constants: PurchaseConstants;
  /** GpuInstances that count for this account, as the cache has them. */
  readonly objects: (account: MarketplaceAccount) => AccountObjects;
  /** All GpuInstances, whatever account they name, as the cache has them. */
  readonly allObjects: () => readonly InstanceSummary[];
  /** Accounts that have proved the same login, without this one. */
  readonly ofSameLogin: () => readonly AccountSession[];
  /** True if an account of the login that has not proved it in this process may still get a machine. */
  readonly isRentingUnproven: () => boolean;
  /**
   * Combined `spec.adoption` of all accounts of the login; undefined while one of them may not be known yet.
   */
  readonly adoptionOfLogin: () => 'None' | 'Unlabelled' | undefined;
  /** Undefined while it is being found out. */
  readonly namespaceAllowed: (account: MarketplaceAccount, namespace: string) => boolean | undefined;
  /** The budgets of namespaces, over all accounts. */
  readonly budgets: AdmissionOptions['budgets'];
  /** Called after a change that may unblock or block objects. */
  readonly onChange: () => void;
  /** Called after a change that only the account's status shows. */
  readonly onStatusChange: () => void;
  /** A poll of the marketplace ended, complete or failed: for the account's own controller. */
  readonly onPoll: (event: FeedEvent) => void;
  /** A running machine of the login is listed as stopped. */
  readonly onMachineStopped: () => void;
}

/**
 * An account whose login was proven by a key in this process. The object stays the same while the login stays; the
 * account's controller updates its key, limits and breaker. Results are current at the time of the call.
 */
export class AccountSession {
  readonly ref: AccountRef;
  readonly uid: string;
  readonly login: Login;
  /**
   * Reads are shared by the accounts of the login. Writes leave with the newest proven key of this very account, or not
   * at all: a kept key may only destroy, a narrow one may not write.
   */
  readonly market: Market;
  /** Shared by all accounts of the same login. */
  readonly feed: Feed;
  readonly pacer: Pacer;
  /**
   * Queue that a purchase waits in, shared by all accounts of the same login. Found offers may be reserved or avoided.
   */
  readonly queue: RentalQueue;
  /** The clock that dates machines. */
  readonly serviceClock: ServiceClock;
  /** Agreement of the complete lists of the login on a row. */
  readonly agreement: LoginConnection['agreement'];
  /** GPU utilization of the machines of the login, as this process has seen it. */
  readonly utilization: LoginConnection['utilization'];
  readonly avoid: AvoidList;
  /** Every rule in front of a purchase or a start. */
  readonly admission: Admission;
  /** Breaker and label echo, as the latest polls show them. */
  readonly observer: FeedObserver;
  readonly #options: AccountSessionOptions;
  readonly #inventory: MachineInventory;
  readonly #pendingOrphans = new PendingOrphans();
  readonly #unsubscribe: () => void;
  #account: MarketplaceAccount;
  #user: UserFacts = { credit: undefined, sshKeyRegistered: undefined, mayDestroy: true };
  #refusal: AccountRefusal | undefined;
  /** Undefined before the first sweep. */
  #findings: SweepFindings | undefined;
  /** Findings in a list before the first sweep. They are dropped together with their list. */
  readonly #counted = new WeakMap<CompleteList, SweepFindings>();

  constructor(options: AccountSessionOptions) {
    const { account, connection, clock } = options;
    this.#options = options;
    this.#account = account;
    this.ref = { namespace: account.metadata.namespace ?? '', name: account.metadata.name };
    this.uid = uidOf(account);
    this.login = connection.login;
    this.market = connection.marketOf(this.uid);
    this.feed = connection.feed;
    this.pacer = connection.pacer;
    this.queue = connection.queue;
    this.serviceClock = connection.serviceClock;
    this.agreement = (row) => connection.agreement(row);
    this.utilization = connection.utilization;
    this.avoid = new AvoidList(clock, avoidOf(account), options.onStatusChange);
    const pendingOrphans = () => this.#pendingOrphans.ids();
    this.observer = new FeedObserver(
      { ...options, objects: () => this.#objects().all(), pendingOrphans },
      () => this.#account,
    );
    this.#inventory = new MachineInventory(this.login, options.constants);
    this.admission = this.#createAdmission();
    this.#unsubscribe = this.feed.subscribe((event) => {
      this.observer.onFeedEvent(event);
      // An echoed label or a settled rental may allow the next rental.
      if (event.type === 'list') this.queue.slotEnded();
      if (event.type === 'row' && hasStopped(event)) options.onMachineStopped();
    });
    this.observer.catchUp(this.feed);
  }

  /** Identity of this installation. Throws while it is unknown: no session exists before. */
  get identity(): Identity {
    const identity = this.#options.identity();
    if (!identity) throw new Error('a session was used before the identity of this installation is known');
    return identity;
  }

  get limits(): AccountLimits {
    return limitsOf(this.#account);
  }

  /** The user, from the latest proof of the key. */
  get user(): UserFacts {
    return this.#user;
  }

  /** Findings of the latest sweep. */
  get findings(): SweepFindings {
    return this.#findings ?? NOTHING_FOUND;
  }

  /** True if a complete list has arrived, so an absence from it has a meaning. */
  get isListed(): boolean {
    return this.feed.latest() !== undefined;
  }

  /**
   * Machines that the account's status names and that are proven gone. While the breaker is open no list proves an
   * absence.
   */
  async provenGone(): Promise<ReadonlySet<string>> {
    if (this.observer.breaker.type === 'open') return new Set();
    const gone = await provenGone(this.observer.longUnlisted(), {
      read: (id) => this.feed.get(id),
      proveLogin: () => this.proveLogin(),
      onPresent: (id) => this.observer.onPresent(id),
    });
    this.#pendingOrphans.gone(gone);
    return gone;
  }

  /**
   * Returns true if objects of that namespace may use the account (`spec.allowedNamespaces`); undefined while the
   * labels of the namespace are being read.
   */
  permits(namespace: string): boolean | undefined {
    return this.#options.namespaceAllowed(this.#account, namespace);
  }

  /**
   * Returns the adoption policy of the login: `spec.adoption` of every account must be `Unlabelled`. Undefined while
   * the login of an account is unknown.
   */
  adoption(): 'None' | 'Unlabelled' | undefined {
    return this.#options.adoptionOfLogin();
  }

  /** Records that the reply to a rental of that object named this machine. */
  answered(instanceId: string, objectUid: string): void {
    this.#options.connection.answers.note(instanceId, objectUid);
  }

  /** Returns true if the reply to a rental of another object of the login named this machine. */
  isAnswered(instanceId: string, objectUid: string): boolean {
    return this.#options.connection.answers.isOfOther(instanceId, objectUid);
  }

  /** Asks the marketplace right now whether the key in use is one of `login`. Never rejects. */
  async proveLogin(): Promise<boolean> {
    try {
      return (await this.market.login()).id === this.login.userId;
    } catch {
      return false;
    }
  }

  /** Returns the owner of each machine of a list, by these objects; undefined before the first list. */
  inventory(
    objects: readonly InstanceSummary[],
    retained: readonly string[] = this.#retained(),
    list = this.feed.latest(),
  ): readonly InventoryEntry[] | undefined {
    const identity = this.#options.identity();
    if (!list || !identity) return undefined;
    return this.#inventory.classify(identity, {
      rows: list.rows.values(),
      uids: new Set(objects.map(({ uid }) => uid)),
      claims: objects.flatMap(({ claim }) => claim ?? []),
      retained: new Set(retained),
      copies: new Set([...(this.#account.status?.labelCopies ?? []), ...this.findings.copied]),
    });
  }

  /**
   * Returns the ids of orphans for which an account in deletion waits; none for any other account. Undefined before the
   * first sweep, which may find some.
   */
  pendingOrphans(): readonly string[] | undefined {
    return this.#findings && this.#pendingOrphans.ids();
  }

  /** Records the findings of the orphan sweep for this list. */
  recordSweep(findings: SweepFindings, list: Pick<CompleteList, 'rows'>): void {
    const changed = JSON.stringify(findings) !== JSON.stringify(this.#findings);
    this.#findings = findings;
    if (this.#isDeleted()) this.#pendingOrphans.swept(orphansOf(findings), list);
    if (changed) this.#options.onStatusChange();
  }

  /**
   * Updates the account after it was read or written. A new object of the same name, and an older state that arrives
   * late, are ignored.
   */
  update(account: MarketplaceAccount): void {
    if (uidOf(account) !== this.uid || isOlder(account, this.#account)) return;
    const changed = account.metadata.generation !== this.#account.metadata.generation;
    this.#account = account;
    this.avoid.follow(avoidOf(account));
    if (this.#isDeleted()) this.#pendingOrphans.add(orphansOf(this.findings));
    if (changed) this.#options.onChange();
  }

  /** Records that the controller verified the key again. */
  proved(user: UserFacts): void {
    const before = this.#user;
    this.#user = user;
    if (permitsMore(before, user)) this.#options.onChange();
  }

  /** Refuses further tickets, or admits them again if `refusal` is undefined. */
  refuse(refusal: AccountRefusal | undefined): void {
    this.#refusal = refusal;
  }

  /** Unsubscribes from the feed. */
  close(): void {
    this.#unsubscribe();
  }

  /** Returns the ids of the machines that the account lists as kept on purpose. */
  #retained(): readonly string[] {
    return (this.#account.status?.retained ?? []).map(({ instanceId }) => instanceId);
  }

  #isDeleted(): boolean {
    return this.#account.metadata.deletionTimestamp !== undefined;
  }

  #objects(): AccountObjects {
    return this.#options.objects(this.#account);
  }

  #createAdmission(): Admission {
    const { clock, spendingTime, connection, brake, budgets } = this.#options;
    return new Admission({
      clock,
      budgets,
      queue: connection.queue,
      objects: () => this.#objects(),
      reservations: connection.reservations,
      settings: brake,
      limits: () => this.limits,
      refusal: () => this.#refusal ?? this.#narrowKey(),
      isSuspended: () => this.#account.spec.suspend === true,
      labelEcho: () => this.observer.labelEcho,
      isLoginRenting: () =>
        this.#options.ofSameLogin().some((other) => other.admission.isRenting()) ||
        this.#options.isRentingUnproven(),
      sums: (counted, { instead, pending }) => {
        const now = clock.now();
        const credit = this.#user.credit;
        const deleted = deletedSumsOf(this.#account);
        const orphans = this.#orphanBills(counted);
        const objects = counted.sums(now, instead);
        const month = monthName(spendingTime());
        return sumAccount({ objects, pending, orphans, deleted, credit, now, month });
      },
    });
  }

  /**
   * Bills of listed machines without an object, by the latest sweep, by the latest list if this process has not swept
   * yet, or by the record of a mass. An unknown price counts as the maximum.
   */
  #orphanBills(objects: AccountObjects): readonly OrphanBill[] {
    const { massOrphaned = [], orphansConfirmed = [] } = this.#account.status ?? {};
    const known = this.#findings ?? this.#unswept();
    const found = new Set([...orphansOf(known), ...massOrphaned, ...orphansConfirmed]);
    if (found.size === 0) return [];
    const claimed = new Set(objects.all().map(({ instanceId }) => instanceId));
    const late = new Set(known.late);
    const rows = this.feed.latest()?.rows;
    const most = maxRentalPrice(undefined, this.limits, this.#options.brake.maxDollarsPerHour);
    return [...found].flatMap((id) => {
      const row = claimed.has(id) ? undefined : rows?.get(id);
      if (!row) return [];
      return [
        { pricePerHour: row.pricePerHour ?? most, rentedLateAt: late.has(id) ? row.startedAt : undefined },
      ];
    });
  }

  /**
   * Findings of a new process until its first sweep. A machine that bills without an object counts for the limits.
   * The caches may be behind, so the findings are used for this count only. Computed once per list, because every
   * request for a rental needs it and present objects hardly change it.
   */
  #unswept(): SweepFindings {
    const list = this.feed.latest();
    if (!list) return NOTHING_FOUND;
    const counted = this.#counted.get(list);
    if (counted) return counted;
    const retained = [this, ...this.#options.ofSameLogin()].flatMap((session) => session.#retained());
    const entries = this.inventory(this.#options.allObjects(), retained, list) ?? [];
    const orphans = entries.filter((entry) => entry.type === 'orphan');
    const late = orphans.filter(({ isLate }) => isLate);
    const findings = { ...NOTHING_FOUND, unsettled: orphans.map(idOf), late: late.map(idOf) };
    this.#counted.set(list, findings);
    return findings;
  }

  #narrowKey(): AccountRefusal | undefined {
    if (this.#user.mayDestroy) return undefined;
    const message =
      'The key may not list or destroy machines; nothing is rented that could not be destroyed.';
    return { reason: 'KeyTooNarrow', message };
  }
}

function hasStopped({ row, previous }: Extract<FeedEvent, { type: 'row' }>): boolean {
  return previous?.state === 'running' && row?.state === 'stopped';
}

const idOf = ({ row }: InventoryEntry): string => row.id;

function isOlder({ metadata: read }: MarketplaceAccount, { metadata: known }: MarketplaceAccount): boolean {
  if (read.resourceVersion === undefined || known.resourceVersion === undefined) return false;
  return compareResourceVersions(read.resourceVersion, known.resourceVersion) < 0;
}

function orphansOf({ orphans, unsettled }: SweepFindings): readonly string[] {
  return [...orphans, ...unsettled];
}

/** Returns true if a call that was refused before may be allowed now. */
function permitsMore(before: UserFacts, now: UserFacts): boolean {
  if (before.mayDestroy !== now.mayDestroy || before.sshKeyRegistered !== now.sshKeyRegistered) return true;
  return (now.credit ?? 0) > (before.credit ?? 0);
}
