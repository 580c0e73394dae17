import type { MicroDollars } from '../lib/money.ts';
import type { MarketplaceClient } from '../marketplace/client.ts';
import type { Feed } from '../marketplace/feed/feed.ts';
import type { Offer, OfferQuery } from '../marketplace/offers/offers.ts';
import type { Identity } from '../ownership/identity.ts';
import type { Login } from '../ownership/login.ts';
import type { AvoidList } from './avoid-list.ts';
import type { ServiceTime } from './login/service-clock.ts';
import type { AccountLimits } from './tickets/limits.ts';
import type { Tickets } from './tickets/tickets.ts';
import type { BreakerState } from './watch/breaker.ts';
import type { LabelEcho } from './watch/label-echo.ts';

/** Name of a MarketplaceAccount. */
export interface AccountRef {
  readonly namespace: string;
  readonly name: string;
}

/** What an object that goes away leaves to its account, so that the brake does not forget it. */
export interface DepartedObject {
  readonly uid: string;
  /** Epoch milliseconds of its rentals within the last hour. */
  readonly rentals: readonly number[];
  /** What its machines cost in the running UTC month. */
  readonly spentThisMonth: MicroDollars;
  /** Epoch milliseconds at which its newest intent was issued; undefined where it never rented. */
  readonly newestRentalAt: number | undefined;
}

/** A machine left running or stopped on purpose, whose label could not be changed to say so. */
export interface RetainedMachine {
  readonly instanceId: number;
  readonly objectUid: string;
  /** namespace/name of the object it belonged to. */
  readonly owner: string;
  readonly policy: 'Stop' | 'Retain';
  readonly pricePerHour: MicroDollars | undefined;
}

/**
 * An account whose login was proven by a key in this process. It stays the same object while the login
 * stays; key, limits and breaker behind it change. What it returns is current at the call.
 */
export interface AccountSession {
  readonly ref: AccountRef;
  readonly uid: string;
  readonly login: Login;
  /** What this installation signs with. */
  readonly identity: Identity;
  /** Always uses the newest proven key. While the user's Secret is gone only list, GET and DELETE may be used. */
  readonly client: MarketplaceClient;
  /** Shared by all accounts of the same login. */
  readonly feed: Feed;
  readonly avoid: AvoidList;
  readonly tickets: Tickets;
  limits(): AccountLimits;
  pollIntervalMs(): number;
  /** By the clock that dates machines. */
  serviceTime(): ServiceTime;
  breaker(): BreakerState;
  labelEcho(): LabelEcho;
  /** What the service showed for a label it had been sent. The first answer of a login is made durable. */
  labelReadBack(sent: string, shown: string | null | undefined): void;
  /** Whether the account may be used from objects of that namespace (`spec.allowedNamespaces`). */
  permits(namespace: string): boolean;
  /** Whether machines that this operator did not rent may be adopted (`spec.adoption`). */
  adoption(): 'None' | 'Unlabelled';
  /** Undefined while not known (the key may not read SSH keys). */
  sshKeyRegistered(): boolean | undefined;
  /** Asks the marketplace right now whether the key in use is one of `login`. Never throws. */
  proveLogin(): Promise<boolean>;
  /** Equal searches within 15 s share one reply. Reserved and avoided offers are still in it. */
  searchOffers(query: OfferQuery): Promise<readonly Offer[]>;
  /**
   * Durable when it resolves; await it before the finalizer goes, and call it once for an object. Where the process
   * ends in between it may count twice: the brake then errs on the careful side.
   */
  foldDeparted(departed: DepartedObject): Promise<void>;
  /** Durable when it resolves: the machine stands in the account's `status.retained`, and no sweep touches it. */
  recordRetained(machine: RetainedMachine): Promise<void>;
}
