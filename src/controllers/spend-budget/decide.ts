import {
  budgetOf,
  isHourOver,
  isMonthSpent,
  nextMonth,
  shownSpent,
  shownStep,
} from '../../accounts/budget-rules.ts';
import type { SpendBudgetCondition } from '../../api/v1alpha1/conditions.ts';
import type { Reason } from '../../api/v1alpha1/reasons.ts';
import type { SpendBudget, SpendBudgetStatus } from '../../api/v1alpha1/spend-budget.ts';
import { monthName } from '../../instance/cost.ts';
import { formatDollars, type MicroDollars } from '../../lib/money.ts';
import { formatTime } from '../../lib/time.ts';
import { setConditions } from '../../runtime/conditions.ts';
import type { EventNote } from '../../runtime/events.ts';
import type { Decision, Observed } from './types.ts';

/** Returns status and events of a budget. The accounts enforce it: this controller only reports. */
export function decide(observed: Observed): Decision {
  const status = statusOf(observed);
  return {
    status,
    events: eventsOf(observed.budget, status),
    requeueAfterMs: untilNextFigure(observed),
  };
}

const dollars = (amount: MicroDollars) => formatDollars(Math.max(0, amount));

function statusOf(observed: Observed): SpendBudgetStatus {
  const { budget, spend, now } = observed;
  const { perHour, perMonth, ...limits } = budgetOf(budget);
  const spent = shownSpent({ ...limits, perHour, perMonth }, spend.spentThisMonth);
  return {
    observedGeneration: budget.metadata.generation ?? 0,
    conditions: conditionsOf(observed),
    month: monthName(now),
    spentThisMonth: dollars(spent),
    pricePerHour: dollars(spend.pricePerHour),
    ...(perMonth !== undefined && { leftThisMonth: dollars(perMonth - spent) }),
    ...(perHour !== undefined && { leftPerHour: dollars(perHour - spend.pricePerHour) }),
  };
}

interface State {
  readonly status: 'True' | 'False';
  readonly reason: Reason;
  readonly message: string;
}

function conditionsOf(observed: Observed): NonNullable<SpendBudgetStatus['conditions']> {
  const { budget, now } = observed;
  const exceeded = exceededOf(observed);
  const states: Readonly<Record<SpendBudgetCondition, State | undefined>> = {
    Ready: { status: 'True', reason: 'Ready', message: effectOf(budget) },
    Exceeded: exceeded,
  };
  return [
    ...setConditions({
      previous: budget.status?.conditions,
      desired: Object.entries(states).flatMap(([type, state]) => (state ? [{ type, ...state }] : [])),
      absent: exceeded ? [] : ['Exceeded'],
      generation: budget.metadata.generation,
      now: formatTime(now),
    }),
  ] as NonNullable<SpendBudgetStatus['conditions']>;
}

function effectOf({ spec: { action, onExceeded } }: SpendBudget): string {
  if (action === 'Report') return 'Report only: the budget refuses no rental or start.';
  return onExceeded === 'Stop'
    ? 'Rentals and starts over the budget are refused; machines stop when perMonth is spent.'
    : 'Rentals and starts over the budget are refused; running machines keep running.';
}

function exceededOf({ budget, spend, now }: Observed): State | undefined {
  const limits = budgetOf(budget);
  const { perMonth = 0, perHour = 0 } = limits;
  const exceeded = (message: string) => ({ status: 'True', reason: 'BudgetReached', message }) as const;
  if (isMonthSpent(limits, spend))
    return exceeded(
      `Spent $${dollars(shownSpent(limits, spend.spentThisMonth))} of perMonth $${dollars(perMonth)}. The next month begins at ${formatTime(nextMonth(now))}.`,
    );
  if (isHourOver(limits, spend))
    return exceeded(
      `Machines cost $${dollars(spend.pricePerHour)}/h; perHour is $${dollars(perHour)}. Running machines keep running.`,
    );
  return undefined;
}

function eventsOf({ status }: SpendBudget, { conditions }: SpendBudgetStatus): readonly EventNote[] {
  const isExceeded = ({ type }: { readonly type: string }) => type === 'Exceeded';
  const now = conditions?.find(isExceeded);
  if (!now || status?.conditions?.some(isExceeded)) return [];
  return [{ type: 'Warning', reason: 'BudgetReached', action: 'CountSpending', note: now.message }];
}

const HOUR_MS = 3_600_000;
const MIN_REQUEUE_MS = 10_000;
const MAX_REQUEUE_MS = 600_000;

/** Returns the time until the shown spending changes or the month ends. Other changes enqueue the budget. */
function untilNextFigure({ budget, spend, now }: Observed): number {
  const limits = budgetOf(budget);
  const untilMonth = nextMonth(now) - now;
  const { spentThisMonth, pricePerHour } = spend;
  const step = shownStep(limits);
  const left = step - (spentThisMonth % step);
  // Infinite while no machine is billed.
  const untilStep = Math.ceil((left / pricePerHour) * HOUR_MS);
  return Math.max(1_000, Math.min(untilMonth, MAX_REQUEUE_MS, Math.max(MIN_REQUEUE_MS, untilStep)));
}
