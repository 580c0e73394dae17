import { spawn } from 'node:child_process';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join, relative } from 'node:path';
import type { Workspace } from '../../simulation/mutants/workspace.ts';
import type { BoundMutant, EnvoyTests } from './catalogue.ts';
import type { Failing, Kill } from './kills.ts';

/** Longer than the unit tests of the gateway take on a machine with other work, and than a few tests with Envoy do. */
const LIMITS_MS = { unit: 60_000, envoy: 150_000 } as const;
const UNIT = ['src/gateway', 'test/gateway/picker.test.ts', 'test/gateway/served-group.test.ts'];

/**
 * Returns the first of these mutants' tests that fails without any mutant, by file and name: no mutant can be judged
 * then.
 */
export async function brokenBefore(
  mutants: readonly BoundMutant[],
  workspace: Workspace,
): Promise<Failing | undefined> {
  const titles = new Map<string, Set<string>>();
  for (const { envoy } of mutants) {
    if (!envoy) continue;
    const [file, title] = envoy;
    titles.set(file, (titles.get(file) ?? new Set()).add(title));
  }
  const unit = await failing(workspace, 'unit', UNIT);
  if (unit) return unit;
  for (const [file, some] of titles) {
    const found = await failing(workspace, 'envoy', argumentsOf([file, [...some].join('|')]));
    if (found) return found;
  }
  return undefined;
}

function argumentsOf([file, title]: EnvoyTests): readonly string[] {
  return [`test/gateway/${file}`, '--testNamePattern', title];
}

/** Returns what kills a mutant: of all unit tests, and of the tests with Envoy that it names. */
export async function judge(mutant: BoundMutant, workspace: Workspace, known: Kill): Promise<Kill> {
  const takeOut = workspace.apply(mutant);
  try {
    const first = known.unit && (await failing(workspace, 'unit', [known.unit.file]));
    const unit = first ?? (await failing(workspace, 'unit', UNIT));
    const envoy = mutant.envoy && (await failing(workspace, 'envoy', argumentsOf(mutant.envoy)));
    return { ...(unit && { unit }), ...(envoy && { envoy }) };
  } finally {
    takeOut();
  }
}

interface Report {
  readonly testResults: readonly {
    readonly name: string;
    readonly assertionResults: readonly { readonly fullName: string; readonly status: string }[];
  }[];
}

/** Returns the first failing test of these files; the file itself if the run does not end or has no output. */
async function failing(
  { folder }: Workspace,
  kind: keyof typeof LIMITS_MS,
  paths: readonly string[],
): Promise<Failing | undefined> {
  const written = join(folder, 'report.json');
  rmSync(written, { force: true });
  const options = ['--config', 'test/gateway/mutants/vitest.config.ts', '--reporter', 'json'];
  await run(folder, [...options, '--outputFile', written, ...paths], LIMITS_MS[kind]);
  if (!existsSync(written)) return { file: paths[0] ?? '', name: 'the run does not end' };
  const report: Report = JSON.parse(readFileSync(written, 'utf8'));
  const failures = report.testResults.flatMap(({ name: path, assertionResults }) =>
    assertionResults
      .filter(({ status }) => status === 'failed')
      .map(({ fullName }) => ({ file: relative(folder, path), name: fullName.trim() })),
  );
  return failures[0];
}

/** Ends with all that it started. */
function run(folder: string, args: readonly string[], limitMs: number): Promise<void> {
  const vitest = join(folder, 'node_modules', 'vitest', 'vitest.mjs');
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [vitest, 'run', ...args], {
      cwd: folder,
      stdio: 'ignore',
      detached: true,
    });
    const timer = setTimeout(() => {
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
    }, limitMs);
    child.on('error', reject).on('close', () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
