import type { LedgerRecords } from '../../accounts/ledger-keeper.ts';
import type { NamespaceBudgets } from '../../accounts/namespace-budgets.ts';
import type { AccountDirectory } from '../../accounts/registry.ts';
import type { AccountSession } from '../../accounts/session.ts';
import type { AccountStatusWriter } from '../../accounts/status-writer.ts';
import type { GpuInstance } from '../../api/v1alpha1/gpu-instance.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Logger } from '../../lib/logger.ts';
import type { MicroDollars } from '../../lib/money.ts';
import type { Random } from '../../lib/random.ts';
import type { PurchaseConstants } from '../../ownership/constants.ts';
import type { Identity } from '../../ownership/identity.ts';
import type { ReconcileContext } from '../../runtime/controller.ts';
import type { EventNote, EventRecorder } from '../../runtime/events.ts';
import type { AccessReviews } from '../../runtime/kube/access-review.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import type { Informer } from '../../runtime/list-watch/informer.ts';
import type { MachineIndex, ObjectMemory, SteadyClock } from './memory.ts';
import type { IssueIdentity } from './rental-inputs.ts';

/** Dependencies that the reconciles of all objects share. */
export interface SharedDeps {
  readonly clock: Clock;
  readonly steady: SteadyClock;
  readonly random: Random;
  readonly cluster: KubeClient;
  readonly instances: Informer<GpuInstance>;
  readonly accounts: AccountDirectory;
  readonly budgets: Pick<NamespaceBudgets, 'stop'>;
  readonly constants: PurchaseConstants;
  /** This installation's identity; undefined while it is not known. */
  readonly identity: () => Identity | undefined;
  /** Issues the certificate with which the machine of a worker authenticates. */
  readonly issueIdentity?: IssueIdentity | undefined;
  /** Address of the operator's report server as machines reach it; undefined without one. */
  readonly reportUrl?: string | undefined;
  readonly leaseRemainingMs: () => number;
  readonly events: EventRecorder;
  readonly reviews: AccessReviews;
  readonly metrics: GpuInstanceMetrics;
  readonly index: MachineIndex;
  /** Uids of accounts whose service does not support a start. */
  readonly withoutStart: Set<string>;
  /** Records of machines that outlive their objects. */
  readonly ledger: LedgerRecords;
  /** True if machines on private addresses may be published. */
  readonly allowPrivateAddresses: boolean;
}

/** Dependencies of one reconciled object. */
export interface ObjectDeps {
  readonly memory: ObjectMemory;
  readonly log: Logger;
  /** Waits for the marketplace without occupying a worker slot. */
  readonly aside: ReconcileContext['aside'];
  /** Reads the object from the API server; undefined if it was deleted. Rejects with a KubeError. */
  readonly readNow: () => Promise<GpuInstance | undefined>;
  /** Enqueues the object: an answer or a rental slot that it waited for is there. */
  readonly wake: () => void;
  /** Enqueues the object after the next complete list of its login. */
  readonly onNextList: () => void;
}

/** Dependencies of a reconcile outside the object: every step accepts this one value, or part of it. */
export interface Deps extends SharedDeps, ObjectDeps {
  /** Undefined if the login of the account was never proven in this process. */
  readonly session: AccountSession | undefined;
  /** Undefined if there is no such account. */
  readonly statusWriter: AccountStatusWriter | undefined;
  /** Adds the operator's own write to the cache, so that no reconcile uses outdated data. */
  readonly wrote: (object: GpuInstance) => void;
  readonly showEvent: (note: EventNote) => void;
}

/**
 * Metrics of this controller in addition to those of controller-runtime. The server chooses their names and labels.
 */
export interface GpuInstanceMetrics {
  rented(account: string): void;
  /** `kind` is that of a MarketplaceError. */
  rentalFailed(account: string, kind: string): void;
  /** Counts a destroy that was answered with success. */
  destroyed(account: string, reason: string): void;
  /** Sets the dollars per hour of machines whose destroy keeps failing, by object; 0 after it succeeded. */
  destroyFailing(key: string, pricePerHour: MicroDollars): void;
  /** Counts a run that ended for this reason. */
  runFinished(account: string, reason: string): void;
  /** Records the whole cost of one ended machine. */
  ended(account: string, reason: string, cost: MicroDollars): void;
}

/** Reports nothing. */
export const silentInstanceMetrics: GpuInstanceMetrics = {
  rented() {},
  rentalFailed() {},
  destroyed() {},
  destroyFailing() {},
  runFinished() {},
  ended() {},
};
