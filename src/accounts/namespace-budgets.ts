import type { SpendBudget } from '../api/v1alpha1/spend-budget.ts';
import type { InstanceSummary } from '../instance/summary.ts';
import type { Clock } from '../lib/clock.ts';
import { formatDollars, type MicroDollars } from '../lib/money.ts';
import { formatTime } from '../lib/time.ts';
import type { AccountObjects } from './account-objects.ts';
import {
  type BudgetRefusal,
  budgetOf,
  budgetRefusal,
  isMonthSpent,
  type NamespaceSpend,
  nextMonth,
} from './budget-rules.ts';
import { type BesideRecords, type BrakeSettings, maxRentalPrice } from './spend-limits.ts';

/** An admission, as the sum over several accounts reads it. */
export interface CountedAdmission {
  /** Returns admitted spending that no record shows, with the granted replacements. */
  besideRecords(): BesideRecords;
  /** Returns true if the object counts for the account of the admission. */
  counts(objectUid: string): boolean;
}

/** Sources of budgets and of what they count. */
export interface NamespaceBudgetsOptions {
  /** Clock by which machines cost something, and which names the month. */
  readonly clock: Pick<Clock, 'now'>;
  /** The SpendBudgets of a namespace, as the cache has them. */
  readonly budgets: (namespace: string) => readonly SpendBudget[];
  /** The GpuInstances of a namespace, whatever accounts they name. */
  readonly objects: (namespace: string) => AccountObjects;
  /** The admissions of all accounts of this process. */
  readonly admissions: () => readonly CountedAdmission[];
  /** Cost of all machines of the namespace in the UTC month, with those of deleted objects; 0 if it is not known. */
  readonly monthCost: (namespace: string) => MicroDollars;
  readonly settings: Pick<BrakeSettings, 'maxDollarsPerHour'>;
}

/** A rental or a start that an account would admit. */
export interface BudgetRequest {
  readonly namespace: string;
  /** Hourly price, or the maximum if it is unknown. */
  readonly pricePerHour: MicroDollars;
  /**
   * The requesting admission, and its view of spending that records do not show, without the request itself.
   */
  readonly asker: CountedAdmission;
  readonly beside: BesideRecords;
}

/**
 * The budgets of namespaces over all accounts of this process. A decision is synchronous, and so is the grant that
 * follows it: two accounts never use the same room.
 */
export class NamespaceBudgets {
  readonly #options: NamespaceBudgetsOptions;

  constructor(options: NamespaceBudgetsOptions) {
    this.#options = options;
  }

  /** Time (epoch milliseconds) until which machines have cost something, and which names the month. */
  get spendingTime(): number {
    return this.#options.clock.now();
  }

  /**
   * Returns the refusal by a budget of the namespace; undefined if every budget allows the request, or there is none.
   */
  refusal({ namespace, pricePerHour, asker, beside }: BudgetRequest): BudgetRefusal | undefined {
    const budgets = this.#options.budgets(namespace).map(budgetOf);
    if (!budgets.some(({ blocks }) => blocks)) return undefined;
    const spend = this.spend(namespace, { asker, beside });
    return budgetRefusal(budgets, { spend, pricePerHour, now: this.#options.clock.now() });
  }

  /** Returns the spending of a namespace; `own` replaces the view of the requesting admission. */
  spend(namespace: string, own?: Pick<BudgetRequest, 'asker' | 'beside'>): NamespaceSpend {
    const { clock, admissions, monthCost } = this.#options;
    const objects = this.#options.objects(namespace);
    const all = new Set(admissions());
    if (own) all.add(own.asker);
    const views = [...all].map((admission) =>
      admission === own?.asker ? own.beside : admission.besideRecords(),
    );
    const uncounted = objects.undecided().filter(({ uid }) => ![...all].some((one) => one.counts(uid)));
    const instead = [
      ...uncounted.map((object) => this.#atMost(object)),
      ...views.flatMap((view) => view.instead),
    ];
    const sums = objects.sums(clock.now(), byUid(instead));
    const pending = views.flatMap((view) => view.pending.filter((rental) => rental.namespace === namespace));
    return {
      spentThisMonth: Math.max(sums.spentThisMonth, monthCost(namespace)),
      pricePerHour: pending.reduce((sum, rental) => sum + rental.pricePerHour, sums.dollarsPerHour),
      unconfirmedThisMonth: sums.unconfirmedThisMonth,
      unconfirmedPerHour: sums.unconfirmedPerHour,
    };
  }

  /**
   * Returns the reason to stop the machines of the namespace: a budget with `onExceeded: Stop` whose month is spent.
   * Undefined if they may run.
   */
  stop(namespace: string): string | undefined {
    const { budgets, clock } = this.#options;
    const stopping = budgets(namespace)
      .map(budgetOf)
      .filter(({ stops }) => stops);
    if (stopping.length === 0) return undefined;
    const spend = this.spend(namespace);
    const spent = stopping.find((budget) => isMonthSpent(budget, spend));
    if (!spent) return undefined;
    const next = formatTime(nextMonth(clock.now()));
    return `SpendBudget ${spent.name}: perMonth of $${formatDollars(spent.perMonth ?? 0)} is spent, and onExceeded is Stop. The next month begins at ${next}.`;
  }

  /** Returns an object of an account that this process does not serve, at the highest price that it may have. */
  #atMost(object: InstanceSummary): InstanceSummary {
    const { maxDollarsPerHour } = this.#options.settings;
    const most = maxRentalPrice(object.maxPrice, {}, maxDollarsPerHour);
    return { ...object, pricePerHour: Math.max(object.pricePerHour, most) };
  }
}

/** Returns one entry for each object, the last one. */
function byUid(objects: readonly InstanceSummary[]): Iterable<InstanceSummary> {
  return new Map(objects.map((object) => [object.uid, object])).values();
}
