import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** How many tests of a suite passed and failed. */
export interface Tally {
  readonly passed: number;
  readonly failed: number;
}

/** One part of a check: a command, and how its tests are counted. */
export interface Suite {
  readonly name: string;
  readonly command: readonly [string, ...string[]];
  /** `vitest` counts single tests from its JSON report; `exit` counts the whole command as one. */
  readonly counts: 'vitest' | 'exit';
}

interface VitestReport {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly numFailedTestSuites: number;
}

function run(command: readonly [string, ...string[]]): Promise<number> {
  const [program, ...args] = command;
  return new Promise((resolve) => {
    const child = spawn(program, args, { stdio: ['ignore', 'inherit', 'inherit'] });
    child.on('error', (error) => {
      process.stderr.write(`${program} could not be started: ${error.message}\n`);
      resolve(127);
    });
    child.on('exit', (code, signal) => resolve(signal ? 128 : (code ?? 1)));
  });
}

function readVitestTally(file: string, code: number): Tally {
  const report: VitestReport = JSON.parse(readFileSync(file, 'utf8'));
  const failed = Math.max(report.numFailedTests, report.numFailedTestSuites > 0 ? 1 : 0);
  return { passed: report.numPassedTests, failed: Math.max(failed, code === 0 ? 0 : 1) };
}

async function runVitest(suite: Suite): Promise<Tally> {
  const folder = mkdtempSync(join(tmpdir(), 'suite-'));
  const file = join(folder, 'report.json');
  try {
    const code = await run([
      ...suite.command,
      '--reporter=default',
      '--reporter=json',
      `--outputFile.json=${file}`,
    ]);
    return readVitestTally(file, code);
  } catch (error) {
    process.stderr.write(`${suite.name} left no report: ${String(error)}\n`);
    return { passed: 0, failed: 1 };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Runs the suites one after the other, whatever fails, and says how long each took. */
export async function runSuites(suites: readonly Suite[]): Promise<Tally> {
  let total: Tally = { passed: 0, failed: 0 };
  for (const suite of suites) {
    const startedAt = performance.now();
    process.stderr.write(`\n== ${suite.name}\n`);
    const tally =
      suite.counts === 'vitest'
        ? await runVitest(suite)
        : await run(suite.command).then((code) => ({
            passed: code === 0 ? 1 : 0,
            failed: code === 0 ? 0 : 1,
          }));
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
    process.stderr.write(
      `== ${suite.name}: ${tally.passed} passed, ${tally.failed} failed in ${seconds} s\n`,
    );
    total = { passed: total.passed + tally.passed, failed: total.failed + tally.failed };
  }
  return total;
}

/** Prints the closing line and sets the exit code. */
export function close(total: Tally): void {
  process.stdout.write(`${total.passed} passed, ${total.failed} failed\n`);
  process.exitCode = total.failed > 0 || total.passed === 0 ? 1 : 0;
}
