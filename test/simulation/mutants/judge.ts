import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { type Kill, kill } from './kill.ts';
import type { Mutant } from './mutant.ts';
import type { Workspace } from './workspace.ts';

export interface JudgeOptions {
  readonly workspace: Workspace;
  /** Processor time that the simulation may take for one mutant. */
  readonly seconds: number;
  /** What killed it before; tried first. */
  readonly known: Kill | undefined;
}

/** What kills the mutant: what killed it before, else the simulation, else the unit tables; absent where it survives. */
export async function judge(mutant: Mutant, options: JudgeOptions): Promise<Kill | undefined> {
  const { workspace, known } = options;
  const takeOut = workspace.apply(mutant);
  try {
    if (known?.finding.type === 'test') {
      const { file, name } = known.finding;
      const failing = await failingTests(workspace, [file]);
      if (failing.tests.some((test) => test.name === name)) return known;
    }
    const simulated = await bySimulation(options);
    if (simulated) return sameFinding(simulated, known) ? known : simulated;
    const failing = await failingTests(workspace, [homeOf(mutant.file), 'src/controllers/gpu-instance']);
    takeOut();
    return await provenByTest(workspace, failing);
  } finally {
    takeOut();
  }
}

/** The layer, or the controller, that a file belongs to: its tests lie beside it or above it. */
const homeOf = (file: string): string =>
  join('src', ...file.split('/').slice(0, file.startsWith('controllers/') ? 2 : 1));

const sameFinding = (found: Kill, known: Kill | undefined): boolean =>
  JSON.stringify(found.finding) === JSON.stringify(known?.finding);

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

async function bySimulation({ workspace, known, ...options }: JudgeOptions): Promise<Kill | undefined> {
  const isEndless = known?.finding.type === 'noEnd';
  const seconds = isEndless ? Math.min(SECONDS_WITHOUT_END, options.seconds) : options.seconds;
  const first = known ? [JSON.stringify(known.finding)] : [];
  const args = ['test/simulation/mutants/hunt.ts', String(seconds), ...first];
  const ended = await run(workspace.folder, args, Math.ceil(1.5 * seconds) + 20);
  const last = ended.stdout.trim().split('\n').at(-1) ?? '';
  if (ended.code === null) return { finding: { type: 'noEnd' }, broken: 'it never ends', seconds };
  if (ended.code !== 0)
    throw new Error(`the search ended with ${ended.code}; run it by hand: node ${args.join(' ')}`);
  return kill.nullable().parse(JSON.parse(last)) ?? undefined;
}

interface Failing {
  readonly tests: readonly { readonly file: string; readonly name: string }[];
  readonly seconds: number;
}

interface TestReport {
  readonly testResults: readonly {
    readonly name: string;
    readonly assertionResults: readonly { readonly fullName: string; readonly status: string }[];
  }[];
}

async function failingTests({ folder }: Workspace, paths: readonly string[]): Promise<Failing> {
  const startedAt = performance.now();
  const written = join(folder, 'unit-report.json');
  const options = ['--project', 'unit', '--no-isolate', '--reporter', 'json', '--outputFile', written];
  await run(folder, ['node_modules/vitest/vitest.mjs', 'run', ...options, ...paths]);
  const report: TestReport = JSON.parse(readFileSync(written, 'utf8'));
  const tests = report.testResults.flatMap(({ name: path, assertionResults }) =>
    assertionResults
      .filter(({ status }) => status === 'failed')
      .map(({ fullName }) => ({ file: relative(folder, path), name: fullName.trim() })),
  );
  return { tests, seconds: Math.round((performance.now() - startedAt) / 100) / 10 };
}

/** Of tests that fail with the mutant, the first that passes without it. */
async function provenByTest(workspace: Workspace, failing: Failing): Promise<Kill | undefined> {
  if (failing.tests.length === 0) return undefined;
  const sound = await failingTests(workspace, [...new Set(failing.tests.map(({ file }) => file))]);
  const alwaysFails = new Set(sound.tests.map(({ name }) => name));
  const found = failing.tests.find(({ name }) => !alwaysFails.has(name));
  return found && { finding: { type: 'test', ...found }, broken: '', seconds: failing.seconds };
}
