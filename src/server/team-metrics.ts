import type { MicroDollars } from '../lib/money.ts';
import type { MetricRegistry } from './metric-registry.ts';

const MICRO = 1_000_000;

/**
 * Exposes the cost of each namespace in the current UTC month. `costs` returns micro-dollars by namespace; undefined
 * while they are not known: then no series is shown, rather than one that is too low.
 */
export function showTeamCosts(
  registry: MetricRegistry,
  costs: () => ReadonlyMap<string, MicroDollars> | undefined,
): void {
  const month = registry.gauge({
    name: 'gpu_rental_namespace_month_dollars',
    help: 'Cost of the machines of the objects in a namespace in the current UTC month, those of deleted objects included.',
    labelNames: ['namespace'],
  });
  registry.beforeExposition(() => {
    month.reset();
    for (const [namespace, cost] of costs() ?? []) month.set({ namespace }, cost / MICRO);
  });
}
