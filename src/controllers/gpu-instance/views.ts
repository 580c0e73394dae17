import type { OfferSet } from '../../accounts/admission.ts';
import type { Avoided } from '../../accounts/avoid-list.ts';
import type { BreakerState, OpenSpan } from '../../accounts/breaker.ts';
import type { LabelEcho } from '../../accounts/feed-observer.ts';
import type { QueuePosition } from '../../accounts/queue/admission-queue.ts';
import type { ServiceTime } from '../../accounts/service-clock.ts';
import type { AccountLimits } from '../../accounts/spend-limits.ts';
import type { MachineFacts } from '../../api/v1alpha1/machine-drift.ts';
import type { Reason } from '../../api/v1alpha1/reasons.ts';
import type { Secret } from '../../lib/secret.ts';
import type { MarketplaceErrorKind } from '../../marketplace/errors/errors.ts';
import type { Instance } from '../../marketplace/instances/instance.ts';
import type { Offer } from '../../marketplace/offers/offers.ts';
import type { RentalIntent } from '../../ownership/intent.ts';
import type { Login } from '../../ownership/login.ts';
import type { Ownership } from '../../ownership/ours.ts';

/** A proven login as far as one object's decisions need it. */
export interface AccountFacts {
  readonly login: Login;
  readonly limits: AccountLimits;
  readonly breaker: BreakerState;
  /** When the breaker was open, in steady time. */
  readonly heldSpans: readonly OpenSpan[];
  /** Whether the end of a machine blames its host or machine: not if many failed together. */
  readonly blames: boolean;
  readonly labelEcho: LabelEcho;
  /** Whether the account may be used from the object's namespace; undefined while that is being found out. */
  readonly permitted: boolean | undefined;
  /** Of all accounts of the login together; undefined while that is being found out. */
  readonly adoption: 'None' | 'Unlabelled' | undefined;
  /** Whether the account's own key, or the one kept of it, may destroy. */
  readonly mayDestroy: boolean;
  readonly sshKeyRegistered: boolean | undefined;
  readonly avoided: Avoided;
  /** Offers that other objects are about to rent. */
  readonly reserved: OfferSet;
  /** By the clock that dates machines. */
  readonly serviceTime: ServiceTime;
  /** A stopped machine of this login was asked to start and the service knows no such request. */
  readonly startUnsupported: boolean;
}

/**
 * Of an object in a namespace that the account of another namespace does not allow, or that names none: it is told one
 * fixed sentence, whether or not there is such an account. `undecided` while the namespace is being looked up.
 */
export type Outsider = 'refused' | 'undecided';

/**
 * The account an object names. `notReady` has facts where its login was proven before: then teardown works. What an
 * outsider gets holds no word of the account.
 */
export type AccountView = { readonly outsider?: Outsider } & (
  | /** `isUnwatched`: whether there is one in its namespace, this installation does not look. */
  { readonly state: 'missing'; readonly isUnwatched?: boolean }
  | {
      readonly state: 'notReady';
      readonly reason: string;
      readonly message: string;
      readonly facts: AccountFacts | undefined;
    }
  | { readonly state: 'ready'; readonly facts: AccountFacts }
);

/** A listed machine and whose it is. */
export interface ListedMachine {
  readonly row: Instance;
  readonly ownership: Ownership;
}

/** What the latest complete list says about one object. */
export interface ListView {
  /** Milliseconds since the epoch at which that list was begun, by the wall clock of that moment. */
  readonly begunAt: number;
  /** The same in steady time; minus infinity where it is not known. */
  readonly begunSteady: number;
  /** The machine that `status.instanceId` names, where it is listed. */
  readonly recorded: Instance | undefined;
  /** Rows that carry this object's uid in a label of ours, lowest id first. */
  readonly labelled: readonly ListedMachine[];
  /** A machine of the uid that the intent names, where that is another object's. */
  readonly formerSelf: Instance | undefined;
  /** The machine that `adopt` names. */
  readonly adoptTarget: ListedMachine | undefined;
  /** Rows without a label or with the rest of this purchase's, that no object records: candidates where labels are not echoed. */
  readonly unowned: readonly Instance[];
  /** Rows that may be this purchase or somebody's own: never taken, and a reason to buy nothing. */
  readonly doubtful: readonly Instance[];
  /** Every listed id. */
  readonly ids: readonly number[];
}

/** When a machine was missing from complete lists, and what its own read said. */
export interface AbsenceView {
  /** Begin times (steady) of the complete lists since which it is missing, oldest first. */
  readonly lists: readonly number[];
  /** Its single read in this pass; undefined where it was not asked. */
  readonly read: 'absent' | 'present' | 'failed' | undefined;
}

/** Why nothing is tried for now. */
export interface Refusal {
  readonly reason: Reason;
  readonly detail: string;
}

/** What an object said last of its place in the queue; by steady time. */
export interface QueueWord {
  readonly reason: Extract<Reason, 'LabelsNotEchoed' | 'Queued'>;
  readonly detail: string;
  readonly at: number;
  /** Its place as it was said: see QueuePosition. */
  readonly ahead: number;
  readonly expectedMs: number;
  readonly isSerial: boolean;
}

/** Which intent: an attempt whose write failed may be made again under the same number. */
export interface IntentMark {
  readonly attempt: number;
  readonly issuedAt: number;
}

/** A destroy that the service answered with success, remembered by this process. */
export interface DestroyMark {
  readonly instanceId: number;
  /** Why it was destroyed. */
  readonly reason: Reason;
  /** Steady time when the answer came: lists begun after it count. */
  readonly answeredAt: number;
  /** The service's clock in that answer: where billing ends. */
  readonly endedAt: number;
}

/**
 * What this process remembers of an object. All of it may be lost without harm: it only saves time. Times are
 * steady unless they say otherwise; where one is missing, the record's own stands for it.
 */
export interface MemoryView {
  /** When a person last asked to look now, on `clock.monotonic()`. */
  readonly askedAt: number | undefined;
  /** A rental that was answered and whose result is not yet saved. */
  readonly rented: RentedFacts | undefined;
  /** The newest intent that this process wrote, in case the annotation is taken away. */
  readonly intent: RentalIntent | undefined;
  /** The intent whose call was certainly refused or never sent: nothing comes of it. */
  readonly refused: IntentMark | undefined;
  /** A machine that came too late for its purchase, as a list last showed it. */
  readonly late: (IntentMark & { readonly machine: Instance }) | undefined;
  /** Why the last rental was refused, for people. */
  readonly refusal: Refusal | undefined;
  /** Why nothing matched, by a search of everything within the last ten minutes. */
  readonly explained: Refusal | undefined;
  /** What was last said of its place in the queue; undefined if it does not wait. */
  readonly queued: QueueWord | undefined;
  readonly destroys: readonly DestroyMark[];
  /** The deadline of an intent, as it was when this process first saw it. */
  readonly intentDeadline: { readonly attempt: number; readonly at: number } | undefined;
  /** Since when the present machine is held. */
  readonly heldSince: number | undefined;
  /** When this process first looked at the object. */
  readonly firstLookAt: number;
  /** Since when this process has watched the present machine. */
  readonly watchedSince: number | undefined;
  /** When the start that is under way was answered with success. */
  readonly startAnsweredAt: number | undefined;
  /** Failures in a row of what is tried now, for backoff. */
  readonly failures: number;
  /** Before this nothing but a destroy is tried again. */
  readonly notBefore: number;
  /** When the machine was last asked to stop. */
  readonly stopAskedAt: number | undefined;
  /** The service's clock in that answer: from then on only the disk bills. */
  readonly stopAnsweredAt: number | undefined;
  /** When the machine was last given its label. */
  readonly relabelledAt: number | undefined;
  /** How often a destroy failed in a row. */
  readonly destroyFailures: number;
  /** Before this no destroy is tried again. */
  readonly destroyNotBefore: number;
  /** When the machine's last bad spell ended, so that flapping is not written down at each turn. */
  readonly badEndedAt: number | undefined;
  /** The word that the latest lists show, and since when. */
  readonly seenWord: { readonly word: string; readonly since: number } | undefined;
  /** Last text of the host about loading, and since when it is that. */
  readonly progress: { readonly text: string | undefined; readonly at: number } | undefined;
  /** When loading last showed progress, by the record. */
  readonly progressOnRecord: number | undefined;
  /** When it is next looked at whether the children still are as they were written. */
  readonly childrenDueAt: number | undefined;
}

/** `ProbeError`: the probe could not be sent as the spec writes it. */
export type ProbeFailureReason = 'ProbeFailing' | 'ProbeError';

/** What the single read of a machine said that is to be destroyed since it was lost. */
export interface ConfirmedView {
  readonly instanceId: number;
  readonly says: 'lost' | 'absent' | 'well' | 'failed';
}

/** What the readiness probe said last; undefined while it has not been asked. */
export interface ProbeView {
  readonly ready: boolean;
  /** Why it is not ready. */
  readonly reason?: ProbeFailureReason;
  readonly detail: string;
}

/** What Secrets gave for the rental. */
export type InputsView =
  | {
      readonly type: 'ready';
      readonly env: Readonly<Record<string, string>>;
      readonly onStart: string | undefined;
      readonly imageLogin: Secret | undefined;
    }
  | { readonly type: 'problem'; readonly reason: Reason; readonly detail: string };

/** What one search answered. */
export type OffersView =
  | {
      readonly type: 'found';
      readonly offers: readonly Offer[];
      /** Of a wider search: each offer has to tell itself that it fits. */
      readonly isShared?: boolean;
    }
  /** The search waits in the queue of the login, and the object is called when it is answered. */
  | { readonly type: 'queued'; readonly place: QueuePosition | undefined }
  | {
      readonly type: 'failed';
      readonly kind: MarketplaceErrorKind;
      readonly detail: string;
      readonly retryAfterMs: number | undefined;
    };

/** What the service answered to a rental that worked. */
export interface RentedFacts {
  readonly attempt: number;
  readonly instanceId: number;
  /** Service clock of the answer, or ours where it named none. */
  readonly answeredAt: number;
  readonly offer: Offer | undefined;
  readonly offerIndex: number | undefined;
  readonly pricePerHour: number | undefined;
  readonly specHash: string | undefined;
  readonly facts?: MachineFacts | undefined;
  readonly image: string | undefined;
}

/** How writing the children went. */
export type Published =
  | {
      readonly type: 'done';
      readonly bindingName: string;
      /** Why the Service leads nowhere, where it does not. */
      readonly unpublished?: string;
    }
  | { readonly type: 'nameTaken'; readonly detail: string }
  | { readonly type: 'failed'; readonly detail: string };
