import type { AccountRef } from '../instance/account-ref.ts';
import type { MarketplaceClient } from '../marketplace/client.ts';
import type { Feed } from '../marketplace/feed/feed.ts';
import type { Identity } from '../ownership/identity.ts';
import type { Login } from '../ownership/login.ts';
import type { AvoidList } from './avoid-list.ts';
import type { ServiceTime } from './login/service-clock.ts';
import type { AdmissionQueue } from './queue/admission-queue.ts';
import type { AccountLimits } from './tickets/limits.ts';
import type { Tickets } from './tickets/tickets.ts';
import type { BreakerState } from './watch/breaker.ts';
import type { HeldSpan } from './watch/held-spans.ts';
import type { LabelEcho } from './watch/label-echo.ts';

/** The queue of a login, as the objects that wait in it use it. */
export type RentalQueue = Pick<AdmissionQueue, 'offers' | 'explain' | 'place' | 'leave'>;

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
  /**
   * Reads are shared by the accounts of the login. Writes leave with the newest proven key of this very account, or not
   * at all: a kept key may only destroy, a narrow one may not write.
   */
  readonly client: MarketplaceClient;
  /** Shared by all accounts of the same login. */
  readonly feed: Feed;
  readonly avoid: AvoidList;
  readonly tickets: Tickets;
  /** What a purchase waits for, shared by all accounts of the same login. Found offers may be reserved or avoided. */
  readonly queue: RentalQueue;
  limits(): AccountLimits;
  pollIntervalMs(): number;
  /** By the clock that dates machines. */
  serviceTime(): ServiceTime;
  breaker(): BreakerState;
  /** When the breaker was open, in monotonic milliseconds. */
  heldSpans(): readonly HeldSpan[];
  /** Whether the end of a machine says something about its host: not if many failed together. */
  blames(): boolean;
  labelEcho(): LabelEcho;
  /** What the service showed for a label it had been sent. The first answer of a login is made durable. */
  labelReadBack(sent: string, shown: string | null | undefined): void;
  /** Whether the account may be used from objects of that namespace (`spec.allowedNamespaces`); undefined while that is being found out. */
  permits(namespace: string): boolean | undefined;
  /** Whether the account's own key, or the one kept of it, may destroy. */
  mayDestroy(): boolean;
  /**
   * Whether machines that this operator did not rent may be adopted: `spec.adoption` of every account of the login must
   * be `Unlabelled`. Undefined while an account has not been asked for its login yet.
   */
  adoption(): 'None' | 'Unlabelled' | undefined;
  /** Undefined while not known (the key may not read SSH keys). */
  sshKeyRegistered(): boolean | undefined;
  /** Asks the marketplace right now whether the key in use is one of `login`. Never throws. */
  proveLogin(): Promise<boolean>;
}
