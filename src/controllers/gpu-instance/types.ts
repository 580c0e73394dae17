import type { QueuePosition } from '../../accounts/queue/admission-queue.ts';
import type { GpuInstance, GpuInstancePhase, GpuInstanceStatus } from '../../api/v1alpha1/gpu-instance.ts';
import type { MachineFacts } from '../../api/v1alpha1/machine-drift.ts';
import type { Reason } from '../../api/v1alpha1/reasons.ts';
import type { AvoidTarget } from '../../instance/avoidance.ts';
import type { MicroDollars } from '../../lib/money.ts';
import type { RentRequest } from '../../marketplace/instances/rent.ts';
import type { Offer, OfferQuery } from '../../marketplace/offers/offers.ts';
import type { PurchaseConstants } from '../../ownership/constants.ts';
import type { IntentReading } from '../../ownership/intent.ts';
import type { LabelIdentity } from '../../ownership/label.ts';
import type {
  AbsenceView,
  AccountView,
  ConfirmedView,
  InputsView,
  ListView,
  MemoryView,
  OffersView,
  ProbeView,
  Published,
  QueueWord,
  Refusal,
} from './views.ts';

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
  readonly absences: ReadonlyMap<number, AbsenceView>;
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
  | { readonly type: 'machine'; readonly instanceId: number }
  /** Whether the machine is as lost as the list says, by its single read. */
  | { readonly type: 'confirmLost'; readonly instanceId: number }
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
  readonly knownIds: readonly number[] | undefined;
}

/** An effect outside the cluster, or the removal of the guard that remembers one. */
export type Action =
  | { readonly type: 'rent'; readonly purchase: Purchase }
  | { readonly type: 'destroy'; readonly instanceId: number; readonly reason: Reason }
  | { readonly type: 'stop'; readonly instanceId: number }
  | { readonly type: 'start'; readonly instanceId: number; readonly pricePerHour: number | undefined }
  | { readonly type: 'relabel'; readonly instanceId: number; readonly label: string }
  | {
      readonly type: 'retain';
      readonly instanceId: number;
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
export interface Says {
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason: Reason;
  readonly message: string;
}

/** What a rule says to people. Conditions that are left out are not there. */
export interface Verdict {
  readonly phase: GpuInstancePhase;
  readonly Ready: Says;
  readonly Rented: Says;
  readonly Booted: Says;
  readonly Reachable: Says;
  readonly WithinBudget: Says;
  readonly Reconciling?: Says;
  readonly Stalled?: Says;
}

/** An event to be shown beside the object. */
export interface EventNote {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly action: string;
  readonly note: string;
}

/** When to look again. Changes of the object, the account and its rows come by themselves. */
export interface Look {
  /** At the latest after this time. */
  readonly afterMs?: number;
  /** After the next complete list. */
  readonly onList?: boolean;
  /** A write met a newer version: the copy of the object is not to be believed next time. */
  readonly lostRace?: boolean;
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
  readonly settled: readonly number[];
  /** It waits in the queue of its login, which is no failure; and what it says of that, if anything. */
  readonly waits?: { readonly word?: QueueWord };
  /** Nothing is tried again before that time, unless the spec or the account changes. */
  readonly backOff?: { readonly afterMs: number; readonly refusal: Refusal };
  /** Why nothing matches, from a search of everything; worth keeping. */
  readonly explained?: Refusal;
  readonly look: Look;
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
