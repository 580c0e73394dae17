/**
 * `make simulate`: the production operator under seeded faults, after the stories that are written for one step each
 * (not where one seed is replayed). From the environment: MODE (swarm, systematic, sequences, outages, deadman, idle), SEEDS (how many),
 * MARKET (vast or toy), FIRST_SEED, SEED (replays one), MINUTES (ends then), PAIRS (0: singles only), CORES (how many seeds at a time). The
 * last line on stdout is one JSON object; exit 1 on a violation, where a schedule takes no step for a minute, and where a whole run
 * misses what it owes in coverage or waste; 2 where a setting means nothing.
 */
import { settingsOrExit } from '../settings/or-exit.ts';
import { playDeadman } from './deadman/deadman.ts';
import { DEADMAN_KINDS } from './deadman/kinds.ts';
import { Figures } from './figures.ts';
import type { Mode } from './schedule.ts';
import { HOSTILE_TEXTS, playHostile } from './sequences/hostile.ts';
import { runSequences } from './sequences/sequences.ts';
import { editedOf, SUBJECTS } from './sequences/subjects.ts';
import { readSettings, type SearchMode, type Settings } from './settings.ts';
import { shrink } from './shrink.ts';
import { idleWorld } from './stories/idle-worlds.ts';
import { OUTAGES } from './stories/outages.ts';
import { play } from './stories/play.ts';
import { STORIES } from './stories/stories.ts';
import type { Story } from './stories/story.ts';
import { type Broken, type Play, playSwarm } from './swarm.ts';
import { type Planned, replayPlan, runSystematic } from './systematic.ts';
import { Watchdog } from './watchdog.ts';

/** Maximum number of stories to print: they are long. */
const MAX_STORIES = 3;
const PROGRESS_EVERY_MS = 30_000;

const print = (text: string): void => void process.stderr.write(`${text}\n`);

/** State of one run: settings, results and progress. */
interface Run {
  readonly settings: Settings;
  readonly figures: Figures;
  readonly goOn: () => boolean;
  readonly watchdog: Watchdog;
}

/** Runs one way of looking for violations. */
type Search = (run: Run) => Promise<void>;

const SEARCHES: Readonly<Record<SearchMode, Search>> = {
  ...{ swarm, systematic, sequences, outages, deadman, idle },
};

/** Searches that play none of the stories of every other. */
const WITHOUT_STORIES: ReadonlySet<SearchMode> = new Set<SearchMode>(['outages', 'deadman', 'idle']);

/** Plays the stories. Each one is known to violate a promise without the step that it is written for. */
async function playStories(run: Run, stories: readonly Story[] = STORIES): Promise<void> {
  print(`${stories.length} stories`);
  for (const story of stories) {
    if (!run.goOn()) return;
    await playStory(run, story);
  }
}

async function playStory({ settings, figures, watchdog }: Run, story: Story): Promise<number> {
  watchdog.running(`the story "${story.name}"`);
  const played = await play(story, { keepTrace: true, market: settings.market });
  if (played.lacking.length > 0) {
    print(`left out for want of ${played.lacking.join(', ')}: ${story.name}`);
    return 0;
  }
  const problems = [
    ...played.violations.map(({ invariant, text }) => `${invariant} ${text}`),
    ...played.unstruck.map((call) => `the call that it strikes never came: ${call}`),
  ];
  figures.violated(problems.length);
  if (problems.length > 0) printStory(`Story "${story.name}": ${problems.join('; ')}`, played.trace);
  return played.virtualSeconds;
}

/** Stories too long for every run: they are played alone. */
function outages(run: Run): Promise<void> {
  return playStories(run, OUTAGES);
}

/** Plays two worlds of machines with fuses for each seed: one whose cluster is erased, one with outages. */
async function deadman({ settings: { firstSeed, seeds }, figures, goOn, watchdog }: Run): Promise<void> {
  print(`Seeds from ${firstSeed}, each with an erased cluster and with outages`);
  for (let seed = firstSeed; seed < firstSeed + seeds && goOn(); seed += 1)
    for (const kind of DEADMAN_KINDS) {
      watchdog.running(`deadman seed ${seed}, ${kind}`);
      const result = await figures.measure(() => playDeadman({ seed, kind }));
      const { violations, ended, falseKills, renewals, virtualSeconds, traceHash } = result;
      figures.add({
        ...{ mode: 'all', violations: violations.length, wastedSeconds: [], virtualSeconds, traceHash },
        selfEnds: { ended, falseKills, renewals },
      });
      const [first] = violations;
      if (!first) continue;
      const { trace } = await playDeadman({ seed, kind, keepTrace: true });
      printStory(`Seed ${seed}, ${kind}: ${first.invariant} ${first.text}`, trace);
      print(`Replay: MODE=deadman SEED=${seed} make simulate`);
    }
}

/** Plays drawn lives of objects with an idle time. */
async function idle(run: Run): Promise<void> {
  const { figures, settings, goOn } = run;
  const { firstSeed, seeds, isReplay } = settings;
  if (!isReplay) print(`Idle worlds of seeds from ${firstSeed}`);
  for (let seed = firstSeed; seed < firstSeed + seeds && goOn(); seed += 1) {
    const before = figures.violations;
    const virtualSeconds = await figures.measure(() => playStory(run, idleWorld(seed)));
    figures.add({
      ...{ mode: 'sweeperOff', violations: 0, wastedSeconds: [] },
      virtualSeconds,
      traceHash: '',
    });
    if (figures.violations > before) print(`Replay: MODE=idle SEED=${seed} make simulate`);
  }
}

async function swarm({ settings, figures, goOn, watchdog }: Run): Promise<void> {
  const { firstSeed, cores, market } = settings;
  const where = cores > 1 ? `, on ${cores} cores` : '';
  print(`Seeds from ${firstSeed}, each with and without the sweeper${where}`);
  const broken: Broken[] = [];
  await playSwarm({
    ...{ settings, figures, goOn },
    onBegin: (what) => watchdog.running(what),
    onBroken: (schedule) => {
      broken.push(schedule);
      print(
        `Seed ${schedule.seed}, ${schedule.mode}: a promise is broken; the full trace follows at the end`,
      );
    },
  });
  for (const { seed, mode } of broken) await printSeed({ seed, market }, mode);
}

async function printSeed({ seed, market }: Play, mode: Mode): Promise<void> {
  print(`\nSeed ${seed}, ${mode}: looking for the shortest fault list that breaks the promise`);
  const { faults, result } = await shrink({ seed, mode, market });
  const list = faults.map(({ index, kind }) => `${index} ${kind}`);
  const [first] = result.violations;
  const title = `Seed ${seed}, ${mode}: ${first?.invariant} ${first?.text}`;
  printStory(`${title}\nShortest fault list: ${JSON.stringify(list)}`, result.trace);
  print(`Replay: ${market === 'vast' ? '' : `MARKET=${market} `}SEED=${seed} make simulate`);
}

let stories = 0;
function printStory(title: string, trace: readonly string[]): void {
  print(`\n${title}`);
  stories += 1;
  if (stories > MAX_STORIES) return;
  for (const line of trace) print(line);
}

async function systematic({ settings: { pairs }, figures, goOn, watchdog }: Run): Promise<void> {
  const broken: Planned[] = [];
  watchdog.running('the first plan');
  const coverage = await runSystematic({
    pairs,
    goOn,
    measure: (run) => figures.measure(run),
    onPlan: (planned) => {
      const { result } = planned;
      watchdog.running(`the plan after ${planInWords(planned)}`);
      figures.add({ ...result, mode: 'sweeperOff', violations: result.violations.length });
      if (result.violations.length > 0) broken.push(planned);
    },
  });
  print(`Single points ${coverage.singles.covered} of ${coverage.singles.total}`);
  print(`Pairs within one life ${coverage.pairs.covered} of ${coverage.pairs.total}`);
  figures.coverage = coverage;
  for (const planned of broken) {
    const { trace, violations } = await replayPlan(planned);
    printStory(`Plan ${planInWords(planned)}: ${violations[0]?.text}`, trace);
  }
}

const planInWords = ({ strikes, life }: Planned): string => `${JSON.stringify(strikes)} of the ${life} life`;

/** Plays each edit alone, then a chain of edits per seed; a replay plays only the chain of its seed. */
async function sequences({ settings, figures, goOn, watchdog }: Run): Promise<void> {
  const { firstSeed, seeds, isReplay } = settings;
  if (!isReplay) await playHostiles({ figures, goOn, watchdog });
  print(`${isReplay ? 'The chain' : 'Every edit alone, then chains of edits'} of seed ${firstSeed}`);
  await runSequences({
    ...{ firstSeed, seeds, singles: !isReplay, goOn },
    measure: (run) => figures.measure(run),
    onBegin: ({ name }) => watchdog.running(`the sequence ${name}`),
    onEnd: ({ name, seed, isChain }, result) => {
      figures.add({ ...result, mode: 'sweeperOff', violations: result.violations.length });
      const [first] = result.violations;
      if (!first) return;
      printStory(`Sequence ${name}: ${first.invariant} ${first.text}`, result.trace);
      if (isChain) print(`Replay: MODE=sequences SEED=${seed} make simulate`);
    },
  });
}

/** Writes every hostile text into every field of every kind. */
async function playHostiles({ figures, goOn, watchdog }: Omit<Run, 'settings'>): Promise<void> {
  print('Hostile texts in every field');
  for (const edited of SUBJECTS.map(editedOf))
    for (const [name, text] of Object.entries(HOSTILE_TEXTS)) {
      if (!goOn()) return;
      const what = `${name} in ${edited.subject.plural}`;
      watchdog.running(what);
      const { problems } = await playHostile(edited, () => text);
      figures.violated(problems.length);
      if (problems.length > 0) printStory(`Hostile texts, ${what}: ${problems.join('; ')}`, []);
    }
}

/**
 * Returns a function that is true until time is up or Ctrl-C was pressed, and that prints progress. The results so
 * far are printed then.
 */
function untilStopped(figures: Figures, minutes: number): () => boolean {
  let isStopped = false;
  let printedAt = performance.now();
  process.once('SIGINT', () => {
    isStopped = true;
    print('Ending after this schedule; Ctrl-C again ends at once');
  });
  return () => {
    if (performance.now() - printedAt > PROGRESS_EVERY_MS) {
      printedAt = performance.now();
      print(
        `${figures.schedules} schedules, ${figures.violations} violations, ${figures.minutes.toFixed(1)} min`,
      );
    }
    return !isStopped && figures.minutes < minutes;
  };
}

async function main(): Promise<void> {
  const settings = settingsOrExit(() => readSettings(process.env));
  const figures = new Figures();
  const goOn = untilStopped(figures, settings.minutes);
  const run: Run = { settings, figures, goOn, watchdog: new Watchdog() };
  if (!settings.isReplay && !WITHOUT_STORIES.has(settings.mode)) await playStories(run);
  await SEARCHES[settings.mode](run);
  const missed = goOn() ? figures.missed() : [];
  for (const text of missed) print(text);
  process.stdout.write(`${JSON.stringify(figures.summary())}\n`);
  process.exitCode = figures.violations + missed.length > 0 ? 1 : 0;
}

await main();
