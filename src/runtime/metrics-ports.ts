/** Metrics of controllers, named `controller_runtime_*` as in controller-runtime. */
export interface ControllerMetrics {
  /** Records the end of a reconcile. `seconds` is the duration of `reconcile`. */
  reconciled(controller: string, result: ReconcileOutcome, seconds: number): void;
  /** Counts `controller_runtime_reconcile_timeouts_total`: a reconcile exceeded its limit and was aborted. */
  timedOut(controller: string): void;
  activeWorkers(controller: string, count: number): void;
  maxConcurrentReconciles(controller: string, count: number): void;
}

/** A label of `controller_runtime_reconcile_total`. */
export type ReconcileOutcome = 'success' | 'requeue_after' | 'error';

/** Metrics of a work queue, named `workqueue_*`. */
export interface QueueMetrics {
  added(queue: string): void;
  retried(queue: string): void;
  depth(queue: string, priority: number, depth: number): void;
  /** Records the wait of a key that was taken. */
  waited(queue: string, seconds: number): void;
  /** Records the processing time of a key. */
  worked(queue: string, seconds: number): void;
}

/** Metrics of the Kubernetes client, named `rest_client_*`. */
export interface RestMetrics {
  /** Records the end of a request. `code` is the HTTP status, or `<error>` without a reply. */
  requested(request: { method: string; host: string; code: string; seconds: number }): void;
}

/** Metrics of list-watch. */
export interface InformerMetrics {
  listed(kind: string, items: number, seconds: number): void;
  watchStarted(kind: string): void;
  /** Records that a watch or list failed with this kind of error and is retried. */
  failed(kind: string, error: string): void;
  /** Records the number of cached objects that differed from the API server in an audit. Any value but 0 is a fault. */
  diverged(kind: string, count: number): void;
}

/** Figures of leader election: `leader_election_master_status` and `gpu_rental_leader_gap_seconds`. */
export interface LeaderMetrics {
  leading(lease: string, leading: boolean): void;
  /** Records that this process leads, with the seconds since the last renewal by another one; 0 without another. */
  ledAfter(lease: string, seconds: number): void;
}

/** Records nothing. */
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
