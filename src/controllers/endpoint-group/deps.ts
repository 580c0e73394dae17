import type { EndpointGroup } from '../../api/v1alpha1/endpoint-group.ts';
import type { GpuInstance } from '../../api/v1alpha1/gpu-instance.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Logger } from '../../lib/logger.ts';
import type { MicroDollars } from '../../lib/money.ts';
import type { ReconcileContext } from '../../runtime/controller.ts';
import type { EventNote } from '../../runtime/events.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import type { Informer } from '../../runtime/list-watch/informer.ts';
import type { OwnedObjects } from '../../runtime/owned-objects.ts';
import type { GroupIdentities } from './identity/identities.ts';
import type { LoadSources } from './load/sources.ts';
import type { LoadStore } from './load/state.ts';
import type { GroupMemory } from './memory.ts';
import type { ScalingTimes } from './times.ts';
import type { MarketCapabilities, TemplateOutlook } from './types.ts';

/** Dependencies that the reconciles of all groups share. */
export interface SharedDeps {
  readonly clock: Clock;
  readonly cluster: KubeClient;
  readonly groups: Informer<EndpointGroup>;
  readonly children: OwnedObjects<EndpointGroup, GpuInstance>;
  readonly loadStore: LoadStore;
  readonly readers: LoadSources;
  readonly times: ScalingTimes;
  readonly identities: GroupIdentities;
  /** True if workers on private addresses may be published. */
  readonly allowPrivateAddresses: boolean;
  /** URL of the gateway for clients; undefined if no option sets it. */
  readonly gatewayUrl?: string | undefined;
  /** True if this process holds the lease for long enough to act. */
  readonly isLeading: () => boolean;
  /** True if the breaker of a worker's account holds back replacement. */
  readonly isFrozen: (worker: GpuInstance) => boolean;
  /** Reports a host failure to the account of a worker; with `isForAll` it counts for other namespaces too. */
  readonly reportHostFailure: (worker: GpuInstance, reason: string, isForAll: boolean) => void;
  /** Searches machines for workers that the template would replace. */
  readonly outlook: {
    ask(request: OutlookRequest, own: Pick<ReconcileContext, 'aside' | 'log'>): Promise<TemplateOutlook>;
    forget(groupUid: string): void;
  };
  /** Returns the maximum price of one machine by the account of a group; undefined if unset or unknown. */
  readonly accountCapOf: (group: EndpointGroup) => MicroDollars | undefined;
  /** Returns the capabilities of the market of a group's account; undefined if they are unknown. */
  readonly marketOf?: (group: EndpointGroup) => MarketCapabilities | undefined;
}

/** Search for machines: the workers that the template would replace, with the template applied. */
export interface OutlookRequest {
  readonly groupUid: string;
  readonly templateHash: string;
  readonly workers: () => Promise<readonly GpuInstance[]>;
  readonly account: Pick<GpuInstance, 'metadata' | 'spec'>;
  readonly wake: () => void;
}

/** Dependencies of the reconcile of one group. Every step receives this value or a part of it. */
export interface Deps extends SharedDeps {
  readonly memory: GroupMemory;
  readonly log: Logger;
  /** Waits for the marketplace without occupying a worker slot. */
  readonly aside: ReconcileContext['aside'];
  /** Enqueues the group. */
  readonly enqueue: () => void;
  readonly showEvent: (note: EventNote) => void;
}
