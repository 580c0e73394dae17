import type { SpendBudget } from '../api/v1alpha1/spend-budget.ts';
import { monthName, monthStart } from '../instance/cost.ts';
import { formatDollars, type MicroDollars, parseDollars } from '../lib/money.ts';
import { formatTime } from '../lib/time.ts';

/** Amounts and actions of a SpendBudget. */
export interface Budget {
  readonly name: string;
  readonly perHour: MicroDollars | undefined;
  readonly perMonth: MicroDollars | undefined;
  /** False if it only reports. */
  readonly blocks: boolean;
  /** True if running machines stop when the month has cost `perMonth`. */
  readonly stops: boolean;
}

/** Returns what rules use of a SpendBudget. */
export function budgetOf({ metadata, spec }: SpendBudget): Budget {
  const blocks = spec.action === 'Block';
  return {
    name: metadata.name,
    perHour: parseDollars(spec.perHour),
    perMonth: parseDollars(spec.perMonth),
    blocks,
    stops: blocks && spec.onExceeded === 'Stop',
  };
}

/** Spending of a namespace at one moment, over all accounts. */
export interface NamespaceSpend {
  /** In the UTC month, with ended machines. */
  readonly spentThisMonth: MicroDollars;
  /** Machines that bill, and rentals and starts in progress. */
  readonly pricePerHour: MicroDollars;
  /** Amounts by which listed prices exceed the recorded ones without confirmation: only admission counts them. */
  readonly unconfirmedThisMonth: MicroDollars;
  readonly unconfirmedPerHour: MicroDollars;
}

/** Refusal of a rental or a start by a budget. */
export interface BudgetRefusal {
  readonly message: string;
  readonly retryAfterMs: number;
}

interface Asked {
  readonly spend: NamespaceSpend;
  /** Hourly price of the requested machine, or its maximum if it is unknown. */
  readonly pricePerHour: MicroDollars;
  /** Epoch milliseconds. */
  readonly now: number;
}

/** Retry interval: soon after another machine has ended, without a hot loop. */
const ASK_AGAIN_MS = 10_000;
/** Only a budget edit or the next month allows more spending. Both wake the object. */
const MONTH_AGAIN_MS = 60_000;

/**
 * Returns the refusal by the first budget that leaves no room for one more machine at that price. Every budget that
 * blocks has to agree.
 */
export function budgetRefusal(budgets: readonly Budget[], asked: Asked): BudgetRefusal | undefined {
  for (const budget of budgets) {
    if (!budget.blocks) continue;
    const refusal = hourRefusal(budget, asked) ?? monthRefusal(budget, asked);
    if (refusal) return refusal;
  }
  return undefined;
}

function hourlyAfter({ spend, pricePerHour }: Asked): MicroDollars {
  return spend.pricePerHour + spend.unconfirmedPerHour + pricePerHour;
}

function hourRefusal({ name, perHour }: Budget, asked: Asked): BudgetRefusal | undefined {
  const hourly = hourlyAfter(asked);
  if (perHour === undefined || hourly <= perHour) return undefined;
  const message = `SpendBudget ${name}: all machines of the namespace would cost $${formatDollars(hourly)}/h; perHour is $${formatDollars(perHour)}.`;
  return { message, retryAfterMs: ASK_AGAIN_MS };
}

/** Returns the refusal unless the month's cost and one hour of all machines fit, the requested one included. */
function monthRefusal(budget: Budget, asked: Asked): BudgetRefusal | undefined {
  const { name, perMonth } = budget;
  const { spend, now } = asked;
  if (perMonth === undefined) return undefined;
  const spent = spend.spentThisMonth + spend.unconfirmedThisMonth;
  const hour = hourlyAfter(asked);
  if (spent + hour <= perMonth) return undefined;
  const next = hour <= perMonth ? ` The next month begins at ${formatTime(nextMonth(now))}.` : '';
  const message = `SpendBudget ${name}: $${formatDollars(shownSpent(budget, spent))} is spent this month (UTC) and one hour of all machines would cost $${formatDollars(hour)}; perMonth is $${formatDollars(perMonth)}.${next}`;
  return { message, retryAfterMs: Math.max(1_000, Math.min(MONTH_AGAIN_MS, nextMonth(now) - now)) };
}

/** Returns the epoch milliseconds at which the UTC month after that of `now` begins. */
export function nextMonth(now: number): number {
  const date = new Date(monthStart(now));
  return date.setUTCMonth(date.getUTCMonth() + 1);
}

const STEPS = 100;
const CENT = 10_000;

/** Returns the step by which the spending of a budget is shown. */
export function shownStep({ perMonth, perHour }: Pick<Budget, 'perMonth' | 'perHour'>): MicroDollars {
  return Math.max(CENT, perMonth === undefined ? (perHour ?? 0) : Math.floor(perMonth / STEPS));
}

/**
 * Returns the spending rounded down to a hundredth of the month's budget, or to a whole budget of an hour: the exact
 * amount moves each second, and each change would write every waiting object.
 */
export function shownSpent(budget: Pick<Budget, 'perMonth' | 'perHour'>, spent: MicroDollars): MicroDollars {
  const { perMonth } = budget;
  // A budget that is reached is shown as such, even if its steps do not meet it.
  if (perMonth !== undefined && spent >= perMonth && spent < perMonth + shownStep(budget)) return perMonth;
  return Math.floor(spent / shownStep(budget)) * shownStep(budget);
}

/** Returns the month's cost that the status of budgets shows; 0 if they show none of the UTC month of `now`. */
export function shownMonthCost(budgets: readonly SpendBudget[], now: number): MicroDollars {
  const amounts = budgets.flatMap(({ status }) =>
    status?.month === monthName(now) ? (parseDollars(status.spentThisMonth) ?? []) : [],
  );
  return amounts.reduce((a, b) => Math.max(a, b), 0);
}

/** Returns true if the month has cost the budget. */
export function isMonthSpent({ perMonth }: Budget, { spentThisMonth }: NamespaceSpend): boolean {
  return perMonth !== undefined && spentThisMonth >= perMonth;
}

/** Returns true if all machines together cost more in an hour than the budget. */
export function isHourOver({ perHour }: Budget, { pricePerHour }: NamespaceSpend): boolean {
  return perHour !== undefined && pricePerHour > perHour;
}
