import type { MetricRegistry } from './metric-registry.ts';

/** Which account something happened with. */
interface AccountName {
  readonly namespace: string;
  readonly name: string;
}

/** What happens to machines, as it happens. Figures that stand still are read at exposition instead. */
export interface RentalMetrics {
  /** One rental call ended. */
  rentalEnded(account: AccountName, outcome: 'rented' | 'refused' | 'unknown'): void;
  /** How many offers were tried until a machine was rented. */
  offersTried(account: AccountName, count: number): void;
  /** From the marketplace's start date to the first time it was seen running. */
  booted(account: AccountName, seconds: number): void;
  /** A machine was given up and another is wanted; `reason` is one of the catalogue. */
  replaced(account: AccountName, reason: string): void;
  /** A machine was confirmed gone. */
  destroyed(account: AccountName): void;
  orphanDestroyed(account: AccountName): void;
}

/** Minutes matter here, from a cached image to a slow pull. */
const BOOT_BUCKETS = [5, 10, 20, 30, 45, 60, 90, 120, 180, 300, 600, 1200, 3600];
const OFFER_BUCKETS = [1, 2, 3, 5, 8, 13, 21, 34];

export function createRentalMetrics(registry: MetricRegistry): RentalMetrics {
  const labelNames = ['namespace', 'account'] as const;
  const rentals = registry.counter({
    name: 'gpu_rental_rentals_total',
    help: 'Rental calls by outcome: rented, refused, or unknown until the list settles it.',
    labelNames: ['namespace', 'account', 'outcome'],
  });
  const offers = registry.histogram(
    { name: 'gpu_rental_offers_tried', help: 'Offers tried until a machine was rented.', labelNames },
    OFFER_BUCKETS,
  );
  const boots = registry.histogram(
    {
      name: 'gpu_rental_boot_seconds',
      help: 'Time from the start date of a machine until it was first seen running.',
      labelNames,
    },
    BOOT_BUCKETS,
  );
  const replacements = registry.counter({
    name: 'gpu_rental_replacements_total',
    help: 'Machines given up for another one, by reason.',
    labelNames: ['namespace', 'account', 'reason'],
  });
  const destroys = registry.counter({
    name: 'gpu_rental_machines_destroyed_total',
    help: 'Machines confirmed gone after this operator destroyed them.',
    labelNames,
  });
  const orphans = registry.counter({
    name: 'gpu_rental_orphans_destroyed_total',
    help: 'Machines of ours destroyed since no GpuInstance claimed them.',
    labelNames,
  });
  const labels = ({ namespace, name }: AccountName) => ({ namespace, account: name });
  return {
    rentalEnded: (account, outcome) => rentals.inc({ ...labels(account), outcome }),
    offersTried: (account, count) => offers.observe(labels(account), count),
    booted: (account, seconds) => boots.observe(labels(account), seconds),
    replaced: (account, reason) => replacements.inc({ ...labels(account), reason }),
    destroyed: (account) => destroys.inc(labels(account)),
    orphanDestroyed: (account) => orphans.inc(labels(account)),
  };
}
