import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { failedAs, type Tally, vitestTally } from './tally.ts';

/** A part of a check: a command, and the way its tests are counted. */
export interface Suite {
  readonly name: string;
  readonly command: readonly [string, ...string[]];
  /** `vitest` counts single tests from its JSON report; `exit` counts the whole command as one. */
  readonly counts: 'vitest' | 'exit';
}

/** All tests without a cluster, on all cores: Vitest by itself leaves one idle. */
export const UNIT_TESTS: Suite = unitTests('unit tests', '100%');

function unitTests(name: string, maxWorkers: string, selected: readonly string[] = []): Suite {
  const command = ['vitest', 'run', '--project', 'unit', `--maxWorkers=${maxWorkers}`, ...selected] as const;
  return { name, command, counts: 'vitest' };
}

const QUICK_PATHS = [
  ...[
    'accounts',
    'api',
    'config',
    'controllers',
    'instance',
    'ledger',
    'lib',
    'market',
    'markets',
    'ownership',
  ].map((folder) => `src/${folder}`),
  ...[
    'docs/links',
    'docs/prose',
    'docs/reasons',
    'docs/site.test',
    'docs/support',
    'generate',
    'gitops',
    'install',
    'release',
  ].map((name) => `test/${name}`),
];

/**
 * Tests of decisions, records, the client, and of generated and documented files, without those that are tagged `long`.
 * `make test` has the others: properties, whole groups and processes, the simulator and the simulation. One worker
 * loads each module once, and leaves a core for the other checks.
 */
export const QUICK_TESTS: Suite = unitTests('quick unit tests', '1', ['--tags-filter=!long', ...QUICK_PATHS]);

/** Rows of suites that share nothing: the rows run at the same time, the suites of one row in turn. */
export interface Together {
  readonly rows: readonly (readonly Suite[])[];
}

const running = new Set<ChildProcess>();
let stoppedBy: NodeJS.Signals | undefined;

/**
 * Starts no further suite after a signal. A terminal sends Ctrl-C to the suites itself; any other signal reaches only
 * this process.
 */
function stopOnSignals(): void {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => {
      stoppedBy = signal;
      if (signal !== 'SIGINT') for (const child of running) child.kill(signal);
    });
  }
}

/** Runs a command to its end; `mark` stands before each of its lines where others speak at the same time. */
function run([program, ...args]: Suite['command'], mark: string | undefined): Promise<number> {
  return new Promise((resolve) => {
    const output = mark === undefined ? 'inherit' : 'pipe';
    const child = spawn(program, args, { stdio: ['ignore', output, output] });
    running.add(child);
    markLines(child.stdout, mark);
    markLines(child.stderr, mark);
    child.on('error', (error) => {
      process.stderr.write(`${program} could not be started: ${error.message}\n`);
      resolve(127);
    });
    child.on('close', (code, signal) => {
      running.delete(child);
      resolve(signal ? 128 : (code ?? 1));
    });
  });
}

function markLines(stream: Readable | null, mark = ''): void {
  if (stream)
    createInterface({ input: stream }).on('line', (line) => process.stderr.write(`${mark}${line}\n`));
}

async function runVitest(suite: Suite, mark: string | undefined): Promise<Tally> {
  const folder = mkdtempSync(join(tmpdir(), 'suite-'));
  const file = join(folder, 'report.json');
  try {
    const reports = ['--reporter=default', '--reporter=json', `--outputFile.json=${file}`];
    const code = await run([...suite.command, ...reports], mark);
    return vitestTally(suite.name, readFileSync(file, 'utf8'), code);
  } catch (error) {
    if (!stoppedBy) process.stderr.write(`${suite.name} left no report: ${String(error)}\n`);
    return failedAs(`${suite.name}: no report`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function runSuite(suite: Suite, mark: string | undefined): Promise<Tally> {
  const startedAt = performance.now();
  process.stderr.write(`\n== ${suite.name}\n`);
  const tally = suite.counts === 'vitest' ? await runVitest(suite, mark) : await runForExit(suite, mark);
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  process.stderr.write(`== ${suite.name}: ${tally.passed} passed, ${tally.failed} failed in ${seconds} s\n`);
  return tally;
}

async function runRow(row: readonly Suite[], mark: string | undefined): Promise<readonly Tally[]> {
  const tallies: Tally[] = [];
  for (const suite of row) {
    if (stoppedBy) break;
    tallies.push(await runSuite(suite, mark));
  }
  return tallies;
}

async function runForExit(suite: Suite, mark: string | undefined): Promise<Tally> {
  const code = await run(suite.command, mark);
  return code === 0 ? { passed: 1, failed: 0, failures: [] } : failedAs(`${suite.name}: exit ${code}`);
}

/** Runs the suites one after the other, or side by side where they say so, whatever fails; says how long each took. */
export async function runSuites(steps: readonly (Suite | Together)[]): Promise<Tally> {
  const tallies: Tally[] = [];
  stopOnSignals();
  for (const step of steps) {
    const rows = 'rows' in step ? step.rows : [[step]];
    const done = await Promise.all(
      rows.map((row, at) => runRow(row, rows.length > 1 ? `${at + 1}| ` : undefined)),
    );
    tallies.push(...done.flat());
  }
  if (stoppedBy) {
    process.stderr.write(`Stopped by ${stoppedBy}: what was to follow has not run.\n`);
    tallies.push(failedAs(`stopped by ${stoppedBy}`));
  }
  return {
    passed: tallies.reduce((sum, { passed }) => sum + passed, 0),
    failed: tallies.reduce((sum, { failed }) => sum + failed, 0),
    failures: tallies.flatMap(({ failures }) => failures),
  };
}

/** Prints what failed, a line each, and then the closing line; sets the exit code. */
export function close(total: Tally): void {
  for (const failure of total.failures) process.stdout.write(`FAILED ${failure}\n`);
  process.stdout.write(`${total.passed} passed, ${total.failed} failed\n`);
  process.exitCode = total.failed > 0 || total.passed === 0 ? 1 : 0;
}
