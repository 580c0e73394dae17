import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import type { Random } from '../lib/random.ts';
import type { KubeClient } from './kube-client.ts';
import type { LeaderMetrics } from './metrics-ports.ts';

/**
 * At most one of several candidates leads, by a coordination.k8s.io/v1 Lease. The algorithm is client-go's: a
 * candidate takes the lease when it has not seen its record change for the lease's duration on its *own* clock, so
 * clocks need not agree, only run at about the same rate. One life: once lost or released it stays so.
 */
export interface LeaderElection {
  /** Resolves when this candidate leads; rejects with the reason of `signal` when it is aborted before. */
  acquire(signal?: AbortSignal): Promise<void>;
  /** Aborted when leadership has ended, by loss or by {@link release}. */
  readonly lost: AbortSignal;
  isLeader(): boolean;
  /**
   * How long no other candidate can lead yet, in milliseconds; 0 when not leading. Counted from before the last
   * renewal was sent, on whichever of both clocks has run further, so that a frozen machine does not overrate it.
   */
  leaseRemainingMs(): number;
  /** The identity in the record seen last; undefined before the first look or where nobody holds it. */
  holder(): string | undefined;
  /** Stops renewing and gives the lease up, so that another candidate can take it at once. */
  release(): Promise<void>;
}

export interface LeaderElectionOptions {
  readonly client: KubeClient;
  readonly lease: { readonly namespace: string; readonly name: string };
  /** Unique per process, e.g. pod name and a random part. */
  readonly identity: string;
  /** Default 15 s. */
  readonly leaseDurationMs?: number | undefined;
  /** How long renewing may fail before the lead is given up. Default 10 s; less than the lease's duration. */
  readonly renewDeadlineMs?: number | undefined;
  /** Default 2 s. */
  readonly retryPeriodMs?: number | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly metrics?: LeaderMetrics | undefined;
}
