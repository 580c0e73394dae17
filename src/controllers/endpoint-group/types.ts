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

/** Memory of this process about a group; each decision replaces it. A lost memory keeps workers longer and rents nothing. */
export interface MemoryFields {
  readonly scaling: ScalingMemory;
  /** Decision of the last tick, in effect until the next. */
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
      /** True if it prevents every worker from being published, even one that is not rented yet. */
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

/** Result of the last check of the Secrets by which gateway and workers authenticate. */
export interface IdentityView {
  /** Reason why machines of the group get no certificates, and the remedy; undefined if none is known. */
  readonly problem: string | undefined;
  /** True if a check is due and none is in progress. */
  readonly isDue: boolean;
}

/** Workers of an old template that may be replaced, since a machine can be rented for each with the new one. */
export interface TemplateOutlook {
  readonly inHand: Pick<ReadonlySet<string>, 'has'>;
  /** Reason why the next worker cannot be replaced; undefined while unknown. */
  readonly blocked?: { readonly reason: Reason; readonly detail: string } | undefined;
}

/** The GpuInstances of a group. */
export interface SeenWorkers {
  /** Workers that the group controls. */
  readonly all: readonly Worker[];
  /** GpuInstances with the label of the group and without a controller. */
  readonly orphans: readonly GpuInstance[];
  /** Names of existing GpuInstances of any owner, which no new worker can have. */
  readonly takenNames: ReadonlySet<string>;
  /** Undefined if this reconcile requested none: no rented worker is then replaced for the template. */
  readonly outlook?: TemplateOutlook | undefined;
}

/** Reported load, and requests for a worker. */
export interface SeenLoad {
  readonly state: LoadState;
  readonly source: LoadSpeaker;
  /** True if figures of the last tick arrived after its decision. */
  readonly hasLateFigures: boolean;
  /** True if a report or command requests a worker now. */
  readonly wakeAsked: boolean;
}

/** Capabilities of a market on which fields of a group depend. */
export interface MarketCapabilities {
  /** True if its machines can be stopped and started. */
  readonly hasStop: boolean;
  /** True if its offers and machines name the machine and the host that they are of. */
  readonly namesHosts: boolean;
}

/** The account that the template names. */
export interface SeenAccount {
  /** Uids of workers whose account is suspended, or frozen by its breaker. */
  readonly frozen: ReadonlySet<string>;
  /** Maximum price of one machine; undefined if the account sets none. */
  readonly cap?: MicroDollars | undefined;
  /** Undefined while the market is unknown. */
  readonly market?: MarketCapabilities | undefined;
}

/** Access of clients to the group, and the results of the last writes. */
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
  /** Begin of the reconcile, before load was read; the tick interval counts from here. */
  readonly beganAt: number;
  /** True if the load was read for this reconcile. */
  readonly isTick: boolean;
  readonly times: ScalingTimes;
}

/** Input of the decisions of one reconcile. */
export interface Observed {
  readonly group: EndpointGroup;
  readonly workers: SeenWorkers;
  readonly load: SeenLoad;
  readonly account: SeenAccount;
  readonly publication: SeenPublication;
  readonly clock: PassTimes;
  /** Undefined in the first reconcile of a process. */
  readonly memory: MemoryFields | undefined;
  /** Writes whose last attempt the API server rejected. */
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
  /** Gives the worker the text of the template. The worker keeps its machine. */
  | { readonly type: 'update'; readonly worker: Worker }
  | { readonly type: 'delete'; readonly worker: Worker; readonly change?: Change }
  | {
      readonly type: 'reportHostFailure';
      readonly worker: Worker;
      readonly reason: 'CannotStart' | 'WorkersFailing';
      /** True if the host failure counts for other namespaces too. */
      readonly isForAll: boolean;
    }
  | { readonly type: 'adopt'; readonly object: GpuInstance }
  | { readonly type: 'release' };

/** Complete decision of a reconcile: status, endpoints, actions, events and requeue time. */
export interface Decision {
  readonly needsFinalizer: boolean;
  readonly status: EndpointGroupStatus;
  /** Endpoints to publish; undefined if publication stays as it is. */
  readonly endpoints: readonly Endpoint[] | undefined;
  /** True if a check of the gateway's Secrets begins after the record. The actions do not wait for it. */
  readonly checksIdentity: boolean;
  readonly actions: readonly Action[];
  /** Rejected actions that wait for the next tick, and Secrets that cannot be written. */
  readonly waiting: readonly Refusal[];
  /** Target with its rule in one sentence, for the events of changes. */
  readonly because: string;
  /** Events to emit once the decision is recorded. */
  readonly events: readonly EventNote[];
  /** Events of lost and restored services; they are also logged. */
  readonly services: readonly EventNote[];
  readonly memory: MemoryFields;
  readonly requeueAfterMs: number;
}
