import type { Spread } from '../gateway/rounds.ts';
import { type Outcome, ratioOf, spreadOfFigure } from './rounds.ts';
import { type Scenario, titleOf } from './scenarios.ts';

/** A scenario and what came of it; the first contender is the one that the others are compared with. */
export interface Result {
  readonly scenario: Scenario;
  readonly outcomes: readonly Outcome[];
}

export interface Goal {
  readonly what: string;
  readonly target: string;
  readonly value: string;
  /** Undefined if it was not measured. */
  readonly met: boolean | undefined;
}

/** Returns a number with three significant digits. */
function fixed(value: number): string {
  const size = Math.abs(value);
  const digits = size >= 100 || Number.isInteger(value) ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3;
  return value.toFixed(digits);
}

function shown({ median, least, most }: Spread): string {
  return least === most ? fixed(median) : `${fixed(median)} (${fixed(least)} to ${fixed(most)})`;
}

const figuresOf = (outcome: Outcome): readonly string[] =>
  outcome.type === 'measured' ? Object.keys(outcome.rounds[0]?.figures ?? {}) : [];

const row = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;

/** Returns a Markdown table of each contender's figures, and the ratio of the first one to each other. */
export function tableOf({ scenario, outcomes }: Result): string {
  const [own, ...others] = outcomes;
  const names = [...new Set(outcomes.flatMap(figuresOf))];
  const head = [
    `${titleOf(scenario)}, ${scenario.rounds - scenario.dropped} of ${scenario.rounds} rounds`,
    ...outcomes.map(({ name }) => name),
    ...others.map(({ name }) => `ratio to ${name}`),
  ];
  const lines = names.map((figure) => [
    figure,
    ...outcomes.map((outcome) => {
      const spread = spreadOfFigure(outcome, figure);
      if (outcome.type === 'failed') return 'failed';
      return spread ? shown(spread) : '';
    }),
    ...others.map((other) => {
      const ratio = ratioOf(own, other, figure);
      return ratio ? shown(ratio) : '–';
    }),
  ]);
  const failures = outcomes.flatMap((outcome) =>
    outcome.type === 'failed' ? [`${outcome.name} failed: ${outcome.why}`] : [],
  );
  return [row(head), row(head.map(() => '---')), ...lines.map(row), '', ...failures].join('\n');
}

const OWN = 0;
const TUNED = 'controller-runtime tuned';
const MB_PER_MIB = 1.048576;

/** Returns every goal with its measurement: the median, in the scenario with the most objects that has the figure. */
export function goalsOf(results: readonly Result[]): readonly Goal[] {
  return [
    ...[0, 100].flatMap((roundTripMs) => [
      ratioGoal(results, 'all rented, s', { roundTripMs, most: 1 }),
      ratioGoal(results, 'all running, s', { roundTripMs, most: 1 }),
    ]),
    ratioGoal(results, 'processor time per object, ms', { roundTripMs: 0, most: 2 }),
    atMost(results, 'at rest, % of a core', 0.5, { objects: 1000 }),
    atMost(results, 'at rest, resident, MiB', 110 / MB_PER_MIB, { objects: 1000 }),
    atMost(results, 'at rest, resident, MiB', 160 / MB_PER_MIB, { objects: 10_000 }),
    growthGoal(results),
    atMost(results, 'creation to rent call, p50, ms', 8),
    atMost(results, 'creation to rent call, p99, ms', 15),
    atMost(results, 'writes of the object', 3),
    atMost(results, 'writes of its Secret', 1),
    atMost(results, 'at rest, writes', 0),
    atMost(results, 'from the last DELETE until all gone, polls', 2),
    atMost(results, 'restart to the first rental, s', 2.5, { objects: 10_000 }),
    atMost(results, 'answers 429', 0, { paced: true }),
    atLeast(results, 'share of the allowed rent calls', 0.97),
    efficiencyGoal(results),
  ];
}

interface Wanted {
  readonly roundTripMs?: number;
  readonly objects?: number;
  readonly paced?: boolean;
}

/** Returns the result with the most objects (without workers of groups) whose first contender has the figure. */
function resultOf(results: readonly Result[], figure: string, wanted: Wanted): Result | undefined {
  const fitting = results
    .filter(({ scenario }) => scenario.roundTripMs === (wanted.roundTripMs ?? 0))
    .filter(({ scenario }) => scenario.paced === (wanted.paced ?? false) || figure.startsWith('share'))
    .filter(({ scenario }) => scenario.plan.workersPerGroup === 0)
    .filter(({ scenario }) => wanted.objects === undefined || scenario.plan.objects === wanted.objects)
    .toSorted((one, other) => other.scenario.plan.objects - one.scenario.plan.objects);
  return fitting.find(({ outcomes }) => outcomes[OWN] && figuresOf(outcomes[OWN]).includes(figure));
}

const NOT_MEASURED = 'not measured in this run';

function judged(what: string, target: string, found: { value: string; met: boolean } | undefined): Goal {
  return { what, target, value: found?.value ?? NOT_MEASURED, met: found?.met };
}

function absolute(
  results: readonly Result[],
  figure: string,
  wanted: Wanted,
): { spread: Spread; where: string } | undefined {
  const result = resultOf(results, figure, wanted);
  const spread = spreadOfFigure(result?.outcomes[OWN], figure);
  return result && spread && { spread, where: ` (${titleOf(result.scenario)})` };
}

function atMost(results: readonly Result[], figure: string, most: number, wanted: Wanted = {}): Goal {
  const found = absolute(results, figure, wanted);
  const what = wanted.objects === undefined ? figure : `${figure}, ${wanted.objects} objects`;
  return judged(
    what,
    `≤ ${fixed(most)}`,
    found && { value: shown(found.spread) + found.where, met: asShown(found.spread.median) <= most },
  );
}

/** Rounds a value as shown: one object in a thousand that was seen in one more state must not change a verdict. */
const asShown = (value: number): number => Number(fixed(value));

function atLeast(results: readonly Result[], figure: string, least: number): Goal {
  const found = absolute(results, figure, {});
  return judged(
    figure,
    `≥ ${fixed(least)}`,
    found && { value: shown(found.spread) + found.where, met: found.spread.median >= least },
  );
}

function ratioGoal(
  results: readonly Result[],
  figure: string,
  { roundTripMs, most }: { roundTripMs: number; most: number },
): Goal {
  const target = `≤ ${fixed(most)} × ${TUNED}`;
  const what = `${figure}, round trip ${roundTripMs} ms`;
  const result = results
    .filter(({ outcomes }) => outcomes.some(({ name }) => name === TUNED))
    .filter(({ scenario }) => scenario.roundTripMs === roundTripMs && !scenario.paced)
    .filter(({ scenario }) => !scenario.plan.failover)
    .toSorted(bySpreadThenSize)
    .at(0);
  const tuned = result?.outcomes.find(({ name }) => name === TUNED);
  const ratio = ratioOf(result?.outcomes[OWN], tuned, figure);
  return judged(
    what,
    target,
    ratio &&
      result && { value: `${shown(ratio)} × (${titleOf(result.scenario)})`, met: ratio.median <= most },
  );
}

/** Sorts repeated measurements before single ones, then by size. */
function bySpreadThenSize({ scenario: one }: Result, { scenario: other }: Result): number {
  const isRepeated = ({ rounds, dropped }: Scenario): number => Number(rounds - dropped > 1);
  return isRepeated(other) - isRepeated(one) || other.plan.objects - one.plan.objects;
}

const BARE = 'bare client';
const EFFICIENCY = 0.8;

/** Returns the goal for the share of the total time that the requests alone would have taken. */
function efficiencyGoal(results: readonly Result[]): Goal {
  const figure = 'all running, s';
  const ratios = results.flatMap(({ scenario, outcomes }) => {
    const bare = outcomes.find(({ name }) => name === BARE);
    const ratio = ratioOf(bare, outcomes[OWN], figure);
    return ratio
      ? [{ value: `${shown(ratio)} (${titleOf(scenario)})`, met: ratio.median >= EFFICIENCY }]
      : [];
  });
  return judged(`efficiency: ${figure}, of a ${BARE}, by ours`, `≥ ${EFFICIENCY}`, ratios.at(-1));
}

const GROWTH_LIMIT = 1.2;

/**
 * Returns the goal for memory per object, from the smallest to the largest scenario measured at rest, compared with
 * the peer.
 */
function growthGoal(results: readonly Result[]): Goal {
  const figure = 'at rest, resident, MiB';
  const growth = (name: string): number | undefined => {
    const points = results
      .map(({ scenario, outcomes }) => ({
        objects: scenario.plan.objects,
        spread: spreadOfFigure(
          outcomes.find((outcome) => outcome.name === name),
          figure,
        ),
      }))
      .toSorted((one, other) => one.objects - other.objects);
    const measured = points.flatMap(({ objects, spread }) =>
      spread ? [{ objects, mib: spread.median }] : [],
    );
    const [first, last] = [measured[0], measured.at(-1)];
    if (!first || !last || first.objects === last.objects) return undefined;
    return ((last.mib - first.mib) * 1024) / (last.objects - first.objects);
  };
  const [own, tuned] = [growth(results[0]?.outcomes[OWN]?.name ?? ''), growth(TUNED)];
  const found =
    own !== undefined && tuned !== undefined
      ? { value: `${fixed(own)} KiB, ${fixed(tuned)} KiB`, met: own <= GROWTH_LIMIT * tuned }
      : undefined;
  return judged('growth of resident memory per object', `≤ ${GROWTH_LIMIT} × ${TUNED}`, found);
}

/** Returns a Markdown table of goals, met or not. */
export function goalsTable(goals: readonly Goal[]): string {
  const verdict = (met: boolean | undefined): string =>
    met === undefined ? '' : met ? 'met' : '**not met**';
  const lines = goals.map(({ what, target, value, met }) => row([what, target, value, verdict(met)]));
  return [row(['goal', 'target', 'measured', '']), row(['---', '---', '---', '---']), ...lines].join('\n');
}
