import type { Mutant } from './mutant.ts';

/** Mutants of the sums behind limits and of the queue order, chosen without knowledge of the oracle. */
export const SUM_MUTANTS: readonly Mutant[] = [
  {
    name: 'start-beyond-hourly-limit',
    loses: 'limits.maxSpendPerHour at the start of a stopped machine',
    file: 'accounts/spend-limits.ts',
    find: 'stopsStarts: true,\n    stops: (input) => isOver(hourlyAfter(input), input.limits.maxSpendPerHour),',
    replace:
      'stopsStarts: false,\n    stops: (input) => isOver(hourlyAfter(input), input.limits.maxSpendPerHour),',
  },
  {
    name: 'month-is-the-larger-part',
    loses: 'the sum of what deleted and present objects have spent in a month',
    file: 'accounts/spend-limits.ts',
    find: 'spentThisMonth: left + objects.spentThisMonth,',
    replace: 'spentThisMonth: Math.max(left, objects.spentThisMonth),',
  },
  {
    name: 'month-by-wall-clock',
    loses: "the service's time until which running machines count for a month",
    file: 'main/wiring.ts',
    find: 'timeOf: (account) => registry.spendingTime(account),',
    replace: 'timeOf: () => clock.now(),',
  },
  {
    name: 'lease-free-by-wall-clock',
    loses: 'the own monotonic clock for the end of a lease of another process',
    file: 'runtime/lease/lease-record.ts',
    find: 'return Math.max(0, this.#unchangedSince + durationMs - this.#options.clock.monotonic());',
    replace:
      "return Math.max(0, Date.parse(this.#lease?.spec?.renewTime ?? '') + durationMs - this.#options.clock.now());",
  },
  {
    name: 'leaving-workers-uncounted',
    loses: 'workers that leave in what counts for maxWorkers',
    file: 'controllers/endpoint-group/decide.ts',
    find: 'const places = group.spec.maxWorkers - all.length - lost.length;',
    replace:
      'const places = group.spec.maxWorkers - all.filter(({ isDeleting }) => !isDeleting).length - lost.length;',
    also: [
      {
        file: 'controllers/endpoint-group/autoscale/plan.ts',
        find: 'const billing = plan.workers.length + plan.rentedHot + plan.rentedCold;',
        replace: 'const billing = presentNow(plan);',
      },
    ],
  },
];
