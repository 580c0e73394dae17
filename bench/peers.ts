/**
 * The operator beside peers that do the same job, each as its own community would write it: the same objects, simulator
 * and protocol of a purchase, on one kube-apiserver and etcd, in turn within each round. See bench/peers.
 *
 * `make bench` (QUICK=1 for less than five minutes, ONLY=burst for scenarios whose name contains that word, ROUNDS=5 for
 * another number of rounds, CONTENDERS=tuned,kube-rs for the peers whose names contain one of those words).
 *
 * Prints tables and goals, writes bench/results, and exits with 0 whatever they show; not with 0 where it could not
 * measure.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { settingsOrExit } from '../test/settings/or-exit.ts';
import { readStrictly } from '../test/settings/reader.ts';
import { machine } from './gateway/machine.ts';
import { type Contender, OPERATORS, OTHERS, OWN } from './peers/contenders.ts';
import { startMarket } from './peers/market.ts';
import { picturesOf } from './peers/pictures.ts';
import { goalsOf, goalsTable, type Result, tableOf } from './peers/report.ts';
import { interleaved } from './peers/rounds.ts';
import { runOf } from './peers/run.ts';
import { ALL, QUICK, type Scenario, titleOf } from './peers/scenarios.ts';
import { openStage } from './peers/stage.ts';

const { env } = process;
const settings = settingsOrExit(() =>
  readStrictly(env, (reader) => ({
    quick: reader.whole('QUICK', 0, 1) === 1,
    rounds: reader.whole('ROUNDS', 1, 1000),
    objects: reader.whole('OBJECTS', 1, 100_000),
  })),
);
/** Only the whole run replaces the figures and pictures that the documents show. */
const isWhole = !['QUICK', 'ONLY', 'ROUNDS', 'OBJECTS', 'CONTENDERS'].some((name) => env[name]);
const RESULTS = join(import.meta.dirname, 'results');

const begun = performance.now();
const report = (line: string): void =>
  void process.stderr.write(`${((performance.now() - begun) / 1000).toFixed(0)} s: ${line}\n`);

function chosenScenarios(): readonly Scenario[] {
  const only = env['ONLY'] ?? '';
  const known = settings.quick ? QUICK : ALL;
  const chosen = known.filter((scenario) => titleOf(scenario).includes(only));
  if (chosen.length === 0) {
    report(
      `ONLY=${only} is in the name of no scenario: write a part of one of ${known.map(titleOf).join('; ')}`,
    );
    process.exit(2);
  }
  return chosen.map((scenario) => ({
    ...scenario,
    rounds: settings.rounds ?? scenario.rounds,
    dropped: settings.rounds === 1 ? 0 : scenario.dropped,
    plan: { ...scenario.plan, objects: settings.objects ?? scenario.plan.objects },
  }));
}

/** Returns true if a contender takes part: the operator always does, others if CONTENDERS is empty or names them. */
function isAsked(name: string): boolean {
  const words = (env['CONTENDERS'] ?? '').split(',').filter((word) => word !== '');
  return name.startsWith(OWN.name) || words.length === 0 || words.some((word) => name.includes(word));
}

/** Returns the available contenders, and why others are unavailable. */
async function prepared(names: ReadonlySet<string>): Promise<{
  readonly here: readonly Contender[];
  readonly absent: readonly string[];
}> {
  const here: Contender[] = [];
  const absent: string[] = [];
  for (const contender of [...OPERATORS, ...OTHERS].filter(({ name }) => names.has(name) && isAsked(name))) {
    try {
      await contender.prepare(report);
      here.push(contender);
    } catch (error) {
      absent.push(`${contender.name} does not take part: ${error instanceof Error ? error.message : error}`);
      report(absent.at(-1) ?? '');
    }
  }
  return { here, absent };
}

/** Measures a scenario in a new cluster: objects of an earlier one would stay in the API server's memory. */
async function measure(
  scenario: Scenario,
  contenders: readonly Contender[],
  folder: string,
): Promise<Result> {
  report(titleOf(scenario));
  const closing: (() => unknown)[] = [];
  try {
    const stage = await openStage(report);
    closing.push(() => stage.stop());
    const market = startMarket();
    closing.push(() => market.stop());
    const ground = { stage, market, folder, ownObject: undefined };
    const entrants = contenders
      .filter(({ name }) => scenario.contenders.includes(name))
      .map((contender) => ({
        name: contender.name,
        run: () => runOf(contender, scenario, ground),
      }));
    return { scenario, outcomes: await interleaved(entrants, scenario, report) };
  } finally {
    for (const close of closing.toReversed()) await close();
  }
}

async function main(folder: string): Promise<void> {
  const scenarios = chosenScenarios();
  const { here, absent } = await prepared(new Set(scenarios.flatMap(({ contenders }) => contenders)));
  const before = machine();
  const results: Result[] = [];
  for (const scenario of scenarios) {
    const result = await measure(scenario, here, folder);
    results.push(result);
    process.stdout.write(`\n${tableOf(result)}\n`);
    const versions = Object.fromEntries(here.map(({ name, version }) => [name, version]));
    const about = { date: new Date().toISOString(), before, after: machine(), versions, absent };
    write(isWhole ? 'peers' : 'peers-part', { ...about, goals: goalsOf(results), results });
  }
  if (isWhole) for (const { name, svg } of picturesOf(results)) picture(name, svg);
  const { processor, cores, node, loadAverage } = machine();
  process.stdout.write(`\n${goalsTable(goalsOf(results))}\n\n`);
  process.stdout.write(
    `${cores} cores of ${processor}, Node ${node}, load average ${loadAverage.join(', ')}\n`,
  );
  for (const line of absent) process.stdout.write(`${line}\n`);
}

function write(name: string, result: Readonly<Record<string, unknown>>): void {
  mkdirSync(RESULTS, { recursive: true });
  writeFileSync(join(RESULTS, `${name}.json`), `${JSON.stringify(result, undefined, 2)}\n`);
}

function picture(name: string, svg: string): void {
  writeFileSync(join(import.meta.dirname, '..', 'docs', 'media', `${name}.svg`), svg);
}

const folder = mkdtempSync(join(tmpdir(), 'bench-peers-'));
try {
  await main(folder);
} catch (error) {
  report(`could not measure: ${inspect(error)}`);
  process.exitCode = 1;
} finally {
  if (process.exitCode) report(`what the processes wrote is in ${folder}`);
  else rmSync(folder, { recursive: true, force: true });
}
process.exit();
