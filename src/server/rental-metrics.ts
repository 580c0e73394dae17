import type { MicroDollars } from '../lib/money.ts';
import type { InstanceSource } from './instance-metrics.ts';
import type { MetricRegistry } from './metric-registry.ts';

/**
 * Receives events of machines from controllers. Accounts are named namespace/name. Gauges are read from the caches at
 * exposition instead.
 */
export interface RentalMetrics {
  rented(account: string): void;
  /** Counts a failed rent call; `kind` is that of the marketplace's error. */
  rentalFailed(account: string, kind: string): void;
  /** Counts a destroy that was answered with success. */
  destroyed(account: string, reason: string): void;
  /** Sets the dollars per hour of a machine whose destroy keeps failing, by object; 0 after it succeeded. */
  destroyFailing(key: string, pricePerHour: MicroDollars): void;
  /** Counts a run that ended for this reason. */
  runFinished(account: string, reason: string): void;
  /** Observes the lifetime cost of a machine. */
  ended(account: string, reason: string, cost: MicroDollars): void;
  orphanDestroyed(account: { readonly namespace: string; readonly name: string }): void;
}

/** Buckets from cents to the cost of a machine that was forgotten for a month. */
const COST_BUCKETS = [0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100, 300, 1000];
const MICRO = 1_000_000;

const RENTALS = {
  name: 'gpu_rental_rentals_total',
  help: 'Rent calls by outcome: rented, or the kind of error.',
  labelNames: ['namespace', 'account', 'outcome'],
} as const;
const DESTROYS = {
  name: 'gpu_rental_destroys_total',
  help: 'Successful destroy calls, by reason.',
  labelNames: ['namespace', 'account', 'reason'],
} as const;
const DESTROY_FAILING = {
  name: 'gpu_rental_destroy_failing_dollars_per_hour',
  help: 'Hourly cost of machines whose destroy keeps failing, by object.',
  labelNames: ['namespace', 'name'],
} as const;
const RUNS = {
  name: 'gpu_rental_runs_finished_total',
  help: 'Finished runs (GpuInstances with spec.completion), by the reason of their end.',
  labelNames: ['namespace', 'account', 'reason'],
} as const;
const COSTS = {
  name: 'gpu_rental_machine_cost_dollars',
  help: 'Lifetime cost of a machine, by the reason of its end.',
  labelNames: ['namespace', 'account', 'reason'],
} as const;
const ORPHANS = {
  name: 'gpu_rental_orphans_destroyed_total',
  help: 'Machines rented by this operator and destroyed because no GpuInstance claimed them.',
  labelNames: ['namespace', 'account'],
} as const;

export function createRentalMetrics(registry: MetricRegistry): RentalMetrics {
  const rentals = registry.counter(RENTALS);
  const destroys = registry.counter(DESTROYS);
  const failing = registry.gauge(DESTROY_FAILING);
  const runs = registry.counter(RUNS);
  const costs = registry.histogram(COSTS, COST_BUCKETS);
  const orphans = registry.counter(ORPHANS);
  return {
    rented: (account) => rentals.inc({ ...accountLabels(account), outcome: 'rented' }),
    rentalFailed: (account, kind) => rentals.inc({ ...accountLabels(account), outcome: kind }),
    destroyed: (account, reason) => destroys.inc({ ...accountLabels(account), reason }),
    destroyFailing(key, pricePerHour) {
      const labels = objectLabels(key);
      if (pricePerHour > 0) failing.set(labels, pricePerHour / MICRO);
      else failing.remove(labels);
    },
    runFinished: (account, reason) => runs.inc({ ...accountLabels(account), reason }),
    ended: (account, reason, cost) => costs.observe({ ...accountLabels(account), reason }, cost / MICRO),
    orphanDestroyed: ({ namespace, name }) => orphans.inc({ namespace, account: name }),
  };
}

/**
 * Clears a failing destroy when its machine is off the record or its object is deleted, by whatever means: no alert may
 * fire for a machine that no longer bills.
 */
export function endFailingDestroys(
  metrics: Pick<RentalMetrics, 'destroyFailing'>,
  source: Pick<InstanceSource, 'onChange'>,
): void {
  source.onChange((change) => {
    const { instanceId } = change.object.status ?? {};
    const isOver =
      change.type === 'deleted' ||
      (change.type === 'updated' && change.previous.status?.instanceId !== instanceId);
    if (isOver) metrics.destroyFailing(change.key, 0);
  });
}

function accountLabels(key: string): { namespace: string; account: string } {
  const { namespace, name } = objectLabels(key);
  return { namespace, account: name };
}

/** Returns the labels of an object named namespace/name. */
export function objectLabels(key: string): { namespace: string; name: string } {
  const slash = key.indexOf('/');
  return { namespace: key.slice(0, Math.max(0, slash)), name: key.slice(slash + 1) };
}
