import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { REPOSITORY } from '../../scripts/generate/artifact.ts';
import { until } from '../builders/until.ts';

/** Ends a demo where the test that started it is killed. */
const END_WITH_PARENT = join(REPOSITORY, 'scripts/demo/end-with-parent.ts');

/** `make playground`, or another demo, as a process. */
export interface Playground {
  readonly child: ChildProcess;
  /** Folder for temporary files: anything in it afterwards was left behind. */
  readonly folder: string;
  readonly output: () => string;
  readonly ended: Promise<number | null>;
}

const started: Playground[] = [];

/** Ends all that {@link startDemo} has started, for use after each test. */
export async function endPlaygrounds(): Promise<void> {
  for (const { child, ended, folder } of started.splice(0)) {
    child.kill('SIGTERM');
    await ended;
    rmSync(folder, { recursive: true, force: true });
  }
}

export const startPlayground = (env: Readonly<Record<string, string>>): Playground =>
  startDemo('playground', env);

/** Starts a script by name without a terminal, with a closed stdin, and in a separate process group. */
export function startDemo(script: string, env: Readonly<Record<string, string>>): Playground {
  const folder = mkdtempSync(join(tmpdir(), 'gpu-rental-playground-'));
  const child = spawn(
    process.execPath,
    ['--import', END_WITH_PARENT, join(REPOSITORY, 'scripts', `${script}.ts`)],
    {
      env: { ...process.env, TMPDIR: folder, ...env },
      stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
      detached: true,
    },
  );
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk) => (output += String(chunk)));
  const ended = once(child, 'close').then(([code]: (number | null)[]) => code ?? null);
  const playground = { child, folder, output: () => output, ended };
  started.push(playground);
  return playground;
}

/** Maximum start time of a playground: on a busy machine, two API servers at once take minutes. */
export const READY_MS = 240_000;

/** Returns the commands that it prints, one per line, once it is ready. */
export async function commandsOf({ child, output }: Playground): Promise<readonly string[]> {
  const isReady = (): boolean => {
    if (child.exitCode !== null) throw new Error(`it ended too soon:\n${output()}`);
    return output().includes('Ctrl-C');
  };
  await until('the playground is ready', isReady, READY_MS);
  return output()
    .split('\n')
    .filter((line) => /^ {10}\S/.test(line))
    .map((line) => line.trim());
}

/** Returns the output of the commands when typed in a new terminal, in the home folder. */
export async function typed(commands: readonly string[]): Promise<string> {
  const home = mkdtempSync(join(tmpdir(), 'gpu-rental-reader-'));
  try {
    const env = { PATH: process.env.PATH, HOME: home };
    const { stdout } = await promisify(execFile)('bash', ['-ec', commands.join('\n')], { cwd: home, env });
    return stdout;
  } finally {
    rmSync(home, { recursive: true });
  }
}

/**
 * Returns what a playground has left behind: files in its folder, and processes whose environment names that folder.
 */
export async function remainsOf({ folder }: Playground): Promise<readonly string[]> {
  const { stdout } = await promisify(execFile)('grep', [
    '--files-with-matches',
    '--no-messages',
    '--binary-files=text',
    `TMPDIR=${folder}`,
    ...environments(),
  ]).catch(({ stdout: found }: { stdout: string }) => ({ stdout: found }));
  return [...readdirSync(folder), ...stdout.split('\n').filter(Boolean)];
}

const environments = (): readonly string[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((pid) => `/proc/${pid}/environ`);
