/** What controllers report; the names behind it are controller-runtime's `controller_runtime_*`. */
export interface ControllerMetrics {
  /** One pass ended. `seconds` is the time that `reconcile` took. */
  reconciled(controller: string, result: ReconcileOutcome, seconds: number): void;
  /** `controller_runtime_reconcile_timeouts_total`: a pass outlived its limit and was told to end. */
  timedOut(controller: string): void;
  activeWorkers(controller: string, count: number): void;
  maxConcurrentReconciles(controller: string, count: number): void;
}

/** A label of `controller_runtime_reconcile_total`. */
export type ReconcileOutcome = 'success' | 'requeue_after' | 'error';

/** What a work queue reports; the names behind it are `workqueue_*`. */
export interface QueueMetrics {
  added(queue: string): void;
  retried(queue: string): void;
  depth(queue: string, priority: number, depth: number): void;
  /** A key was taken after waiting this long. */
  waited(queue: string, seconds: number): void;
  /** A key was worked on for this long. */
  worked(queue: string, seconds: number): void;
}

/** What the Kubernetes client reports; the names behind it are `rest_client_*`. */
export interface RestMetrics {
  /** One request ended. `code` is the HTTP status, or `<error>` where no reply came. */
  requested(request: { method: string; host: string; code: string; seconds: number }): void;
}

/** What list-watch reports. */
export interface InformerMetrics {
  listed(kind: string, items: number, seconds: number): void;
  watchStarted(kind: string): void;
  /** A watch or list ended in an error of this kind and is tried again. */
  failed(kind: string, error: string): void;
  /** The audit found this many cached objects that differ from the API server. Anything but 0 is a fault. */
  diverged(kind: string, count: number): void;
}

/** Figures of leader election: `leader_election_master_status` and `gpu_rental_leader_gap_seconds`. */
export interface LeaderMetrics {
  leading(lease: string, leading: boolean): void;
  /** This process leads, so many seconds after the last renewal by another one; 0 without another. */
  ledAfter(lease: string, seconds: number): void;
}

/** Reports nothing. */
export const silentMetrics: ControllerMetrics & QueueMetrics & RestMetrics & InformerMetrics & LeaderMetrics =
  {
    reconciled() {},
    timedOut() {},
    activeWorkers() {},
    maxConcurrentReconciles() {},
    added() {},
    retried() {},
    depth() {},
    waited() {},
    worked() {},
    requested() {},
    listed() {},
    watchStarted() {},
    failed() {},
    diverged() {},
    leading() {},
    ledAfter() {},
  };
