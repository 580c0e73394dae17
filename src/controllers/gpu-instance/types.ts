import type { OfferSet } from '../../accounts/admission.ts';
import type { Avoided } from '../../accounts/avoid-list.ts';
import type { BreakerState, OpenSpan } from '../../accounts/breaker.ts';
import type { LabelEcho } from '../../accounts/feed-observer.ts';
import type { QueuePosition } from '../../accounts/queue/admission-queue.ts';
import type { ServiceTime } from '../../accounts/service-clock.ts';
import type { AccountLimits } from '../../accounts/spend-limits.ts';
import type { GpuInstance, GpuInstancePhase, GpuInstanceStatus } from '../../api/v1alpha1/gpu-instance.ts';
import type { MachineFacts } from '../../api/v1alpha1/machine-drift.ts';
import type { Reason } from '../../api/v1alpha1/reasons.ts';
import type { AvoidTarget } from '../../instance/avoidance.ts';
import type { MicroDollars } from '../../lib/money.ts';
import type { Secret } from '../../lib/secret.ts';
import type { MarketplaceErrorKind } from '../../marketplace/errors/errors.ts';
import type { Instance } from '../../marketplace/instances/instance.ts';
import type { RentRequest } from '../../marketplace/instances/rent.ts';
import type { Offer, OfferQuery } from '../../marketplace/offers/offers.ts';
import type { PurchaseConstants } from '../../ownership/constants.ts';
import type { IntentReading, RentalIntent } from '../../ownership/intent.ts';
import type { LabelIdentity } from '../../ownership/label.ts';
import type { Login } from '../../ownership/login.ts';
import type { Ownership } from '../../ownership/ownership.ts';
import type { EventNote } from '../../runtime/events.ts';

/** A proven login as far as one object's decisions need it. */
export interface AccountFacts {
  readonly login: Login;
  readonly limits: AccountLimits;
  readonly breaker: BreakerState;
  /** When the breaker was open, in steady time. */
  readonly openSpans: readonly OpenSpan[];
  /** Whether the end of a machine blames its host or machine: not if many failed together. */
  readonly countsHostFailures: boolean;
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
  readonly ids: readonly string[];
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
export interface QueueNotice {
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
  readonly instanceId: string;
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
  readonly queued: QueueNotice | undefined;
  readonly destroys: readonly DestroyMark[];
  /** The deadline of an intent, as it was when this process first saw it. */
  readonly intentDeadline: { readonly attempt: number; readonly at: number } | undefined;
  /** Since when the present machine is held. */
  readonly rentedSince: number | undefined;
  /** When this process first looked at the object. */
  readonly firstSeenAt: number;
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
  readonly seenStatus: { readonly actualStatus: string; readonly since: number } | undefined;
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
  readonly instanceId: string;
  readonly state: 'lost' | 'absent' | 'well' | 'failed';
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
  readonly instanceId: string;
  /** Service clock of the answer, or ours where it named none. */
  readonly answeredAt: number;
  readonly offer: Offer | undefined;
  readonly offerIndex: number | undefined;
  readonly pricePerHour: number | undefined;
  readonly specHash: string | undefined;
  readonly facts?: MachineFacts | undefined;
  readonly image: string | undefined;
  /** The machine's own key, encrypted; undefined where none was given out. */
  readonly sealedKey?: string | undefined;
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

/** Everything one pass needs, in one frozen value. */
export interface Observed {
  /** Milliseconds since the epoch by our wall clock: for everything that is written down. */
  readonly now: number;
  /** Elapsed time that no jump of the wall clock changes: for everything that is waited for. */
  readonly steadyNow: number;
  readonly object: GpuInstance;
  readonly uid: string;
  readonly identity: LabelIdentity;
  readonly constants: PurchaseConstants;
  readonly account: AccountView;
  readonly intent: IntentReading;
  /** undefined: no complete list has been seen yet. */
  readonly list: ListView | undefined;
  /** By machine id; every machine of this object that matters has an entry. */
  readonly absences: ReadonlyMap<string, AbsenceView>;
  /** Begin times (steady) of the remembered complete lists, oldest first. */
  readonly listsBegun: readonly number[];
  readonly memory: MemoryView;
  /** By index of `spec.offers`; asked for one after another. */
  readonly offers: ReadonlyMap<number, OffersView>;
  /** The search that says why nothing matches; undefined if it was not requested. */
  readonly broadOffers: OffersView | undefined;
  /** Where it waits in the queue of its login; undefined if it does not wait, or was called. */
  readonly place?: QueuePosition | undefined;
  readonly inputs: InputsView | undefined;
  /** Whether the key has just proved its login in this pass; undefined where it was not asked. */
  readonly loginProven: boolean | undefined;
  /** A last look at a machine that is to be destroyed as lost; undefined if it was not asked for. */
  readonly confirmed: ConfirmedView | undefined;
  readonly probe: ProbeView | undefined;
  /** How writing the children went in this pass; undefined where it was not tried. */
  readonly published: Published | undefined;
  /** Whether an older object names the same machine to adopt. */
  readonly olderClaimant: boolean;
  /** How long the lease still lasts. */
  readonly leaseRemainingMs: number;
  /** In [0, 1): spreads retries. */
  readonly jitter: number;
}

/** Something only worth reading when a rule asks for it. */
export type ReadRequest =
  | {
      readonly type: 'offers';
      readonly index: number;
      /**
       * `shared`: the reply of a wider search will do. `exact`: such a reply did not tell enough. `broad`: with fewer
       * requirements, only to say why nothing matches: never worth waiting for.
       */
      readonly scope: 'shared' | 'exact' | 'broad';
      /** The search, and after it those that follow if it finds nothing. */
      readonly queries: readonly [OfferQuery, ...OfferQuery[]];
      /** It found nothing before: searches of others go first. */
      readonly patient?: boolean;
    }
  | { readonly type: 'inputs' }
  /** Whether the machine exists, by its single read. */
  | { readonly type: 'machine'; readonly instanceId: string }
  /** Whether the machine is as lost as the list says, by its single read. */
  | { readonly type: 'confirmLost'; readonly instanceId: string }
  | { readonly type: 'loginProof' };

/** A rental as decided: recorded as an intent first, then sent. */
export interface Purchase {
  readonly attempt: number;
  readonly offer: Offer;
  readonly offerIndex: number;
  /** Total of the offer, disk included. */
  readonly pricePerHour: number | undefined;
  readonly request: RentRequest;
  /** By the service's clock, which dates the machine; stands in label and intent. */
  readonly issuedAt: number;
  /** By our own wall clock: how old the decision is when it is carried out. */
  readonly decidedAt: number;
  readonly specHash: string;
  /** What the offer says of the machine. */
  readonly facts?: MachineFacts;
  /** Where labels are not known to come back: every id listed before. */
  readonly knownIds: readonly string[] | undefined;
}

/** An effect outside the cluster, or the removal of the guard that remembers one. */
export type Action =
  | { readonly type: 'rent'; readonly purchase: Purchase }
  | { readonly type: 'destroy'; readonly instanceId: string; readonly reason: Reason }
  | { readonly type: 'stop'; readonly instanceId: string }
  | { readonly type: 'start'; readonly instanceId: string; readonly pricePerHour: number | undefined }
  | { readonly type: 'relabel'; readonly instanceId: string; readonly label: string }
  | {
      readonly type: 'retain';
      readonly instanceId: string;
      readonly policy: 'Stop' | 'Retain';
      readonly label: string | undefined;
    }
  | {
      readonly type: 'release';
      readonly note: EventNote;
      /** The machine stays, and with it the Secret and Service of an object that was deleted with `--cascade=orphan`. */
      readonly keepsChildren?: true;
    };

/** What stands beside conditions and phase in a status. */
export type StatusFields = Omit<GpuInstanceStatus, 'conditions' | 'observedGeneration' | 'phase'>;

/** One statement about an object. */
export interface ConditionState {
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason: Reason;
  readonly message: string;
}

/** What a rule says to people. Conditions that are left out are not there. */
export interface Verdict {
  readonly phase: GpuInstancePhase;
  readonly Ready: ConditionState;
  readonly Rented: ConditionState;
  readonly Booted: ConditionState;
  readonly Reachable: ConditionState;
  readonly WithinBudget: ConditionState;
  readonly Reconciling?: ConditionState;
  readonly Stalled?: ConditionState;
}

/** When to reconcile again. Changes of the object, the account and its rows enqueue it by themselves. */
export interface Requeue {
  /** At the latest after this time. */
  readonly afterMs?: number;
  /** After the next complete list. */
  readonly onList?: boolean;
  /** A list is asked for now, unless lists fail: what is waited for could be proven by it. */
  readonly asksForList?: boolean;
}

/** What has to stand on the object before the actions may be carried out. */
export type Recording =
  /** The object says it already: it is being deleted, its power state or its attempt names what is wanted. */
  | { readonly type: 'nothing'; readonly because: 'deleting' | 'powerState' | 'attempt' | 'noAction' }
  | { readonly type: 'status' }
  | { readonly type: 'intent'; readonly purchase: Purchase }
  /** The guard alone, before an existing machine is taken over. */
  | { readonly type: 'finalizer' };

/** A whole decision: what to record, what to do, what to say and when to look again. */
export interface Decision {
  readonly type: 'decision';
  /** The rule that decided, as logs and `explain` name it. */
  readonly rule: string;
  readonly record: Recording;
  /** The status wanted before the actions; left out where it stays. */
  readonly status?: { readonly fields: StatusFields; readonly verdict: Verdict };
  readonly actions: readonly Action[];
  readonly events: readonly EventNote[];
  readonly avoid: readonly { readonly target: AvoidTarget; readonly reason: Reason }[];
  /** A machine that came to its end in this decision. */
  readonly ended?: { readonly reason: Reason; readonly cost: MicroDollars };
  /** Destroy marks that are proven and need not be remembered any more. */
  readonly settled: readonly string[];
  /** It waits in the queue of its login, which is no failure; and what it says of that, if anything. */
  readonly waits?: { readonly notice?: QueueNotice };
  /** Nothing is tried again before that time, unless the spec or the account changes. */
  readonly backOff?: { readonly afterMs: number; readonly refusal: Refusal };
  /** Why nothing matches, from a search of everything; worth keeping. */
  readonly explained?: Refusal;
  readonly requeue: Requeue;
}

/** What the children in the cluster are to say about the machine. */
export interface Publication {
  /** Fields of the status that goes with it. */
  readonly fields: StatusFields;
  /** Whether the machine runs: then Secret and Service are there. */
  readonly serving: boolean;
  /** Whether the Service is to lead there: not while the machine's probe fails, nor while it is told to go. */
  readonly ready: boolean;
}

/**
 * The next step of a reconcile: read what a rule needs beside, write the children before the status says that they are there, or
 * decide.
 */
export type Step =
  | { readonly type: 'read'; readonly requests: readonly ReadRequest[] }
  | { readonly type: 'publish'; readonly publication: Publication }
  | Decision;
