import { spendBudgetConditions } from '../api/v1alpha1/conditions.ts';
import type { SpendBudget } from '../api/v1alpha1/spend-budget.ts';
import type { ShownEvent } from './events.ts';
import { nextSteps } from './next-steps.ts';
import { type StatusReport, since, UNSEEN } from './report.ts';

/** Returns the report on a SpendBudget from its own record, at `now` (epoch milliseconds). */
export function budgetReport(budget: SpendBudget, events: readonly ShownEvent[], now: number): StatusReport {
  const { metadata, spec, status } = budget;
  const conditions = status?.conditions ?? [];
  const { action, onExceeded } = spec;
  return {
    object: `gpubudget/${metadata.name}`,
    namespace: metadata.namespace ?? '',
    facts: [
      ...(spec.perMonth ? [['Month', amountText(spec.perMonth, status?.spentThisMonth)] as const] : []),
      ...(spec.perHour ? [['Hour', amountText(spec.perHour, status?.pricePerHour)] as const] : []),
      ['Action', onExceeded === 'Stop' ? `${action}, and Stop when the month is spent` : action],
      ['Age', since(metadata.creationTimestamp, now)],
    ],
    next: nextSteps(conditions, spendBudgetConditions),
    tables: [],
    conditions,
    events,
  };
}

function amountText(most: string, used: string | undefined): string {
  return used === undefined ? UNSEEN : `$${used} of $${most}`;
}
