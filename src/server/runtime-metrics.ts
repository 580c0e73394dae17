import packageJson from '../../package.json' with { type: 'json' };
import type {
  ControllerMetrics,
  InformerMetrics,
  LeaderMetrics,
  QueueMetrics,
  RestMetrics,
} from '../runtime/metrics-ports.ts';
import type { WorkQueue } from '../runtime/work-queue.ts';
import type { MetricRegistry } from './metric-registry.ts';

/** The ports of the runtime under controller-runtime's names, labels and buckets, so that its dashboards work. */
export type RuntimeMetrics = ControllerMetrics &
  QueueMetrics &
  RestMetrics &
  InformerMetrics &
  LeaderMetrics & {
    /** Exposes how long the keys of a queue have been processed. */
    watchQueue(name: string, queue: WorkQueue): void;
  };

/** kubernetes-sigs/controller-runtime:pkg/internal/controller/metrics/metrics.go */
export const RECONCILE_BUCKETS = [
  0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.25, 1.5,
  1.75, 2, 2.5, 3, 3.5, 4, 4.5, 5, 6, 7, 8, 9, 10, 15, 20, 25, 30, 40, 50, 60,
];
/** kubernetes-sigs/controller-runtime:pkg/metrics/workqueue.go: 10 ns, times 10, twelve times. */
export const QUEUE_BUCKETS = [1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 0.01, 0.1, 1, 10, 100, 1000];
/** kubernetes/component-base:metrics/prometheus/restclient/metrics.go */
export const REST_BUCKETS = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60];

const RESULTS = ['success', 'error', 'requeue', 'requeue_after'] as const;

export function createRuntimeMetrics(registry: MetricRegistry): RuntimeMetrics {
  return {
    ...controllerMetrics(registry),
    ...queueMetrics(registry),
    ...restMetrics(registry),
    ...informerMetrics(registry),
    ...leaderMetrics(registry),
  };
}

const ofController = (name: string, help: string) =>
  ({
    name: `controller_runtime_${name}`,
    help: `${help} per controller`,
    labelNames: ['controller'],
  }) as const;

const CONTROLLER = {
  total: {
    name: 'controller_runtime_reconcile_total',
    help: 'Total number of reconciliations per controller',
    labelNames: ['controller', 'result'],
  },
  errors: ofController('reconcile_errors_total', 'Total number of reconciliation errors'),
  terminal: ofController('terminal_reconcile_errors_total', 'Total number of terminal reconciliation errors'),
  panics: ofController('reconcile_panics_total', 'Total number of reconciliation panics'),
  timeouts: ofController('reconcile_timeouts_total', 'Total number of reconciliation timeouts'),
  time: ofController('reconcile_time_seconds', 'Length of time per reconciliation'),
  most: ofController('max_concurrent_reconciles', 'Maximum number of concurrent reconciles'),
  active: ofController('active_workers', 'Number of currently used workers'),
} as const;

/**
 * Creates the families of controllers. Terminal errors and panics stay at 0: they exist for dashboards of
 * controller-runtime.
 */
function controllerMetrics(registry: MetricRegistry): ControllerMetrics {
  const total = registry.counter(CONTROLLER.total);
  const errors = registry.counter(CONTROLLER.errors);
  const terminal = registry.counter(CONTROLLER.terminal);
  const panics = registry.counter(CONTROLLER.panics);
  const timeouts = registry.counter(CONTROLLER.timeouts);
  const time = registry.histogram(CONTROLLER.time, RECONCILE_BUCKETS);
  const most = registry.gauge(CONTROLLER.most);
  const active = registry.gauge(CONTROLLER.active);
  return {
    reconciled(controller, outcome, seconds) {
      total.inc({ controller, result: outcome });
      time.observe({ controller }, seconds);
      if (outcome === 'error') errors.inc({ controller });
    },
    timedOut: (controller) => timeouts.inc({ controller }),
    activeWorkers: (controller, count) => active.set({ controller }, count),
    maxConcurrentReconciles(controller, count) {
      most.set({ controller }, count);
      active.set({ controller }, 0);
      for (const result of RESULTS) total.inc({ controller, result }, 0);
      for (const family of [errors, terminal, panics, timeouts]) family.inc({ controller }, 0);
    },
  };
}

const ofQueue = (name: string, help: string) =>
  ({ name: `workqueue_${name}`, help, labelNames: ['name', 'controller'] }) as const;

const QUEUE = {
  depth: {
    name: 'workqueue_depth',
    help: 'Current depth of workqueue by workqueue and priority',
    labelNames: ['name', 'controller', 'priority'],
  },
  adds: ofQueue('adds_total', 'Total number of adds handled by workqueue'),
  retries: ofQueue('retries_total', 'Total number of retries handled by workqueue'),
  waited: ofQueue(
    'queue_duration_seconds',
    'How long in seconds an item stays in workqueue before being requested',
  ),
  worked: ofQueue('work_duration_seconds', 'How long in seconds processing an item from workqueue takes.'),
  unfinished: ofQueue(
    'unfinished_work_seconds',
    'How many seconds of work has been done that is in progress and has not been observed by work_duration.',
  ),
  longest: ofQueue(
    'longest_running_processor_seconds',
    'How many seconds has the longest running processor for workqueue been running.',
  ),
} as const;

function queueMetrics(registry: MetricRegistry): QueueMetrics & Pick<RuntimeMetrics, 'watchQueue'> {
  const depth = registry.gauge(QUEUE.depth);
  const adds = registry.counter(QUEUE.adds);
  const retries = registry.counter(QUEUE.retries);
  const waited = registry.histogram(QUEUE.waited, QUEUE_BUCKETS);
  const worked = registry.histogram(QUEUE.worked, QUEUE_BUCKETS);
  const unfinished = registry.gauge(QUEUE.unfinished);
  const longest = registry.gauge(QUEUE.longest);
  const both = (name: string) => ({ name, controller: name });
  return {
    added: (queue) => adds.inc(both(queue)),
    retried: (queue) => retries.inc(both(queue)),
    depth: (queue, priority, count) => depth.set({ ...both(queue), priority: String(priority) }, count),
    waited: (queue, seconds) => waited.observe(both(queue), seconds),
    worked: (queue, seconds) => worked.observe(both(queue), seconds),
    watchQueue(name, queue) {
      registry.beforeExposition(() => {
        const { totalSeconds, longestSeconds } = queue.unfinishedWork();
        unfinished.set(both(name), totalSeconds);
        longest.set(both(name), longestSeconds);
      });
    },
  };
}

function restMetrics(registry: MetricRegistry): RestMetrics {
  const requests = registry.counter({
    name: 'rest_client_requests_total',
    help: 'Number of HTTP requests, partitioned by status code, method, and host.',
    labelNames: ['code', 'method', 'host'],
  });
  const seconds = registry.histogram(
    {
      name: 'rest_client_request_duration_seconds',
      help: 'Request latency in seconds. Broken down by verb, and host.',
      labelNames: ['verb', 'host'],
    },
    REST_BUCKETS,
  );
  return {
    requested(request) {
      const { method, host, code } = request;
      requests.inc({ code, method, host });
      seconds.observe({ verb: method, host }, request.seconds);
    },
  };
}

function informerMetrics(registry: MetricRegistry): InformerMetrics {
  const labelNames = ['kind'] as const;
  const lists = registry.counter({
    name: 'gpu_rental_informer_lists_total',
    help: 'Complete lists read by list-watch.',
    labelNames,
  });
  const watches = registry.counter({
    name: 'gpu_rental_informer_watches_total',
    help: 'Watches begun by list-watch.',
    labelNames,
  });
  const failures = registry.counter({
    name: 'gpu_rental_informer_failures_total',
    help: 'Lists and watches that failed, by kind of error.',
    labelNames: ['kind', 'error'],
  });
  const divergences = registry.counter({
    name: 'gpu_rental_informer_divergences_total',
    help: 'Cached objects that differed from the API server in an audit. Any value but 0 is a fault.',
    labelNames,
  });
  return {
    listed(kind) {
      lists.inc({ kind });
      divergences.inc({ kind }, 0);
    },
    watchStarted: (kind) => watches.inc({ kind }),
    failed: (kind, error) => failures.inc({ kind, error }),
    diverged: (kind, count) => divergences.inc({ kind }, count),
  };
}

function leaderMetrics(registry: MetricRegistry): LeaderMetrics {
  const leading = registry.gauge({
    name: 'leader_election_master_status',
    help: 'Gauge of if the reporting system is master of the relevant lease, 0 indicates backup, 1 indicates master.',
    labelNames: ['name'],
  });
  const gap = registry.gauge({
    name: 'gpu_rental_leader_gap_seconds',
    help: 'Seconds from the last lease renewal by another process until this one led; 0 if it was the first.',
    labelNames: ['name'],
  });
  return {
    leading: (lease, isLeading) => leading.set({ name: lease }, isLeading ? 1 : 0),
    ledAfter: (lease, seconds) => gap.set({ name: lease }, seconds),
  };
}

/** Node's type of an error that no handler caught. */
export type FaultKind = 'unhandledRejection' | 'uncaughtException';

/** Counts errors that no handler caught. */
export interface ProcessMetrics {
  faulted(kind: FaultKind): void;
}

const FAULTS = {
  name: 'gpu_rental_process_faults_total',
  help: 'Uncaught errors: the process survives an unhandledRejection; an uncaughtException ends it in order.',
  labelNames: ['kind'],
} as const;

const BUILD_INFO = {
  name: 'gpu_rental_build_info',
  help: '1, with the version in labels. Joined by job and instance, it tells series of this process from those of others.',
  labelNames: ['version', 'node', 'component'],
} as const;

/**
 * Registers the families of every process of this project: `process_*`, `nodejs_*`, its version, and its faults. Both
 * kinds of fault exist from the start, so that the first one is an increase.
 */
export function createProcessMetrics(
  registry: MetricRegistry,
  component: 'operator' | 'endpoint-picker',
): ProcessMetrics {
  registry.collectProcess();
  registry.gauge(BUILD_INFO).set({ version: packageJson.version, node: process.versions.node, component }, 1);
  const faults = registry.counter(FAULTS);
  for (const kind of ['unhandledRejection', 'uncaughtException'] as const) faults.inc({ kind }, 0);
  return { faulted: (kind) => faults.inc({ kind }) };
}
