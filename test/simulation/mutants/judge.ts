import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { type Evidence, type FailingTest, type Kill, kill } from './kill.ts';
import type { Mutant } from './mutant.ts';
import type { Workspace } from './workspace.ts';

/** Search scope: `either` ends with the first finding, and tries the known one first. */
export type Scope = 'either' | 'simulation' | 'tables';

export interface JudgeOptions {
  readonly workspace: Workspace;
  /** Processor time that the simulation may take for one mutant. */
  readonly seconds: number;
  /** Known findings against it. */
  readonly known: Evidence;
  readonly scope: Scope;
}

/** Returns what kills the mutant within the scope; empty if it survives. */
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

/** Files whose mutants the complete group lives in `test/endpoint-group` may detect. */
const SHOWN_BY_GROUPS = /^(?:controllers\/endpoint-group|runtime)\//;

/** Returns true for a mutant of the gateway, which runs in a separate process without the operator. */
const isOfGateway = ({ file }: Mutant): boolean => file.startsWith('gateway/');

/** Returns the layer or controller of a file: its tests are next to it or above it. */
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

/** Runs a command; it is killed after the given seconds of processor time, because a mutant may loop forever. */
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

/** Processor seconds after which a mutant counts as looping forever. */
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
    mutant.worlds ?? (isOfGateway(mutant) ? 'gateway' : (mutant.market ?? 'operator')),
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

/** Returns the first of the failing tests that passes without the mutant. */
async function provenByTest(
  workspace: Workspace,
  failing: readonly FailingTest[],
): Promise<FailingTest | undefined> {
  if (failing.length === 0) return undefined;
  const sound = await failingTests(workspace, [...new Set(failing.map(({ file }) => file))]);
  const alwaysFails = new Set(sound.map(({ name }) => name));
  return failing.find(({ name }) => !alwaysFails.has(name));
}
