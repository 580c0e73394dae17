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
import type { Secret } from '../../lib/secret.ts';
import type { FeedHealth } from '../../market/feed-state.ts';
import type { Login } from '../../ownership/login.ts';
import type { EventNote } from '../../runtime/events.ts';
import type { Failure, KeyProof } from './key-proof.ts';

/** Whether the account's URL may be used at all. */
export type UrlCheck =
  | { readonly type: 'allowed'; readonly url: string }
  | { readonly type: 'refused'; readonly url: string; readonly allowed: readonly string[] };

/** Machines of the login by whose they are. */
export type MachineCounts = NonNullable<MarketplaceAccountStatus['machines']>;

/** What the session of a proven login tells; absent before the first proof. */
export interface SessionFacts {
  readonly login: Login;
  readonly health: Pick<FeedHealth, 'lastCompleteAt' | 'consecutiveFailures' | 'failingSince'>;
  /** The latest list's, while it failed. */
  readonly failure: Failure | undefined;
  /** Undefined before the first complete list. */
  readonly counts: MachineCounts | undefined;
  /** Machines that the status names and that are gone for sure. */
  readonly provenGone: ReadonlySet<string>;
  readonly sums: AccountSums;
  readonly breaker: BreakerState;
  readonly labelEcho: LabelEcho;
  readonly avoid: readonly AvoidEntry[];
  readonly findings: SweepFindings;
  /**
   * Ids of machines of ours that no object claims and that are not gone for sure; followed only while the account is being
   * deleted. Undefined before this process's first sweep.
   */
  readonly pendingOrphans: readonly string[] | undefined;
}

/** Everything one pass needs, in one frozen value. */
export interface Observed {
  readonly account: MarketplaceAccount;
  /** Epoch milliseconds. */
  readonly now: number;
  /** By the clock that dates machines; undefined while it is not known. */
  readonly serviceNow: number | undefined;
  readonly url: UrlCheck;
  readonly reading: KeyReading;
  readonly proof: KeyProof;
  readonly session: SessionFacts | undefined;
  readonly installation: InstallationState;
  /** namespace/name of objects that keep the account from going. */
  readonly blockers: readonly string[];
  /**
   * What other accounts of the login do about its orphans: one stays and sweeps them; or none does, and one of them wants
   * them reported, so that nobody may destroy any.
   */
  readonly beside: 'sweeps' | 'reports' | 'nothing';
  /** Epoch milliseconds of the newest rental that any object has on record. */
  readonly newestRentalAt: number | undefined;
  /** The kept key is this very key already. */
  readonly keyKept: boolean;
  /** Epoch milliseconds at which credit and runway were last written; undefined if not by this process. */
  readonly figuresWrittenAt: number | undefined;
  /** Epoch milliseconds of the first of the checks in a row that failed; undefined if the latest succeeded. */
  readonly keyFailingSince: number | undefined;
  /** Checks of the key in a row that got no answer. */
  readonly keyUnanswered: number;
  /** Until the key has to be checked again. */
  readonly keyCheckAgainInMs: number;
}

/** Why the account gives no tickets. */
export interface Unreadiness {
  readonly reason: Reason;
  readonly message: string;
  /** The loss of service that it follows from. */
  readonly outage?: Outage | undefined;
}

/** An event, and for the log what it says in figures. */
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
  /** Written before any action, where it differs. */
  readonly status: MarketplaceAccountStatus;
  readonly needsFinalizer: boolean;
  readonly actions: readonly Action[];
  /** Recorded after the status, so only once, and before the actions, which may fail. */
  readonly events: readonly ReportedEvent[];
  readonly requeueAfterMs: number;
}
