import { dayUnder } from './compare.ts';
import { type Contender, endpointGroup, fixedSize, queueOnly, utilizationOnly } from './policies.ts';

/** Days to tune on. The day that is shown is none of them. */
const TUNING_SEEDS = [1, 2, 3];
/** The service that every policy has to give on those days, taken together. */
const MOST_REJECTED_PERCENT = 0.1;
const MOST_MEAN_QUEUE_SECONDS = 0.5;

const pairs = <A, B>(first: readonly A[], second: readonly B[]) =>
  first.flatMap((a) => second.map((b) => [a, b] as const));

const POOLS = [0, 5, 10, 15, 20];

/** Every setting that is tried, by policy. */
export const GRIDS: readonly (readonly Contender[])[] = [
  pairs([70, 80, 90, 95, 100], pairs(['1', '1.5', '2', '2.5'], [0, 5, 10, 20])).map(
    ([targetUtilizationPercent, [coldMultiplier, coldWorkers]]) =>
      endpointGroup('EndpointGroup, tuned', { targetUtilizationPercent, coldMultiplier, coldWorkers }),
  ),
  Array.from({ length: 20 }, (_, index) => fixedSize(index + 1)),
  pairs([0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 1], POOLS).map(([share, pool]) =>
    utilizationOnly(share, pool),
  ),
  pairs(pairs([2, 5, 10, 20, 30, 60], [60, 120, 300, 600]), POOLS).map(([[target, down], pool]) =>
    queueOnly(target, down, pool),
  ),
];

export interface Tuned {
  readonly contender: Contender;
  readonly rejectedPercent: number;
  readonly meanQueueSeconds: number;
  /** Cost of all tuning days. */
  readonly dollars: number;
}

/** Returns the cheapest setting that meets the service level; if none does, the one that rejects least. */
export function best(grid: readonly Contender[]): Tuned | undefined {
  const tried = grid.map(onTuningDays);
  const enough = tried.filter(
    ({ rejectedPercent, meanQueueSeconds }) =>
      rejectedPercent <= MOST_REJECTED_PERCENT && meanQueueSeconds <= MOST_MEAN_QUEUE_SECONDS,
  );
  const [cheapest] = enough.toSorted((a, b) => a.dollars - b.dollars);
  return cheapest ?? tried.toSorted((a, b) => a.rejectedPercent - b.rejectedPercent)[0];
}

function onTuningDays(contender: Contender): Tuned {
  const days = TUNING_SEEDS.map((seed) => dayUnder(contender, seed).summary);
  const sum = (value: (day: (typeof days)[number]) => number) =>
    days.reduce((total, day) => total + value(day), 0);
  return {
    contender,
    rejectedPercent: (100 * sum(({ rejected }) => rejected)) / sum(({ offered }) => offered),
    meanQueueSeconds: sum(({ meanQueueSeconds }) => meanQueueSeconds) / days.length,
    dollars: sum(({ dollars }) => dollars),
  };
}
