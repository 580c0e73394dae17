import type { HeldOffers, TicketRefusal } from '../../accounts/admission.ts';
import type { Avoided } from '../../accounts/avoid-list.ts';
import type { Machine, MachineRead } from '../../accounts/beliefs/machine.ts';
import type { BreakerState, OpenSpan } from '../../accounts/breaker.ts';
import type { LabelEcho } from '../../accounts/feed-observer.ts';
import type { QueuePosition } from '../../accounts/queue/admission-queue.ts';
import type { ServiceTime } from '../../accounts/service-clock.ts';
import type { AccountLimits } from '../../accounts/spend-limits.ts';
import type { GpuInstanceCondition } from '../../api/v1alpha1/conditions.ts';
import type { GpuInstance, GpuInstancePhase, GpuInstanceStatus } from '../../api/v1alpha1/gpu-instance.ts';
import type { MachineFacts } from '../../api/v1alpha1/machine-drift.ts';
import type { Outage } from '../../api/v1alpha1/outage.ts';
import type { Reason } from '../../api/v1alpha1/reasons.ts';
import type { AvoidTarget } from '../../instance/avoidance.ts';
import type { Launch } from '../../instance/launch.ts';
import type { ShownState } from '../../instance/machine-state.ts';
import type { RunStatus } from '../../instance/run.ts';
import type { MicroDollars } from '../../lib/money.ts';
import type { MarketplaceErrorKind } from '../../market/errors.ts';
import type { ListUrgency } from '../../market/feed.ts';
import type { MarketFacts } from '../../market/market.ts';
import type { Offer, OfferQuery } from '../../market/offer.ts';
import type { RegistryLogin, RentRequest } from '../../market/rental.ts';
import type { Fuses } from '../../market/self-end.ts';
import type { PurchaseConstants } from '../../ownership/constants.ts';
import type { IntentReading, RentalIntent } from '../../ownership/intent.ts';
import type { LabelIdentity } from '../../ownership/label.ts';
import type { Login } from '../../ownership/login.ts';
import type { Ownership } from '../../ownership/ownership.ts';
import type { EventNote } from '../../runtime/events.ts';
import type { Lack } from './offers.ts';

/** Capabilities of a market on which decisions depend. */
export type Capabilities = Pick<MarketFacts, 'name' | 'label' | 'hasBids' | 'hasStop' | 'hasUtilization'>;

/** A proven login, with the facts that decisions about one object need. */
export interface AccountFacts {
  readonly login: Login;
  readonly market: Capabilities;
  readonly limits: AccountLimits;
  readonly breaker: BreakerState;
  /** When the breaker was open, in steady time. */
  readonly openSpans: readonly OpenSpan[];
  /** True if the end of a machine blames its host or machine: not if many failed together. */
  readonly countsHostFailures: boolean;
  readonly labelEcho: LabelEcho;
  /** True if the credit was at or below the required minimum when the key was last checked. */
  readonly creditUsedUp: boolean;
  /** True if the account refuses every rental and start (`spec.suspend`). */
  readonly suspended: boolean;
  /** True if the account may be used from the object's namespace; undefined while that is being found out. */
  readonly permitted: boolean | undefined;
  /** Adoption policy over all accounts of the login; undefined while it is being determined. */
  readonly adoption: 'None' | 'Unlabelled' | undefined;
  /** True if the account's own key, or the stored copy of it, may destroy. */
  readonly mayDestroy: boolean;
  readonly sshKeyRegistered: boolean | undefined;
  readonly avoided: Avoided;
  /** Offers that other objects are about to rent. */
  readonly reserved: HeldOffers;
  /** Time by the clock that dates machines. */
  readonly serviceTime: ServiceTime;
  /**
   * True if the breaker has evaluated a list since this object planned to end its machine by limit, price, drift or
   * idleness. Until then the end may be one of many, and is not carried out.
   */
  readonly isEndJudged: boolean;
  /**
   * True if a start of a stopped machine of this login was rejected because the service does not support it.
   */
  readonly startUnsupported: boolean;
}

/**
 * Object in a namespace that the account of another namespace does not allow, or that names no account. Its status
 * has one fixed sentence, whether or not the account exists. `undecided` while the operator reads the namespace.
 */
export type Outsider = 'refused' | 'undecided';

/**
 * The account that an object names. `notReady` has facts if its login was proven before: then teardown works. The
 * view of an outsider contains no information about the account.
 */
export type AccountView = { readonly outsider?: Outsider } & (
  | /** `isUnwatched`: the namespace is not watched, so it is unknown whether the account exists. */
  { readonly state: 'missing'; readonly isUnwatched?: boolean; readonly facts?: undefined }
  | {
      readonly state: 'notReady';
      readonly reason: string;
      readonly message: string;
      /** The outage that causes it. */
      readonly outage?: Outage | undefined;
      readonly facts: AccountFacts | undefined;
    }
  | { readonly state: 'ready'; readonly facts: AccountFacts }
);

/** A machine that the object's status names with a valid claim of this operator. */
export interface OwnedMachine {
  readonly instanceId: string;
  readonly attempt: number;
}

/** A listed machine and whose it is. */
export interface ListedMachine {
  readonly row: Machine;
  readonly ownership: Ownership;
}

/** View of the latest complete list for one object. */
export interface ListView {
  /** Epoch milliseconds at which that list was begun, by the wall clock at that time. */
  readonly begunAt: number;
  /** Start of the list in steady time; minus infinity if unknown. */
  readonly begunSteady: number;
  /** The machine that `status.instanceId` names, as it is believed to be, if it is listed. */
  readonly recorded: Machine | undefined;
  /**
   * Rows with this object's uid in a verified label, lowest id first, without those that another object claims.
   */
  readonly labelled: readonly ListedMachine[];
  /** A machine of the uid in the intent, if the intent names another object. */
  readonly formerSelf: Machine | undefined;
  /** `namespace/name` of the object whose uid the intent names, if that object also exists. */
  readonly copiedFrom: string | undefined;
  /** The machine that `adopt` names. */
  readonly adoptTarget: ListedMachine | undefined;
  /**
   * Rows without a label, or with a changed label of this purchase, that no object records: candidates if labels are
   * not echoed.
   */
  readonly unowned: readonly Machine[];
  /** Rows that may be this purchase or belong to a person: never adopted, and a reason to rent nothing. */
  readonly doubtful: readonly Machine[];
  /** Every listed id. */
  readonly ids: readonly string[];
}

/** Times at which a machine was missing from complete lists, and the result of its own read. */
export interface AbsenceView {
  /** Begin times (steady) of the complete lists since which it is missing, oldest first. */
  readonly lists: readonly number[];
  /** Single read in this reconcile; undefined if it was not made. */
  readonly read: 'absent' | 'present' | 'failed' | undefined;
}

/** Reason why no attempt is made at present. */
export interface Refusal {
  readonly reason: Reason;
  readonly detail: string;
  /** Requirement that no offer of the search satisfies. */
  readonly lacks?: Lack;
  /** The marketplace called a start wrong. */
  readonly isStartInvalid?: true;
}

/** Memory of this process about something that it retries. Times are steady. */
export interface RetryView {
  /** Reason of the last refusal, for people. */
  readonly refusal: Refusal | undefined;
  /** Reason why nothing matched, from an unfiltered search within the last ten minutes. */
  readonly explained: Refusal | undefined;
  /** Consecutive failures of the present attempt, for backoff. */
  readonly failures: number;
  /** Time before which only a destroy is retried. */
  readonly notBefore: number;
  /** Set while a replacement of a working machine is sought: a second search must confirm the first. */
  readonly firstSearch?: FirstSearch | undefined;
}

/** Matching offers of one search reply; each counts only after another search also shows it. */
export interface FirstSearch {
  /** Begin of the search, in steady time. */
  readonly begunAt: number;
  readonly offerIds: readonly string[];
  /** Searches in a row that had no matching offer in common with the search before. */
  readonly misses: number;
}

/** Last notice of an object's position in the queue; by steady time. */
export interface QueueNotice {
  readonly reason: 'Queued';
  /** `labels`: labels are not echoed. `turn`: the rate limit and earlier rentals. */
  readonly cause: 'labels' | 'turn';
  readonly detail: string;
  readonly at: number;
  /** Position as reported: see QueuePosition. */
  readonly ahead: number;
  readonly expectedMs: number;
  readonly isSerial: boolean;
}

/** Identity of an intent: an attempt whose write failed may be repeated under the same number. */
export interface IntentMark {
  readonly attempt: number;
  readonly issuedAt: number;
}

/** A destroy that the service answered with success, remembered by this process. */
export interface DestroyMark {
  readonly instanceId: string;
  /** Reason of the destroy. */
  readonly reason: Reason;
  /** Steady time when the answer came: lists begun after it count. */
  readonly answeredAt: number;
  /** Time by the service's clock in that answer, at which billing ends. */
  readonly endedAt: number;
}

/** Memory of this process about the present machine, as lists showed it. Times are steady. */
export interface WatchedFields {
  /** Start of the present machine's rental. */
  readonly rentedSince?: number | undefined;
  /** Time since which this process has watched the present machine. */
  readonly watchedSince?: number | undefined;
  /** When the machine's last bad spell ended, so that flapping is not written down at each turn. */
  readonly badEndedAt?: number | undefined;
  /** The word that the latest lists show, and since when. */
  readonly seenStatus?: SeenState | undefined;
  /** Last text of the host about loading, and since when it is that. */
  readonly progress?: { readonly text: string | undefined; readonly at: number } | undefined;
  /** When loading last showed progress, by the record. */
  readonly progressOnRecord?: number | undefined;
}

/** Memory of this process about its own requests for an object. Times are steady unless named otherwise. */
export interface MemoryFields {
  /** Time of a person's last reconcile request, on `clock.monotonic()`. */
  readonly askedAt?: number | undefined;
  /** A rental that was answered and whose result is not yet saved. */
  readonly rented?: RentedFacts | undefined;
  /** The newest intent that this process wrote, in case the annotation is removed. */
  readonly intent?: RentalIntent | undefined;
  /** The intent whose call was definitely refused or never sent: it creates no machine. */
  readonly refused?: IntentMark | undefined;
  /** A machine that came too late for its purchase, as a list last showed it. */
  readonly late?: (IntentMark & { readonly row: Machine }) | undefined;
  /**
   * Machines that a list showed as the possible result of a purchase of this object, with their labels by ID. The label
   * is undefined if the market returns none.
   */
  readonly candidates: ReadonlyMap<string, string | undefined>;
  /** Last notice of its position in the queue; undefined if it does not wait. */
  readonly queued?: QueueNotice | undefined;
  readonly destroys: readonly DestroyMark[];
  /** Number of failed destroys in a row. */
  readonly destroyFailures: number;
  /** Before this no destroy is tried again. */
  readonly destroyNotBefore: number;
  /** The deadline of an intent, as it was when this process first saw it. */
  readonly intentDeadline?: { readonly attempt: number; readonly at: number } | undefined;
  /** Time at which this process first observed the object. */
  readonly firstSeenAt: number;
  /** Recorded machine at that time: an earlier process may have requested its start. */
  readonly foundMachine?: string | undefined;
  /**
   * Time at which the last start of the machine was sent that may have been carried out since, or may still be.
   */
  readonly startSentAt?: number | undefined;
  /** When the start that is under way was answered with success. */
  readonly startAnsweredAt?: number | undefined;
  /** Time of the last stop request for the machine. */
  readonly stopAskedAt?: number | undefined;
  /** Time by the service's clock in that answer, from which only the disk bills. */
  readonly stopAnsweredAt?: number | undefined;
  /** Time at which the machine's label was last set. */
  readonly relabelledAt?: number | undefined;
  /** When this process first saw the warning of an end for idleness on the record; undefined without one. */
  readonly idleWarnedAt?: number | undefined;
  /** Time of the next check whether the children are unchanged. */
  readonly childrenDueAt?: number | undefined;
}

/**
 * Memory of this process about an object. It only saves time, so losing it does no harm. The record's own time
 * replaces a missing one.
 */
export interface MemoryView extends RetryView, MemoryFields, WatchedFields {
  /** The search for a machine in place of the present one, which works. */
  readonly replacement: RetryView;
}

/** The single read of a machine in this pass, before the machine is ended or its price is charged for good. */
export interface ConfirmedView {
  readonly instanceId: string;
  readonly read: MachineRead | 'absent' | 'failed';
}

/** State and word that this process saw last, and since when in steady time. */
export interface SeenState extends ShownState {
  readonly since: number;
}

/** Last result of the readiness probe; undefined before the first. */
export interface ProbeView {
  readonly ready: boolean;
  /** Reason why it is not ready. */
  readonly detail: string;
}

/** Fuses of a machine, or the reason why only the operator enforces its `maxLifetime`. */
export type RentalFuse =
  | {
      readonly type: 'fuse';
      readonly fuses: Fuses;
      /** Set if the machine requests the renewals of its lease at the operator's report server. */
      readonly isReporting?: true;
    }
  | { readonly type: 'none'; readonly reason: 'NoRoomForFuse' | 'NoFuse'; readonly detail: string };

/** Settled answer on whether the machine has shown that it can end itself. */
export type SelfEndView =
  | { readonly type: 'proven' }
  /** `noProof`: its fuse runs, and its key reached no marketplace. `noFuse`: no fuse runs. */
  | { readonly type: 'noProof' | 'noFuse' }
  /** The files of the fuse cannot be listed. */
  | { readonly type: 'unread'; readonly detail: string; readonly isMarkets?: true };

/** Result of the program of a run, as its machine shows it. */
export type RunResultView =
  | {
      readonly type: 'found';
      readonly exitCode: number;
      /** Last lines of the log. */
      readonly message?: string | undefined;
      /** Log in the Secret of the object; undefined if it has none. */
      readonly log?: RunStatus['log'];
    }
  /** A round of reads has found nothing. `isAnswered`: false if the marketplace answered none of them. */
  | { readonly type: 'none'; readonly isAnswered: boolean };

/** Lease of the present machine, as known to this process. */
export interface LeaseView {
  /**
   * Time at which the last successful renewal was sent or answered; undefined if the lease is not armed. Monotonic time in
   * memory, steady time in an observation.
   */
  readonly renewedAt?: number;
  /** SHA-256 of the SSH host key that the machine proved at the first renewal, in hex. */
  readonly hostKey: string | undefined;
  /** Set if the machine itself requests the renewals. */
  readonly by?: 'Report';
  /** Failed renewals since the last one that worked. */
  readonly failures: number;
  /** Set if a renewal showed that the machine can end itself. */
  readonly isProven?: true;
  /** Reason for the last failure, without a full stop. */
  readonly detail?: string;
}

/** Idle time of the recorded machine at the threshold of its object, without a reply that shows a use. */
export interface IdleView {
  /** Steady time of the first reply. */
  readonly since: number;
  /** Number of complete lists since then. */
  readonly lists: number;
  /** Share of that time, or of its last `spec.idle.after`, that complete lists cover. */
  readonly covered: number;
}

/** Inputs of a rental from the whole spec and the cluster, or the missing ones. */
export type InputsView =
  | {
      readonly type: 'ready';
      readonly env: Readonly<Record<string, string>>;
      readonly ssh: boolean;
      readonly args: Launch['args'];
      /** Text in its sent form, packed if it is long. */
      readonly onStart: string | undefined;
      readonly imageLogin: RegistryLogin | undefined;
      /** Fuses in `onStart`, or the reason why there are none; absent if none is requested. */
      readonly fuse?: RentalFuse;
    }
  | {
      readonly type: 'problem';
      readonly reason: Reason;
      readonly detail: string;
      /** Retry interval, if it is shorter than usual. */
      readonly retryAfterMs?: number;
    };

/** Answer of one search. */
export type OffersView =
  | {
      readonly type: 'found';
      readonly offers: readonly Offer[];
      /** Begin of the search, in steady time; without it the search was made for this reconcile alone. */
      readonly begunAt?: number;
      /** True for a wider search: each of its offers must itself show that it fits. */
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

/** Admission of a rental in place of the present machine, with the offer that was seen for it. */
export type RoomView = {
  readonly offerId: string;
  readonly pricePerHour: MicroDollars | undefined;
  /** Steady time of the answer. */
  readonly at: number;
} & (
  | { readonly type: 'fits' }
  | {
      readonly type: 'refused';
      readonly reason: TicketRefusal;
      readonly detail: string;
      readonly retryAfterMs: number;
    }
);

/** An offer that was seen for a machine in place of the present one. */
export interface SeenOffer {
  readonly id: string;
  readonly pricePerHour: MicroDollars | undefined;
}

/** Answer of the service to a successful rental. */
export interface RentedFacts {
  readonly attempt: number;
  readonly instanceId: string;
  /** Service clock of the answer, or the operator's without one. */
  readonly answeredAt: number;
  readonly offer: Offer | undefined;
  readonly offerIndex: number | undefined;
  readonly pricePerHour: number | undefined;
  readonly specHash: string | undefined;
  readonly facts?: MachineFacts | undefined;
  readonly fuse?: RentalFuse | undefined;
  readonly image: string | undefined;
  /** The machine's own key, encrypted; undefined if the marketplace issued none. */
  readonly sealedKey?: string | undefined;
}

/** Result of writing the children. */
export type Published =
  | {
      readonly type: 'done';
      readonly bindingName: string;
      /** Reason why the Service has no endpoint, if it has none. */
      readonly unpublished?: string;
    }
  | { readonly type: 'nameTaken'; readonly detail: string }
  | { readonly type: 'failed'; readonly detail: string };

/** Machines of one object, as lists, single reads and other objects show them. */
export interface SeenMachines {
  /** undefined: no complete list has been seen yet. */
  readonly list: ListView | undefined;
  /** Begin times (steady) of the remembered complete lists, oldest first. */
  readonly listsBegun: readonly number[];
  /** Absences by machine id; every relevant machine of this object has an entry. */
  readonly absences: ReadonlyMap<string, AbsenceView>;
  /** Single read of the machine, requested if lists show a change of it; undefined if it was not requested. */
  readonly confirmed: ConfirmedView | undefined;
  /** Single reads in this reconcile, by machine ID, of machines that may be destroyed because of their label. */
  readonly labelReads: ReadonlyMap<string, ConfirmedView['read']>;
  /** True if the key has just proved its login in this reconcile; undefined if it was not verified. */
  readonly loginProven: boolean | undefined;
  readonly probe: ProbeView | undefined;
  /** Undefined without a lease that the operator renews, and while the machine is not known to run. */
  readonly lease: LeaseView | undefined;
  /** Undefined without a fuse, and while it is not settled. */
  readonly selfEnd: SelfEndView | undefined;
  /** Undefined without a run, and until the result of its machine was found or searched in vain. */
  readonly runResult?: RunResultView | undefined;
  /** Undefined without `spec.idle`, while the machine is in use, and before this process has watched it for long enough. */
  readonly idle: IdleView | undefined;
  /** Result of writing the children in this pass; undefined if this pass did not. */
  readonly published: Published | undefined;
  /** An object of the login has an earlier machine of the same offer: the offer was sold twice. */
  readonly isOfferSoldBefore: boolean;
  /** True if an older object names the same machine to adopt. */
  readonly olderClaimant: boolean;
}

/** Inputs of the next purchase of one object, and the last purchase by its annotation. */
export interface SeenPurchase {
  readonly uid: string;
  readonly identity: LabelIdentity;
  readonly intent: IntentReading;
  readonly inputs: InputsView | undefined;
  /** Offers by index of `spec.offers`; read one after another. */
  readonly offers: ReadonlyMap<number, OffersView>;
  /** The search that says why nothing matches; undefined if it was not requested. */
  readonly broadOffers: OffersView | undefined;
  /** Admission of a rental in place of the present machine; undefined if it was not requested. */
  readonly room?: RoomView | undefined;
  /** Position in the queue of its login; undefined if it does not wait, or was called. */
  readonly place?: QueuePosition | undefined;
}

/** Times of one reconcile, and the constants for waits. */
export interface PassTimes {
  /** Epoch milliseconds by the operator's wall clock: for all written times. */
  readonly now: number;
  /** Elapsed time that no jump of the wall clock changes: for everything that is waited for. */
  readonly steadyNow: number;
  readonly constants: PurchaseConstants;
  /** In [0, 1): spreads retries. */
  readonly jitter: number;
}

/** Inputs of one reconcile, by noun, in one frozen value. */
export interface Observed {
  readonly object: GpuInstance;
  readonly machine: SeenMachines;
  readonly account: AccountView;
  /** Text of the SpendBudget that stops the machines of the namespace; undefined if none does. */
  readonly budgetStop?: string | undefined;
  readonly purchase: SeenPurchase;
  readonly clock: PassTimes;
  readonly memory: MemoryView;
}

/** A read that is only made when a rule requests it. */
export type ReadRequest =
  | {
      readonly type: 'offers';
      readonly index: number;
      /**
       * `shared`: the reply of a wider search suffices. `exact`: such a reply had too little information. `broad`:
       * with fewer requirements, only to explain why nothing matches; never waited for.
       */
      readonly scope: 'shared' | 'exact' | 'broad';
      /** The search, and the searches that follow if it finds nothing. */
      readonly queries: readonly [OfferQuery, ...OfferQuery[]];
      /** True if the object found nothing before: searches of others come first. */
      readonly patient?: boolean;
      /** Steady time: only a search that was begun since then will do. */
      readonly since?: number;
    }
  /** Keeps the matching offers of a search until a second one confirms them; undefined removes them. */
  | { readonly type: 'firstSearch'; readonly search: FirstSearch | undefined }
  | { readonly type: 'inputs' }
  /** True if the account admits this rental in place of the present machine. */
  | { readonly type: 'room'; readonly offerId: string; readonly pricePerHour: MicroDollars | undefined }
  /** True if the machine exists, by its single read. */
  | { readonly type: 'machine'; readonly instanceId: string }
  /** A single read of the machine, to compare with lists. */
  | { readonly type: 'confirm'; readonly instanceId: string }
  /** A single read of a machine, before it is destroyed by its label. */
  | { readonly type: 'confirmLabel'; readonly instanceId: string }
  | { readonly type: 'loginProof' };

/** A rental as decided: recorded as an intent first, then sent. */
export interface Purchase {
  readonly attempt: number;
  readonly offer: Offer;
  readonly offerIndex: number;
  /** Total of the offer, disk included. */
  readonly pricePerHour: number | undefined;
  readonly request: RentRequest;
  /** Time by the service's clock, which dates the machine; used in label and intent. */
  readonly issuedAt: number;
  /** Time by the operator's own wall clock: the age of the decision when it is carried out. */
  readonly decidedAt: number;
  readonly specHash: string;
  /** Facts of the machine from the offer. */
  readonly facts?: MachineFacts;
  /** Fuses in the start text of the request, or the reason why there are none. */
  readonly fuse?: RentalFuse | undefined;
  /** Every id listed before the purchase, unless labels are known to be echoed. */
  readonly knownIds: readonly string[] | undefined;
}

/** An effect outside the cluster, or the removal of the finalizer that guards one. */
export type Action =
  | { readonly type: 'rent'; readonly purchase: Purchase }
  | { readonly type: 'destroy'; readonly instanceId: string; readonly reason: Reason }
  | { readonly type: 'stop'; readonly instanceId: string }
  | { readonly type: 'start'; readonly instanceId: string; readonly pricePerHour: number | undefined }
  | { readonly type: 'relabel'; readonly instanceId: string; readonly label: string }
  /** Deletes the object of a finished run. */
  | { readonly type: 'expire' }
  | {
      readonly type: 'retain';
      readonly instanceId: string;
      readonly policy: 'Stop' | 'Retain';
      readonly label: string | undefined;
    }
  | {
      readonly type: 'release';
      readonly note: EventNote;
      /** Time by the service's clock at which billing of the recorded machine ended. */
      readonly endedAt: number;
      /** Ids of machines that the operator destroyed for the object: if one is listed again, the sweep destroys it again. */
      readonly destroyed: readonly string[];
      /** The machine stays, and with it the Secret and Service of an object that was deleted with `--cascade=orphan`. */
      readonly keepsChildren?: true;
    };

/** Fields of a status except conditions and phase. */
export type StatusFields = Omit<GpuInstanceStatus, 'conditions' | 'observedGeneration' | 'phase'>;

/** Condition of an object. */
export interface ConditionState {
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason: Reason;
  readonly message: string;
}

/** Conditions of every status. Any other condition is absent if it does not apply. */
type StandingCondition = 'Ready' | 'Rented' | 'Running';

/** Conditions that a rule sets. A condition that is left out is removed. */
export type Verdict = { readonly [Type in StandingCondition]: ConditionState } & {
  readonly [Type in Exclude<GpuInstanceCondition, StandingCondition>]?: ConditionState;
} & {
  readonly phase: GpuInstancePhase;
  /** True if the container runs, whether or not something answers in it. */
  readonly containerRuns: boolean;
};

/** When to reconcile again. Changes of the object, the account and its rows enqueue it by themselves. */
export interface Requeue {
  /** Maximum time until the requeue. */
  readonly afterMs?: number;
  /** After the next complete list. */
  readonly onList?: boolean;
  /** Requests a list, unless lists fail: it could provide the awaited proof. */
  readonly asksForList?: ListUrgency;
}

/** Record that must exist on the object before its actions are carried out. */
export type Recording =
  /**
   * The object already contains the record: it is being deleted, or its power state or attempt names the intent.
   */
  | { readonly type: 'nothing'; readonly because: 'deleting' | 'powerState' | 'attempt' | 'noAction' }
  | { readonly type: 'status' }
  | { readonly type: 'intent'; readonly purchase: Purchase }
  /** Only the finalizer, before an existing machine is adopted. */
  | { readonly type: 'finalizer' };

/** A whole decision: record, actions, messages and requeue. */
export interface Decision {
  readonly type: 'decision';
  /** The rule that decided, as logs and `explain` name it; empty if no rule was needed. */
  readonly rule: string;
  /** Reason for that rule's decision, for logs and `explain`. */
  readonly because: string;
  readonly record: Recording;
  /** The desired status before the actions; left out if it is unchanged. */
  readonly status?: { readonly fields: StatusFields; readonly verdict: Verdict };
  readonly actions: readonly Action[];
  readonly events: readonly EventNote[];
  readonly avoid: readonly { readonly target: AvoidTarget; readonly reason: Reason }[];
  /** Avoided target of a failure that the spec turned out to have caused. */
  readonly forgiven?: { readonly target: AvoidTarget; readonly reason: Reason };
  /** A machine that came to its end in this decision. */
  readonly ended?: { readonly reason: Reason; readonly cost: MicroDollars };
  /** Destroy marks that are proven and no longer needed. */
  readonly settled: readonly string[];
  /** True if its machine is due to end by limit, price, drift or idleness: the breaker counts such ends. */
  readonly plansEnd?: true;
  /**
   * True while an idle end of its machine is announced: the breaker counts such machines once one of them is due.
   */
  readonly announcesEnd?: true;
  /** A run ended for this reason in this decision. */
  readonly finishesRun?: Reason;
  /** The result of a rental is in this record: memory drops it, and the next rental of the login may go. */
  readonly savesRental?: true;
  /** The refusal ends within moments: the search for a replacement is not over. */
  readonly isMomentary?: true;
  /** Counts for the backoff as a purchase that failed. */
  readonly isFailure?: true;
  /** Wait in the queue of its login, which is no failure, with its notice, if any. */
  readonly waits?: { readonly notice?: QueueNotice };
  /** No attempt is made before that time, unless the spec or the account changes. */
  readonly backOff?: { readonly afterMs: number; readonly refusal: Refusal };
  /** Reason why nothing matches, from an unfiltered search; worth keeping. */
  readonly explained?: Refusal;
  /** No replacement could be rented for the present machine: the next search follows after that time. */
  readonly blocked?: {
    readonly afterMs: number;
    readonly refusal: Refusal;
    readonly explained?: Refusal | undefined;
  };
  readonly requeue: Requeue;
}

/** Content of the children in the cluster about the machine. */
export interface Publication {
  /** Fields of the status for this publication. */
  readonly fields: StatusFields;
  /** True if the machine runs: then Secret and Service are there. */
  readonly serving: boolean;
  /**
   * True if the Service must include the machine: false while its probe fails, or while the group drains it.
   */
  readonly ready: boolean;
}

/**
 * The next step of a reconcile: read further input of a rule, write the children before the status mentions them, or
 * decide.
 */
export type Step =
  | { readonly type: 'read'; readonly requests: readonly ReadRequest[] }
  | { readonly type: 'publish'; readonly publication: Publication }
  | Decision;
