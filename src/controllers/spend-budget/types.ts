import type { NamespaceSpend } from '../../accounts/budget-rules.ts';
import type { SpendBudget, SpendBudgetStatus } from '../../api/v1alpha1/spend-budget.ts';
import type { EventNote } from '../../runtime/events.ts';

/** Inputs of one reconcile. */
export interface Observed {
  readonly budget: SpendBudget;
  /** Spending of its namespace, over all accounts. */
  readonly spend: NamespaceSpend;
  /** Epoch milliseconds. */
  readonly now: number;
}

export interface Decision {
  readonly status: SpendBudgetStatus;
  readonly events: readonly EventNote[];
  /** Milliseconds until the shown figures change at the current price, or the month ends. */
  readonly requeueAfterMs: number;
}
