/**
 * Runs mutants against the simulation, and those it does not find against the unit tables.
 * `--rotate 10` takes ten, others each day (`--from 3` says where to begin); without it all are run and
 * `docs/mutants.md` is written. `--only name` takes one. Exit 1 where one survives.
 */
import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { MUTANTS, type Mutant } from './catalogue.ts';
import { reportOf, type Verdict } from './report.ts';
import { Workspace } from './workspace.ts';

const { values } = parseArgs({
  options: {
    rotate: { type: 'string' },
    from: { type: 'string' },
    only: { type: 'string' },
    seconds: { type: 'string', default: '90' },
  },
});
const REPOSITORY = join(import.meta.dirname, '..', '..', '..');

function chosen(): readonly Mutant[] {
  if (values.only !== undefined) return MUTANTS.filter(({ name }) => name === values.only);
  if (values.rotate === undefined) return MUTANTS;
  const count = Number(values.rotate);
  const from = Number(values.from ?? Math.floor(Date.now() / 86_400_000) * count);
  return Array.from({ length: count }, (_, index) => MUTANTS[(from + index) % MUTANTS.length]).filter(
    (mutant) => mutant !== undefined,
  );
}

interface Ended {
  readonly code: number | null;
  readonly stdout: string;
}

/** Killed after `limitMs`: a mutant may loop without end. */
function run(folder: string, args: readonly string[], limitMs = 300_000): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, { cwd: folder, stdio: ['ignore', 'pipe', 'ignore'] });
    let stdout = '';
    child.stdout.on('data', (chunk) => (stdout += String(chunk)));
    const limit = setTimeout(() => child.kill('SIGKILL'), limitMs);
    child.on('error', reject).on('close', (code) => {
      clearTimeout(limit);
      resolve({ code, stdout });
    });
  });
}

async function judge(workspace: Workspace, mutant: Mutant): Promise<Verdict> {
  const takeOut = workspace.apply(mutant);
  try {
    return (await bySimulation(workspace, mutant)) ?? (await byUnitTables(workspace, mutant));
  } finally {
    takeOut();
  }
}

async function bySimulation({ folder }: Workspace, mutant: Mutant): Promise<Verdict | undefined> {
  const startedAt = performance.now();
  const ended = await run(
    folder,
    ['test/simulation/mutants/hunt.ts', values.seconds],
    60_000 + 10_000 * Number(values.seconds),
  );
  const last = ended.stdout.trim().split('\n').at(-1) ?? '';
  const wall = Math.round((performance.now() - startedAt) / 100) / 10;
  if (!last.startsWith('{'))
    return {
      mutant,
      killed: true,
      by: ended.code === null ? 'a run without end' : 'a run that crashed',
      invariant: '',
      seconds: wall,
    };
  const { killed, by, invariant, seconds } = JSON.parse(last);
  return killed ? { mutant, killed, by, invariant, seconds } : undefined;
}

async function byUnitTables({ folder }: Workspace, mutant: Mutant): Promise<Verdict> {
  const startedAt = performance.now();
  const failing = await failingTests(folder, mutant.file);
  const seconds = Math.round((performance.now() - startedAt) / 100) / 10;
  const before = baselines.get(dirname(mutant.file)) ?? new Set();
  const found = [...failing].find((name) => !before.has(name));
  return { mutant, killed: found !== undefined, by: 'unit tables', invariant: found ?? '', seconds };
}

/** Tests that fail without any mutant prove nothing. */
const baselines = new Map<string, ReadonlySet<string>>();

async function takeBaselines({ folder }: Workspace, mutants: readonly Mutant[]): Promise<void> {
  for (const { file } of mutants) {
    if (!baselines.has(dirname(file))) baselines.set(dirname(file), await failingTests(folder, file));
  }
}

interface TestReport {
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    readonly assertionResults: readonly { readonly fullName: string; readonly status: string }[];
  }[];
}

/** Names of failing tests beside a file and of the controller's tables. */
async function failingTests(folder: string, file: string): Promise<ReadonlySet<string>> {
  const tests = [`src/${dirname(file)}`, 'src/controllers/gpu-instance'];
  const written = join(folder, 'unit-report.json');
  const reporter = ['--reporter', 'json', '--outputFile', written];
  await run(folder, ['node_modules/vitest/vitest.mjs', 'run', '--project', 'unit', ...reporter, ...tests]);
  const report: TestReport = JSON.parse(readFileSync(written, 'utf8'));
  return new Set(
    report.testResults.flatMap(({ name, status, assertionResults }) => {
      const failed = assertionResults.filter((each) => each.status === 'failed');
      if (failed.length === 0 && status === 'failed') return [`${basename(name)} does not load`];
      return failed.map(({ fullName }) => fullName.trim());
    }),
  );
}

const isWhole = values.rotate === undefined && values.only === undefined;
const workspace = new Workspace();
const verdicts: Verdict[] = [];
try {
  await takeBaselines(workspace, chosen());
  for (const mutant of chosen()) {
    const verdict = await judge(workspace, mutant);
    verdicts.push(verdict);
    if (isWhole) writeFileSync(join(REPOSITORY, 'docs', 'mutants.md'), reportOf(verdicts, MUTANTS.length));
    const { killed, by, invariant, seconds } = verdict;
    process.stderr.write(
      `${killed ? 'killed  ' : 'SURVIVED'} ${mutant.name}: ${by} ${invariant} in ${seconds} s\n`,
    );
  }
} finally {
  workspace.remove();
}
const survivors = verdicts.filter(({ killed }) => !killed);
process.stdout.write(
  `${JSON.stringify({ mutants: verdicts.length, killed: verdicts.length - survivors.length, survivors: survivors.map(({ mutant }) => mutant.name) })}\n`,
);
process.exitCode = survivors.length > 0 ? 1 : 0;
