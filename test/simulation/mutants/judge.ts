import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { type Evidence, type FailingTest, type Kill, kill } from './kill.ts';
import type { Mutant } from './mutant.ts';
import type { Workspace } from './workspace.ts';

/** What to search: `either` ends with the first that is found, and tries what killed it before first. */
export type Scope = 'either' | 'simulation' | 'tables';

export interface JudgeOptions {
  readonly workspace: Workspace;
  /** Processor time that the simulation may take for one mutant. */
  readonly seconds: number;
  /** What is known against it. */
  readonly known: Evidence;
  readonly scope: Scope;
}

/** What kills the mutant, as far as was looked; empty where it survives. */
export async function judge(mutant: Mutant, options: JudgeOptions): Promise<Evidence> {
  switch (options.scope) {
    case 'simulation':
      return withSimulation(await whileBroken(mutant, options, () => bySimulation(mutant, options)));
    case 'tables':
      return withTest(await byTables(mutant, options));
    case 'either':
      return byEither(mutant, options);
  }
}

const withSimulation = (simulation: Kill | undefined): Evidence => (simulation ? { simulation } : {});
const withTest = (test: FailingTest | undefined): Evidence => (test ? { test } : {});

async function byEither(mutant: Mutant, options: JudgeOptions): Promise<Evidence> {
  const { simulation, test } = options.known;
  if (!simulation && test && (await whileBroken(mutant, options, () => stillFails(test, options))))
    return { test };
  const found = await whileBroken(mutant, options, () => bySimulation(mutant, options));
  return found ? withSimulation(found) : withTest(await byTables(mutant, options));
}

async function whileBroken<T>(
  mutant: Mutant,
  { workspace }: JudgeOptions,
  run: () => Promise<T>,
): Promise<T> {
  const takeOut = workspace.apply(mutant);
  try {
    return await run();
  } finally {
    takeOut();
  }
}

async function stillFails({ file, name }: FailingTest, { workspace }: JudgeOptions): Promise<boolean> {
  const failing = await failingTests(workspace, [file]);
  return failing.some((test) => test.name === name);
}

/** What the whole lives of groups in `test/endpoint-group` may show to be broken. */
const SHOWN_BY_GROUPS = /^(?:controllers\/endpoint-group|runtime)\//;

/** It runs in a process of its own, without the operator. */
const isOfGateway = ({ file }: Mutant): boolean => file.startsWith('gateway/');

/** The layer, or the controller, that a file belongs to: its tests lie beside it or above it. */
const homeOf = (file: string): string =>
  join('src', ...file.split('/').slice(0, file.startsWith('controllers/') ? 2 : 1));

async function byTables(mutant: Mutant, options: JudgeOptions): Promise<FailingTest | undefined> {
  const { workspace, known } = options;
  const lives = SHOWN_BY_GROUPS.test(mutant.file) ? ['test/endpoint-group'] : [];
  const users = isOfGateway(mutant) ? [] : ['src/controllers/gpu-instance'];
  const paths = [homeOf(mutant.file), ...users, ...lives];
  const first = known.test ? [known.test.file] : paths;
  const failing = await whileBroken(mutant, options, () => failingTests(workspace, first));
  const proven = await provenByTest(workspace, failing);
  if (proven || !known.test) return proven;
  return provenByTest(workspace, await whileBroken(mutant, options, () => failingTests(workspace, paths)));
}

interface Ended {
  readonly code: number | null;
  readonly stdout: string;
}

/** Killed after so many seconds of processor time: a mutant may loop without end. */
function run(folder: string, args: readonly string[], limitSeconds = 600): Promise<Ended> {
  const limited = ['-c', `ulimit -t ${limitSeconds}; exec "$@"`, 'sh', process.execPath, ...args];
  return new Promise((resolve, reject) => {
    const child = spawn('sh', limited, { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] });
    let stdout = '';
    child.stdout.on('data', (chunk) => (stdout += String(chunk)));
    child.stderr.resume();
    child.on('error', reject).on('close', (code) => resolve({ code, stdout }));
  });
}

/** One that never ends shows so at once. */
const SECONDS_WITHOUT_END = 10;

async function bySimulation(
  mutant: Mutant,
  { workspace, known, ...options }: JudgeOptions,
): Promise<Kill | undefined> {
  const before = known.simulation;
  const isEndless = before?.finding.type === 'noEnd';
  const seconds = isEndless ? Math.min(SECONDS_WITHOUT_END, options.seconds) : options.seconds;
  const first = before ? [JSON.stringify(before.finding)] : [];
  const args = [
    'test/simulation/mutants/hunt.ts',
    String(seconds),
    isOfGateway(mutant) ? 'gateway' : (mutant.market ?? 'operator'),
    ...first,
  ];
  const ended = await run(workspace.folder, args, Math.ceil(1.5 * seconds) + 20);
  const last = ended.stdout.trim().split('\n').at(-1) ?? '';
  if (ended.code === null) return { finding: { type: 'noEnd' }, broken: 'it never ends', seconds };
  if (ended.code !== 0)
    throw new Error(`the search ended with ${ended.code}; run it by hand: node ${args.join(' ')}`);
  const found = kill.nullable().parse(JSON.parse(last)) ?? undefined;
  return found && sameFinding(found, before) ? before : found;
}

const sameFinding = (found: Kill, known: Kill | undefined): boolean =>
  JSON.stringify(found.finding) === JSON.stringify(known?.finding);

interface TestReport {
  readonly testResults: readonly {
    readonly name: string;
    readonly assertionResults: readonly { readonly fullName: string; readonly status: string }[];
  }[];
}

async function failingTests(
  { folder }: Workspace,
  paths: readonly string[],
): Promise<readonly FailingTest[]> {
  const written = join(folder, 'unit-report.json');
  const options = ['--project', 'unit', '--no-isolate', '--reporter', 'json', '--outputFile', written];
  await run(folder, ['node_modules/vitest/vitest.mjs', 'run', ...options, ...paths]);
  const report: TestReport = JSON.parse(readFileSync(written, 'utf8'));
  return report.testResults.flatMap(({ name: path, assertionResults }) =>
    assertionResults
      .filter(({ status }) => status === 'failed')
      .map(({ fullName }) => ({ file: relative(folder, path), name: fullName.trim() })),
  );
}

/** Of tests that fail with the mutant, the first that passes without it. */
async function provenByTest(
  workspace: Workspace,
  failing: readonly FailingTest[],
): Promise<FailingTest | undefined> {
  if (failing.length === 0) return undefined;
  const sound = await failingTests(workspace, [...new Set(failing.map(({ file }) => file))]);
  const alwaysFails = new Set(sound.map(({ name }) => name));
  return failing.find(({ name }) => !alwaysFails.has(name));
}
