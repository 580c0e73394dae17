import type { EndpointGroup, EndpointGroupStatus } from '../../api/v1alpha1/endpoint-group.ts';
import type { GpuInstance } from '../../api/v1alpha1/gpu-instance.ts';
import type { Reason } from '../../api/v1alpha1/reasons.ts';
import type { MicroDollars } from '../../lib/money.ts';
import type { EventNote } from '../../runtime/events.ts';
import type { ScalingDecision, ScalingMemory } from './autoscale/bounds.ts';
import type { Change } from './autoscale/plan.ts';
import type { LoadState } from './load/state.ts';
import type { LoadSpeaker } from './load/view.ts';
import type { Endpoint } from './publish/endpoints.ts';
import type { ScalingTimes } from './times.ts';
import type { DesiredRole, Worker } from './workers/worker.ts';

/** Memory of this process about a group; each decision replaces it. A loss keeps workers longer, and spends nothing. */
export interface MemoryFields {
  readonly scaling: ScalingMemory;
  /** The decision of the last tick: it holds until the next. */
  readonly decision: ScalingDecision | undefined;
  readonly nextTickAt: number;
  /** Hot workers when the last tick began. */
  readonly hotAtTick: number;
  /** Time since which waiting has looked longer than the target although the capacity suffices. */
  readonly slowSince: number | undefined;
}

/** Result of the last write of Service and slices. */
export type Published =
  | { readonly type: 'done' }
  | {
      readonly type: 'problem';
      readonly reason: 'NameTaken' | 'NotPermitted';
      readonly detail: string;
      /** It keeps every worker from being published, even one that is not rented yet. */
      readonly forAll?: true;
    };

/** Result of the last write of the list of ready workers. */
export type PublishedFile =
  /** Not tried yet by this process. */
  | { readonly type: 'unknown' }
  /** The group has no list. */
  | { readonly type: 'none' }
  | {
      readonly type: 'written';
      /** Ready workers that the format cannot list. */
      readonly unlisted: number;
      /** Ready workers for which the list has no room. */
      readonly tooMany: number;
    }
  | Extract<Published, { type: 'problem' }>;

/** A write that the API server refused, with the reason. The next tick tries it again. */
export interface Refusal {
  /** Key of the action, from `actionKey`. */
  readonly action: string;
  readonly detail: string;
}

/** The Secrets by which gateway and workers of a group prove themselves, as their last check found them. */
export interface IdentityView {
  /** Reason why machines of the group get no certificates, and the remedy; undefined if none is known. */
  readonly problem: string | undefined;
  /** A check is due and none is under way. */
  readonly isDue: boolean;
}

/** Workers of an old template that may end, since another machine can be rented for each by the new one. */
export interface TemplateOutlook {
  readonly inHand: Pick<ReadonlySet<string>, 'has'>;
  /** Reason for which the next worker may not end; undefined while unknown. */
  readonly blocked?: { readonly reason: Reason; readonly detail: string } | undefined;
}

/** The GpuInstances of a group. */
export interface SeenWorkers {
  /** Those that the group controls. */
  readonly all: readonly Worker[];
  /** GpuInstances with the label of the group and without a controller. */
  readonly orphans: readonly GpuInstance[];
  /** Names of existing GpuInstances of any owner, which no new worker can have. */
  readonly takenNames: ReadonlySet<string>;
  /** Undefined if it was not requested in this reconcile: then no worker with a machine ends for the template. */
  readonly outlook?: TemplateOutlook | undefined;
}

/** Reported load, and requests for a worker. */
export interface SeenLoad {
  readonly state: LoadState;
  readonly source: LoadSpeaker;
  /** Figures of the last tick came after its decision. */
  readonly hasLateFigures: boolean;
  /** A report or command asked for a worker now. */
  readonly wakeAsked: boolean;
}

/** The account that the template names. */
export interface SeenAccount {
  /** Uids of workers whose account is suspended, or frozen by its breaker. */
  readonly frozen: ReadonlySet<string>;
  /** Maximum price of one machine; undefined if the account sets none. */
  readonly cap?: MicroDollars | undefined;
  /** False if its market cannot stop machines; undefined if that is unknown. */
  readonly hasStop?: boolean | undefined;
}

/** How clients reach the group, and the results of the last writes of it. */
export interface SeenPublication {
  readonly service: Published;
  /** The list of ready workers for another router. */
  readonly file?: PublishedFile | undefined;
  readonly identity: IdentityView;
  /** URL of the gateway for clients; undefined if no option sets it. */
  readonly gatewayUrl?: string | undefined;
  /** True if private addresses may be published. */
  readonly allowPrivateAddresses: boolean;
}

/** Times of one reconcile, in milliseconds since the epoch. */
export interface PassTimes {
  readonly now: number;
  /** Begin of the reconcile, before load was read: ticks keep their distance from it. */
  readonly beganAt: number;
  /** True if the load was read for this reconcile. */
  readonly isTick: boolean;
  readonly times: ScalingTimes;
}

/** Everything one reconcile decides by, by noun. */
export interface Observed {
  readonly group: EndpointGroup;
  readonly workers: SeenWorkers;
  readonly load: SeenLoad;
  readonly account: SeenAccount;
  readonly publication: SeenPublication;
  readonly clock: PassTimes;
  /** Undefined in the first reconcile of a process. */
  readonly memory: MemoryFields | undefined;
  /** Writes that were refused when they were last tried. */
  readonly refused: readonly Refusal[];
}

/** Desired state of a worker. */
export interface WorkerOrder {
  readonly powerState: 'Running' | 'Stopped';
  readonly desiredRole: DesiredRole;
  readonly drainSince: number | undefined;
  readonly wokenAt: number | undefined;
}

export type Action =
  /** Creates the worker with the name of this number. */
  | {
      readonly type: 'create';
      readonly desiredRole: 'Hot' | 'Cold';
      readonly ordinal: number;
      /** Maximum price of each alternative. */
      readonly maxPricePerHour?: MicroDollars | undefined;
      /** The chosen change that the action brings about, for events; undefined if the action continues an earlier one. */
      readonly change?: Change;
    }
  | { readonly type: 'order'; readonly worker: Worker; readonly order: WorkerOrder; readonly change?: Change }
  /** The worker gets the text of the template and keeps its machine. */
  | { readonly type: 'update'; readonly worker: Worker }
  | { readonly type: 'delete'; readonly worker: Worker; readonly change?: Change }
  | {
      readonly type: 'reportHostFailure';
      readonly worker: Worker;
      readonly reason: 'CannotStart' | 'WorkersFailing';
      /** The host may count for other namespaces too, not for that of the group alone. */
      readonly isForAll: boolean;
    }
  | { readonly type: 'adopt'; readonly object: GpuInstance }
  | { readonly type: 'release' };

/** A whole decision: what to record, what to publish, what to do and when to look again. */
export interface Decision {
  readonly needsFinalizer: boolean;
  readonly status: EndpointGroupStatus;
  /** Endpoints to publish; undefined if nothing is published or withdrawn any more. */
  readonly endpoints: readonly Endpoint[] | undefined;
  /** True if a check of the gateway's Secrets begins after the record. The actions do not wait for it. */
  readonly checksIdentity: boolean;
  readonly actions: readonly Action[];
  /** Refused actions that are decided as before and wait for the next tick, and Secrets that cannot be written. */
  readonly waiting: readonly Refusal[];
  /** The desired numbers of workers and the rule that set them, in one sentence, for the events of changes. */
  readonly because: string;
  /** Events to emit once the decision is recorded. */
  readonly events: readonly EventNote[];
  /** Events of services that the group needs and lost, or has again; they are also logged. */
  readonly services: readonly EventNote[];
  readonly memory: MemoryFields;
  readonly requeueAfterMs: number;
}
