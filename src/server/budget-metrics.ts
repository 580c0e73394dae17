import type { SpendBudget } from '../api/v1alpha1/spend-budget.ts';
import { parseDollars } from '../lib/money.ts';
import type { MetricRegistry } from './metric-registry.ts';

/** The part of an informer that metrics of budgets use. */
export interface BudgetSource {
  list(): readonly SpendBudget[];
}

const LABELS = ['namespace', 'name', 'period'] as const;
const MICRO = 1_000_000;

/** Exposes limit and use of each SpendBudget. A period without a limit has no series. */
export function showBudgets(registry: MetricRegistry, source: BudgetSource): void {
  const limit = registry.gauge({
    name: 'gpu_rental_budget_limit_dollars',
    help: 'Budget of a namespace for an hour or a calendar month (UTC).',
    labelNames: LABELS,
  });
  const used = registry.gauge({
    name: 'gpu_rental_budget_used_dollars',
    help: 'Hourly cost of all machines of the namespace, or the cost of its calendar month, rounded down to a hundredth of the budget.',
    labelNames: LABELS,
  });
  registry.beforeExposition(() => {
    limit.reset();
    used.reset();
    for (const { metadata, spec, status } of source.list()) {
      const of = { namespace: metadata.namespace ?? '', name: metadata.name };
      const periods = [
        ['hour', spec.perHour, status?.pricePerHour],
        ['month', spec.perMonth, status?.spentThisMonth],
      ] as const;
      for (const [period, most, spent] of periods) {
        const [budget, amount] = [parseDollars(most), parseDollars(spent)];
        if (budget === undefined) continue;
        limit.set({ ...of, period }, budget / MICRO);
        if (amount !== undefined) used.set({ ...of, period }, amount / MICRO);
      }
    }
  });
}
