import { type LifeResult, runLife, type Subject, type UserAct } from './life.ts';
import { type Effect, type Strike, strikesOn } from './plan.ts';

/** A plan that was run: which strikes at which effects. */
export interface Planned {
  readonly life: LifeName;
  readonly strikes: readonly (readonly [number, Strike])[];
  readonly effects: readonly Effect[];
  readonly result: LifeResult;
}

export interface SystematicOptions {
  /** Told of every plan as soon as it has run. */
  readonly onPlan: (planned: Planned) => void;
  /** Returns true to continue; called before every plan. */
  readonly goOn: () => boolean;
  /** Pairs within one object's life, too. */
  readonly pairs: boolean;
  /** Wraps each plan, to measure it. */
  readonly measure?: Measure;
}

type Measure = (run: () => Promise<LifeResult>) => Promise<LifeResult>;

const unmeasured: Measure = (run) => run();

/** Number of (effect × fault) points and pairs: existing and struck. */
export interface Coverage {
  singles: { covered: number; total: number };
  pairs: { covered: number; total: number };
}

interface LifeStory {
  readonly subject: Subject;
  readonly acts: readonly UserAct[];
}

const LIVES = {
  /** All that the desired-state table knows: replaced, stopped, started, deleted. */
  long: {
    subject: 'instance',
    acts: [
      { second: 150, what: 'image', act: (users) => users.setImage('a', 'example/work:2') },
      { second: 330, what: 'stop', act: (users) => users.setPowerState('a', 'Stopped') },
      { second: 400, what: 'start', act: (users) => users.setPowerState('a', 'Running') },
      { second: 500, what: 'delete', act: (users) => users.delete('a') },
    ],
  },
  /** Two workers, three, none of them lost sight of when the group goes. */
  group: {
    subject: 'group',
    acts: [
      { second: 120, what: 'load', act: (users) => users.groups.setLoad('group', 250) },
      { second: 240, what: 'delete', act: (users) => users.groups.delete('group') },
    ],
  },
  /** From the purchase to the release, for pairs. */
  short: {
    subject: 'instance',
    acts: [{ second: 90, what: 'delete', act: (users) => users.delete('a') }],
  },
} as const satisfies Readonly<Record<string, LifeStory>>;

type LifeName = keyof typeof LIVES;
/** Lives whose every effect is struck by itself. */
const SINGLES: readonly LifeName[] = ['long', 'group'];

/**
 * Strikes every effect of a recorded, unfaulted life with every fault it can meet, one per plan; then every
 * pair of them within a shorter life (the method of Sieve, OSDI 2022, with the marketplace's ledger as oracle).
 */
export async function runSystematic(options: SystematicOptions): Promise<Coverage> {
  const coverage: Coverage = { singles: { covered: 0, total: 0 }, pairs: { covered: 0, total: 0 } };
  for (const life of SINGLES) await runSingles(options, life, coverage);
  if (options.pairs) await runPairs(options, coverage);
  return coverage;
}

function live(life: LifeName, strikes: ReadonlyMap<number, Strike>, keepTrace = false): Promise<LifeResult> {
  return runLife({ ...LIVES[life], strikes, keepTrace });
}

async function recorded(life: LifeName): Promise<readonly Effect[]> {
  const { violations, effects } = await live(life, new Map());
  if (violations.length > 0) throw new Error(`the unfaulted ${life} life breaks ${violations[0]?.invariant}`);
  return effects;
}

async function runSingles(
  { onPlan, goOn, measure = unmeasured }: SystematicOptions,
  life: LifeName,
  coverage: Coverage,
): Promise<void> {
  const effects = await recorded(life);
  const points = pointsOf(effects);
  coverage.singles.total += points.length;
  for (const point of points) {
    if (!goOn()) return;
    const result = await measure(() => live(life, new Map([point])));
    if (result.hit.has(point[0])) coverage.singles.covered += 1;
    onPlan({ life, strikes: [point], effects, result });
  }
}

async function runPairs(
  { onPlan, goOn, measure = unmeasured }: SystematicOptions,
  coverage: Coverage,
): Promise<void> {
  const effects = await recorded('short');
  const points = pointsOf(effects);
  const pairs = points.flatMap((first) =>
    points.filter((second) => second[0] > first[0]).map((second) => [first, second] as const),
  );
  coverage.pairs.total = pairs.length;
  for (const strikes of pairs) {
    if (!goOn()) return;
    const result = await measure(() => live('short', new Map(strikes)));
    if (strikes.every(([index]) => result.hit.has(index))) coverage.pairs.covered += 1;
    onPlan({ life: 'short', strikes, effects, result });
  }
}

function pointsOf(effects: readonly Effect[]): readonly (readonly [number, Strike])[] {
  return effects.flatMap((effect) => strikesOn(effect).map((strike) => [effect.index, strike] as const));
}

const isLifeName = (name: string): name is LifeName => name in LIVES;

/** Runs one plan again and keeps its story. */
export function replayPlan({
  life,
  strikes,
}: {
  readonly life: string;
  readonly strikes: Planned['strikes'];
}): Promise<LifeResult> {
  if (!isLifeName(life)) throw new Error(`${life}: there are the lives ${Object.keys(LIVES).join(', ')}`);
  return live(life, new Map(strikes), true);
}
