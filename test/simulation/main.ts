/**
 * `make simulate`: the production operator under seeded faults. From the environment: MODE (swarm, systematic,
 * sequences), SEEDS (how many), FIRST_SEED, SEED (replays one), MINUTES (ends then). Exit 1 on a violation.
 */
import { Figures } from './figures.ts';
import { type Mode, runSchedule } from './schedule.ts';
import { runSequences } from './sequences.ts';
import { shrink } from './shrink.ts';
import { type Planned, replayPlan, runSystematic } from './systematic.ts';

const MODES: readonly Mode[] = ['sweeperOff', 'all'];
/** Stories are long; more of them than this help nobody. */
const MOST_STORIES = 3;

const number = (name: string, otherwise: number): number => Number(process.env[name] ?? otherwise);
const say = (text: string): void => void process.stderr.write(`${text}\n`);

/** Runs one way of looking for violations. */
type Search = (figures: Figures, goOn: () => boolean) => Promise<void>;

const SEARCHES: Readonly<Record<string, Search>> = { swarm, systematic, sequences };

async function swarm(figures: Figures, goOn: () => boolean): Promise<void> {
  const only = process.env['SEED'];
  const first = only === undefined ? number('FIRST_SEED', Math.floor(Date.now() / 1000)) : Number(only);
  const count = only === undefined ? number('SEEDS', process.env['MINUTES'] ? 1e9 : 100) : 1;
  say(`Seeds from ${first}, each with and without the sweeper`);
  for (let seed = first; seed < first + count && goOn(); seed += 1) {
    for (const mode of MODES) {
      const result = await runSchedule({ seed, mode, keepTrace: false });
      figures.add({ ...result, mode, violations: result.violations.length });
      if (result.violations.length > 0) await tellSeed(seed, mode);
    }
  }
}

async function tellSeed(seed: number, mode: Mode): Promise<void> {
  const { faults, result } = await shrink({ seed, mode });
  const list = faults.map(({ index, kind }) => `${index} ${kind}`);
  tellStory(`Seed ${seed}, ${mode}; shortest fault list: ${JSON.stringify(list)}`, result.trace);
  say(`Replay: SEED=${seed} make simulate`);
}

let stories = 0;
function tellStory(title: string, trace: readonly string[]): void {
  say(`\n${title}`);
  stories += 1;
  if (stories > MOST_STORIES) return;
  for (const line of trace) say(line);
}

async function systematic(figures: Figures, goOn: () => boolean): Promise<void> {
  const broken: Planned[] = [];
  const pairs = process.env['PAIRS'] !== '0';
  const coverage = await runSystematic({
    pairs,
    goOn,
    onPlan: (planned) => {
      const { result } = planned;
      figures.add({ ...result, mode: 'sweeperOff', violations: result.violations.length });
      if (result.violations.length > 0) broken.push(planned);
    },
  });
  say(`Single points ${coverage.singles.covered} of ${coverage.singles.total}`);
  say(`Pairs within one life ${coverage.pairs.covered} of ${coverage.pairs.total}`);
  figures.coverage.covered = coverage.singles.covered + coverage.pairs.covered;
  figures.coverage.total = coverage.singles.total + coverage.pairs.total;
  for (const planned of broken) {
    const { trace, violations } = await replayPlan(planned);
    tellStory(
      `Plan ${JSON.stringify(planned.strikes)} of the ${planned.life} life: ${violations[0]?.text}`,
      trace,
    );
  }
}

async function sequences(figures: Figures, goOn: () => boolean): Promise<void> {
  await runSequences({
    seed: number('SEED', number('FIRST_SEED', 1)),
    goOn,
    onSequence: ({ name, result }) => {
      figures.add({ ...result, mode: 'sweeperOff', violations: result.violations.length });
      const [first] = result.violations;
      if (first) tellStory(`Sequence ${name}: ${first.invariant} ${first.text}`, result.trace);
    },
  });
}

async function main(): Promise<void> {
  const mode = process.env['MODE'] ?? 'swarm';
  const search = SEARCHES[mode];
  if (!search) throw new Error(`MODE=${mode}: write one of ${Object.keys(SEARCHES).join(', ')}`);
  const minutes = number('MINUTES', Number.POSITIVE_INFINITY);
  const figures = new Figures();
  await search(figures, () => figures.minutes < minutes);
  process.stdout.write(`${JSON.stringify(figures.summary())}\n`);
  process.exitCode = figures.violations > 0 ? 1 : 0;
}

await main();
