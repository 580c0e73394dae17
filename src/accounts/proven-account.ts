import type { MarketplaceAccount } from '../api/v1alpha1/marketplace-account.ts';
import type { AccountRef } from '../instance/account-ref.ts';
import { monthName } from '../instance/cost.ts';
import type { InstanceSummary } from '../instance/summary.ts';
import type { Clock } from '../lib/clock.ts';
import type { MicroDollars } from '../lib/money.ts';
import type { MarketplaceClient } from '../marketplace/client.ts';
import type { Feed } from '../marketplace/feed/feed.ts';
import type { CompleteList, FeedEvent } from '../marketplace/feed/feed-state.ts';
import type { EndpointClass } from '../marketplace/pacing/endpoint-class.ts';
import type { PurchaseConstants } from '../ownership/constants.ts';
import type { Identity } from '../ownership/identity.ts';
import type { Login } from '../ownership/login.ts';
import { uidOf } from '../runtime/kube/kube-object.ts';
import { AccountAvoidList } from './account-avoid-list.ts';
import type { AccountSession, RentalQueue } from './account-session.ts';
import { avoidOf, departedOf, pollIntervalOf } from './account-status.ts';
import type { LoginConnection } from './login/login-connection.ts';
import type { ServiceTime } from './login/service-clock.ts';
import type { AccountLimits } from './tickets/limits.ts';
import { dearestRental, limitsOf } from './tickets/limits.ts';
import { type AccountSums, type BrakeSettings, sumAccount } from './tickets/spend-brake.ts';
import { type AccountRefusal, TicketOffice } from './tickets/ticket-office.ts';
import type { Tickets } from './tickets/tickets.ts';
import type { BreakerState } from './watch/breaker.ts';
import { FeedWatch } from './watch/feed-watch.ts';
import { goneForSure } from './watch/gone-check.ts';
import type { HeldSpan } from './watch/held-spans.ts';
import type { LabelEcho } from './watch/label-echo.ts';
import { type CensusEntry, MachineCensus } from './watch/machine-census.ts';
import { UnclaimedMachines } from './watch/unclaimed-machines.ts';

/** What the latest proof of the key said of its user. */
export interface UserFacts {
  /** Undefined where the key may not read it. */
  readonly credit: MicroDollars | undefined;
  readonly sshKeyRegistered: boolean | undefined;
  /** False where the key may not list or not destroy: then nothing is rented. */
  readonly mayTearDown: boolean;
}

/** What a sweep of the login's machines found. */
export interface SweepFindings {
  /** Ids of machines of ours that no object claims. */
  readonly orphans: readonly number[];
  /** Ids of unclaimed machines that are too new to call orphans: their age or a second look will tell. */
  readonly unsettled: readonly number[];
  /** Ids of orphans that are younger than every rental that was on record when they were first seen. */
  readonly rolledBack: readonly number[];
  /** Epoch milliseconds of the last time that a person confirmed a rollback, as far as the sweep knew; 0 for never. */
  readonly confirmedAt: number;
  /** Ids of unclaimed machines if so many lost their objects that a person has to look; absent if not. */
  readonly massOrphaned?: readonly number[];
  /** Ids that carry our label where it cannot belong. */
  readonly copied: readonly number[];
  /** Ids of unclaimed machines that began after the window of their label: rentals that were carried out late. */
  readonly late?: readonly number[];
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

/** What a session needs of the process around it. */
export interface ProvenAccountOptions {
  readonly account: MarketplaceAccount;
  readonly connection: LoginConnection;
  /** Undefined until the installation knows who it is; no session is given out before. */
  readonly identity: () => Identity | undefined;
  readonly clock: Clock;
  readonly brake: BrakeSettings;
  readonly constants: PurchaseConstants;
  readonly minPollIntervalMs: number;
  /** GpuInstances that count for this account, as the cache has them. */
  readonly objects: (account: MarketplaceAccount) => readonly InstanceSummary[];
  /** Accounts that have proved the same login, without this one. */
  readonly ofSameLogin: () => readonly ProvenAccount[];
  /** `spec.adoption` of all accounts of the login together; undefined while one of them may not be known yet. */
  readonly adoptionOfLogin: () => 'None' | 'Unlabelled' | undefined;
  /** Undefined while it is being found out. */
  readonly namespaceAllowed: (account: MarketplaceAccount, namespace: string) => boolean | undefined;
  /** Something changed that may let objects do what they could not, or stop them. */
  readonly onChange: () => void;
  /** Something changed that the account's status should say, and nobody else waits for. */
  readonly onNews: () => void;
  /** A look at the marketplace ended, whatever it showed: for the account's own controller. */
  readonly onLook: (event: FeedEvent) => void;
}

/** One account whose login was proven: the state behind its session, moved on by the account's controller. */
export class ProvenAccount implements AccountSession {
  readonly ref: AccountRef;
  readonly uid: string;
  readonly login: Login;
  readonly client: MarketplaceClient;
  readonly feed: Feed;
  readonly tickets: Tickets;
  readonly queue: RentalQueue;
  readonly avoid: AccountAvoidList;
  readonly #options: ProvenAccountOptions;
  readonly #office: TicketOffice;
  readonly #unsubscribe: () => void;
  readonly #census: MachineCensus;
  #account: MarketplaceAccount;
  #user: UserFacts = { credit: undefined, sshKeyRegistered: undefined, mayTearDown: true };
  #refusal: AccountRefusal | undefined;
  readonly #unclaimed = new UnclaimedMachines();
  /** Undefined before the first sweep. */
  #findings: SweepFindings | undefined;
  readonly #watch: FeedWatch;

  constructor(options: ProvenAccountOptions) {
    const { account, connection, clock } = options;
    this.#options = options;
    this.#account = account;
    this.ref = { namespace: account.metadata.namespace ?? '', name: account.metadata.name };
    this.uid = uidOf(account);
    this.login = connection.login;
    this.client = connection.clientOf(this.uid);
    this.feed = connection.feed;
    this.queue = connection.queue;
    this.avoid = new AccountAvoidList(clock, avoidOf(account), options.onNews);
    const remembered = () => this.#unclaimed.ids();
    this.#watch = new FeedWatch(
      { ...options, objects: () => this.#objects(), remembered },
      () => this.#account,
    );
    this.#census = new MachineCensus(this.login, options.constants);
    this.#office = this.#createOffice();
    this.tickets = this.#office;
    this.#unsubscribe = this.feed.subscribe((event) => this.#watch.hear(event));
  }

  get identity(): Identity {
    const identity = this.#options.identity();
    if (!identity) throw new Error('a session was used before the identity of this installation is known');
    return identity;
  }

  limits(): AccountLimits {
    return limitsOf(this.#account);
  }

  pollIntervalMs(): number {
    return pollIntervalOf(this.#account, this.#options.minPollIntervalMs);
  }

  serviceTime(): ServiceTime {
    return this.#options.connection.serviceClock.now();
  }

  breaker(): BreakerState {
    return this.#watch.breaker();
  }

  heldSpans(): readonly HeldSpan[] {
    return this.#watch.heldSpans();
  }

  blames(): boolean {
    return this.#watch.blames();
  }

  /** Machines that the account's status names and that are gone for sure. An open breaker believes no list. */
  async longGone(): Promise<ReadonlySet<number>> {
    if (this.breaker().type === 'open') return new Set();
    const gone = await goneForSure(this.#watch.longUnlisted(), {
      read: (id) => this.feed.get(id),
      proveLogin: () => this.proveLogin(),
      found: (id) => this.#watch.found(id),
    });
    this.#unclaimed.gone(gone);
    return gone;
  }

  labelEcho(): LabelEcho {
    return this.#watch.labelEcho();
  }

  labelReadBack(sent: string, shown: string | null | undefined): void {
    this.#watch.labelReadBack(sent, shown);
  }

  permits(namespace: string): boolean | undefined {
    return this.#options.namespaceAllowed(this.#account, namespace);
  }

  adoption(): 'None' | 'Unlabelled' | undefined {
    return this.#options.adoptionOfLogin();
  }

  sshKeyRegistered(): boolean | undefined {
    return this.#user.sshKeyRegistered;
  }

  /** As the latest proof said. */
  user(): UserFacts {
    return this.#user;
  }

  mayDestroy(): boolean {
    return this.#user.mayTearDown;
  }

  async proveLogin(): Promise<boolean> {
    try {
      return (await this.client.users.current()).id === this.login.userId;
    } catch {
      return false;
    }
  }

  /** Whether a complete list was seen, so that what is missing from it means something. */
  connected(): boolean {
    return this.feed.latest() !== undefined;
  }

  /** Milliseconds until a call of this class could start. */
  waitMs(endpointClass: EndpointClass): number {
    return this.#options.connection.pacer.nextSlotMs(endpointClass);
  }

  /** Whose each machine of a list is, by these objects; undefined before the first list. */
  census(
    objects: readonly InstanceSummary[],
    retained: readonly number[] = this.retained(),
    list = this.feed.latest(),
  ): readonly CensusEntry[] | undefined {
    const identity = this.#options.identity();
    if (!list || !identity) return undefined;
    return this.#census.take(identity, {
      rows: list.rows.values(),
      uids: new Set(objects.map(({ uid }) => uid)),
      claims: objects.flatMap(({ claim }) => claim ?? []),
      retained: new Set(retained),
      copies: new Set([...(this.#account.status?.labelCopies ?? []), ...this.findings().copied]),
    });
  }

  /** Ids that the account lists as kept on purpose. */
  retained(): readonly number[] {
    return (this.#account.status?.retained ?? []).map(({ instanceId }) => instanceId);
  }

  /** What the latest sweep found. */
  findings(): SweepFindings {
    return this.#findings ?? NOTHING_FOUND;
  }

  /**
   * Ids of machines of ours that no object claims, which an account that is being deleted waits for; none for any other.
   * Undefined before the first sweep, which may find some.
   */
  unclaimed(): readonly number[] | undefined {
    return this.#findings && this.#unclaimed.ids();
  }

  /** The orphan sweep looked at this login's machines, as this list shows them. */
  swept(findings: SweepFindings, list: Pick<CompleteList, 'rows'>): void {
    const changed = JSON.stringify(findings) !== JSON.stringify(this.#findings);
    this.#findings = findings;
    if (this.#isDeleted()) this.#unclaimed.swept(unclaimedOf(findings), list);
    if (changed) this.#options.onNews();
  }

  /** Sums with the rentals under way. */
  sums(): AccountSums {
    return this.#office.sums();
  }

  /** Uids of objects that may rent by a ticket, and whose intent may not be on record yet. */
  rentingFor(): readonly string[] {
    return this.#office.rentingFor();
  }

  /** Whether one of its rentals may still make a machine that no record shows. */
  isRenting(): boolean {
    return this.#office.isRenting();
  }

  /** The controller saw a newer object. Another one that took over the name is none. */
  update(account: MarketplaceAccount): void {
    if (uidOf(account) !== this.uid) return;
    const changed = account.metadata.generation !== this.#account.metadata.generation;
    this.#account = account;
    this.avoid.follow(avoidOf(account));
    if (this.#isDeleted()) this.#unclaimed.add(unclaimedOf(this.findings()));
    if (changed) this.#options.onChange();
  }

  /** The controller proved the key again. */
  proved(user: UserFacts): void {
    const before = this.#user;
    this.#user = user;
    if (opensDoors(before, user)) this.#options.onChange();
  }

  /** From now on no ticket is given, or (undefined) they are again. */
  refuse(refusal: AccountRefusal | undefined): void {
    this.#refusal = refusal;
  }

  closeBreaker(): void {
    this.#watch.closeBreaker();
  }

  /** Listens to the feed no more. */
  close(): void {
    this.#unsubscribe();
  }

  #isDeleted(): boolean {
    return this.#account.metadata.deletionTimestamp !== undefined;
  }

  #objects(): readonly InstanceSummary[] {
    return this.#options.objects(this.#account);
  }

  #createOffice(): TicketOffice {
    const { clock, connection, brake } = this.#options;
    return new TicketOffice({
      clock,
      queue: connection.queue,
      objects: () => this.#objects(),
      reservations: connection.reservations,
      settings: brake,
      limits: () => this.limits(),
      refusal: () => this.#refusal ?? this.#narrowKey(),
      labelEcho: () => this.labelEcho(),
      isLoginRenting: () => this.#options.ofSameLogin().some((other) => other.isRenting()),
      sums: (items, pending) => {
        const now = clock.now();
        const credit = this.#user.credit;
        const departed = departedOf(this.#account);
        const unclaimed = this.#unclaimedPrices(items);
        const month = monthName(now);
        return sumAccount({ objects: items, pending, unclaimed, departed, credit, now, month });
      },
    });
  }

  /**
   * Of machines that the latest sweep found unclaimed, or that are on record as orphaned in mass, and that are still listed;
   * an unknown price counts as the most.
   */
  #unclaimedPrices(objects: readonly InstanceSummary[]): readonly MicroDollars[] {
    const { massOrphaned = [], orphansConfirmed = [] } = this.#account.status ?? {};
    const found = new Set([...unclaimedOf(this.findings()), ...massOrphaned, ...orphansConfirmed]);
    if (found.size === 0) return [];
    const held = new Set(objects.map(({ instanceId }) => instanceId));
    const rows = this.feed.latest()?.rows;
    const most = dearestRental(undefined, this.limits(), this.#options.brake.maxDollarsPerHour);
    return [...found].flatMap((id) => {
      const row = held.has(id) ? undefined : rows?.get(id);
      return row ? [row.pricePerHour ?? most] : [];
    });
  }

  #narrowKey(): AccountRefusal | undefined {
    if (this.#user.mayTearDown) return undefined;
    const message =
      'The key may not list or destroy machines; nothing is rented that could not be destroyed.';
    return { reason: 'KeyTooNarrow', message };
  }
}

function unclaimedOf({ orphans, unsettled }: SweepFindings): readonly number[] {
  return [...orphans, ...unsettled];
}

/** Whether something that was refused before may be allowed now. */
function opensDoors(before: UserFacts, now: UserFacts): boolean {
  if (before.mayTearDown !== now.mayTearDown || before.sshKeyRegistered !== now.sshKeyRegistered) return true;
  return (now.credit ?? 0) > (before.credit ?? 0);
}
