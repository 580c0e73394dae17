import type { MicroDollars } from '../lib/money.ts';
import type { InstanceSource } from './instance-metrics.ts';
import type { MetricRegistry } from './metric-registry.ts';

/**
 * What controllers report of machines as it happens. Accounts are named namespace/name. Figures that stand
 * still are read from the caches at exposition instead.
 */
export interface RentalMetrics {
  rented(account: string): void;
  /** `kind` is that of the marketplace's error. */
  rentalFailed(account: string, kind: string): void;
  /** A destroy was answered with success. */
  destroyed(account: string, reason: string): void;
  /** Dollars per hour of a machine whose destroy keeps failing, by object; 0 once it worked. */
  destroyFailing(key: string, pricePerHour: MicroDollars): void;
  /** What one machine cost from begin to end. */
  ended(account: string, reason: string, cost: MicroDollars): void;
  orphanDestroyed(account: { readonly namespace: string; readonly name: string }): void;
}

/** From cents to what a machine costs that was forgotten for a month. */
const COST_BUCKETS = [0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100, 300, 1000];
const MICRO = 1_000_000;

const RENTALS = {
  name: 'gpu_rental_rentals_total',
  help: 'Rental calls by outcome: rented, or the kind of error that ended them.',
  labelNames: ['namespace', 'account', 'outcome'],
} as const;
const DESTROYS = {
  name: 'gpu_rental_destroys_total',
  help: 'Destroy calls that the marketplace answered with success, by reason.',
  labelNames: ['namespace', 'account', 'reason'],
} as const;
const DESTROY_FAILING = {
  name: 'gpu_rental_destroy_failing_dollars_per_hour',
  help: 'What machines bill whose destroy keeps failing, by object.',
  labelNames: ['namespace', 'name'],
} as const;
const COSTS = {
  name: 'gpu_rental_machine_cost_dollars',
  help: 'What one machine cost from begin to end, by why it ended.',
  labelNames: ['namespace', 'account', 'reason'],
} as const;
const ORPHANS = {
  name: 'gpu_rental_orphans_destroyed_total',
  help: 'Machines of ours destroyed since no GpuInstance claimed them.',
  labelNames: ['namespace', 'account'],
} as const;

export function createRentalMetrics(registry: MetricRegistry): RentalMetrics {
  const rentals = registry.counter(RENTALS);
  const destroys = registry.counter(DESTROYS);
  const failing = registry.gauge(DESTROY_FAILING);
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
    ended: (account, reason, cost) => costs.observe({ ...accountLabels(account), reason }, cost / MICRO),
    orphanDestroyed: ({ namespace, name }) => orphans.inc({ namespace, account: name }),
  };
}

/**
 * A destroy that fails is no trouble any more once its machine is off the record or its object is gone, however that
 * came about: nobody may be woken by a machine that no longer bills.
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

/** Labels of an object named namespace/name. */
export function objectLabels(key: string): { namespace: string; name: string } {
  const slash = key.indexOf('/');
  return { namespace: key.slice(0, Math.max(0, slash)), name: key.slice(slash + 1) };
}
