import type { KeyReading } from '../../accounts/api-keys.ts';
import type { AvoidEntry } from '../../accounts/avoid-list.ts';
import type { BreakerState } from '../../accounts/breaker.ts';
import type { LabelEcho } from '../../accounts/feed-observer.ts';
import type { InstallationState } from '../../accounts/installation/installation.ts';
import type { SweepFindings } from '../../accounts/session.ts';
import type { AccountSums } from '../../accounts/spend-limits.ts';
import type { MarketplaceAccount, MarketplaceAccountStatus } from '../../api/v1alpha1/marketplace-account.ts';
import type { Outage } from '../../api/v1alpha1/outage.ts';
import type { Reason } from '../../api/v1alpha1/reasons.ts';
import type { MicroDollars } from '../../lib/money.ts';
import type { Secret } from '../../lib/secret.ts';
import type { FeedHealth } from '../../market/feed-state.ts';
import type { Login } from '../../ownership/login.ts';
import type { EventNote } from '../../runtime/events.ts';
import type { Failure, KeyProof } from './key-proof.ts';

/** Verdict on the account's URL. */
export type UrlCheck =
  | { readonly type: 'allowed'; readonly url: string }
  | { readonly type: 'refused'; readonly url: string; readonly allowed: readonly string[] };

/** Machines of the login by owner. */
export type MachineCounts = NonNullable<MarketplaceAccountStatus['machines']>;

/** Facts from the session of a verified login; absent before the first proof. */
export interface SessionFacts {
  readonly login: Login;
  readonly health: Pick<FeedHealth, 'lastCompleteAt' | 'consecutiveFailures' | 'failingSince'>;
  /** Failure of the latest list, while it fails. */
  readonly failure: Failure | undefined;
  /** Undefined before the first complete list. */
  readonly counts: MachineCounts | undefined;
  /** Machines in the status that are proven gone. */
  readonly provenGone: ReadonlySet<string>;
  readonly sums: AccountSums;
  readonly breaker: BreakerState;
  readonly labelEcho: LabelEcho;
  readonly avoid: readonly AvoidEntry[];
  readonly findings: SweepFindings;
  /**
   * Ids of machines without an object that are not proven gone; followed only while the account is being deleted.
   * Undefined before this process's first sweep.
   */
  readonly pendingOrphans: readonly string[] | undefined;
}

/** Credit and hourly cost of an account at one check of its key. */
export interface CreditReading {
  /** Time of the check on `clock.monotonic()`: one check is one reading. */
  readonly checkedAt: number;
  /** Undefined if the key may not read it. */
  readonly credit: MicroDollars | undefined;
  readonly pricePerHour: MicroDollars;
}

/** Inputs of one reconcile, in one frozen value. */
export interface Observed {
  readonly account: MarketplaceAccount;
  /** Epoch milliseconds. */
  readonly now: number;
  /** Time by the clock that dates machines; undefined while it is unknown. */
  readonly serviceNow: number | undefined;
  readonly url: UrlCheck;
  readonly reading: KeyReading;
  readonly proof: KeyProof;
  readonly session: SessionFacts | undefined;
  readonly installation: InstallationState;
  /** namespace/name of objects that block the deletion of the account. */
  readonly blockers: readonly string[];
  /**
   * Effect of other accounts of the login on its orphans. `sweeps`: one remains and sweeps them. `reports`: none
   * sweeps, and one has the policy Report, so no account may destroy any.
   */
  readonly beside: 'sweeps' | 'reports' | 'nothing';
  /** Epoch milliseconds of the newest rental that any object has on record. */
  readonly newestRentalAt: number | undefined;
  /** True if the kept key is this very key already. */
  readonly keyKept: boolean;
  /** Epoch milliseconds of the last write of credit and runway; undefined if not by this process. */
  readonly figuresWrittenAt: number | undefined;
  /** Newest readings of credit and cost, the newest last; none after a start of the operator. */
  readonly creditReadings: readonly CreditReading[];
  /** Epoch milliseconds of the first of the consecutive failed checks; undefined if the latest succeeded. */
  readonly keyFailingSince: number | undefined;
  /** Consecutive checks of the key without an answer. */
  readonly keyUnanswered: number;
  /** Milliseconds until the next check of the key. */
  readonly keyCheckAgainInMs: number;
}

/** Reason why the account gives no tickets. */
export interface Unreadiness {
  readonly reason: Reason;
  readonly message: string;
  /** The outage that causes it. */
  readonly outage?: Outage | undefined;
}

/** An event, with figures for the log. */
export interface ReportedEvent extends EventNote {
  readonly figures?: Readonly<Record<string, string | number | undefined>>;
}

export type Action =
  | { readonly type: 'resolveIdentity' }
  | { readonly type: 'keepKey'; readonly key: Secret }
  | { readonly type: 'connect'; readonly proof: Extract<KeyProof, { type: 'proven' }> }
  | { readonly type: 'disconnect' }
  | { readonly type: 'setReadiness'; readonly why: Unreadiness | undefined }
  | { readonly type: 'closeBreaker' }
  | { readonly type: 'dropKeptKey' }
  | { readonly type: 'removeFinalizer' };

export interface Decision {
  /** Written before any action, if it differs. */
  readonly status: MarketplaceAccountStatus;
  readonly needsFinalizer: boolean;
  readonly actions: readonly Action[];
  /** Recorded after the status, so only once, and before the actions, which may fail. */
  readonly events: readonly ReportedEvent[];
  readonly requeueAfterMs: number;
}
