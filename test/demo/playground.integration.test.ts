import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, expect, inject, test } from 'vitest';
import { REPOSITORY } from '../../scripts/generate/artifact.ts';
import { until } from '../builders/until.ts';
import type {} from '../cluster/provided-context.ts';

const SCRIPT = join(REPOSITORY, 'scripts/playground.ts');

interface Playground {
  readonly child: ChildProcess;
  /** Its own folder for temporary files: what is in it afterwards was left behind. */
  readonly folder: string;
  readonly output: () => string;
  readonly ended: Promise<number | null>;
}

const started: Playground[] = [];
afterEach(async () => {
  for (const { child, ended, folder } of started.splice(0)) {
    child.kill('SIGTERM');
    await ended;
    rmSync(folder, { recursive: true, force: true });
  }
});

/** Without a terminal, and with a stdin that is closed from the beginning. */
function start(env: Readonly<Record<string, string>> = {}): Playground {
  const folder = mkdtempSync(join(tmpdir(), 'gpu-rental-playground-'));
  const child = spawn(process.execPath, [SCRIPT], {
    env: { ...process.env, TMPDIR: folder, PLAYGROUND_NODE: 'false', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += String(chunk)));
  const ended = once(child, 'close').then(([code]: (number | null)[]) => code ?? null);
  const playground = { child, folder, output: () => output, ended };
  started.push(playground);
  return playground;
}

/** On a busy machine two API servers at once take minutes. */
const READY_MS = 240_000;

/** The commands that it prints, each on a line of its own, once it is ready. */
async function commandsOf({ child, output }: Playground): Promise<readonly string[]> {
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

/** What is printed when somebody types them into a new terminal, at home. */
async function typed(commands: readonly string[]): Promise<string> {
  const home = mkdtempSync(join(tmpdir(), 'gpu-rental-reader-'));
  try {
    const env = { PATH: process.env.PATH, HOME: home };
    const { stdout } = await promisify(execFile)('bash', ['-ec', commands.join('\n')], { cwd: home, env });
    return stdout;
  } finally {
    rmSync(home, { recursive: true });
  }
}

/** Process ids of all processes whose environment names the folder. */
async function processesOf(folder: string): Promise<string> {
  const { stdout } = await promisify(execFile)('grep', [
    '--files-with-matches',
    '--no-messages',
    '--binary-files=text',
    `TMPDIR=${folder}`,
    ...environments(),
  ]).catch(({ stdout: found }: { stdout: string }) => ({ stdout: found }));
  return stdout;
}

const environments = (): readonly string[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((pid) => `/proc/${pid}/environ`);

// Two on one borrowed cluster would be two operators with one identity.
test.skipIf(inject('cluster').source === 'existing-cluster')(
  'two playgrounds at once: every printed command works, both end and leave nothing behind',
  async () => {
    const short = start({ PLAYGROUND_SECONDS: '1' });
    // If this test is killed, it ends all the same.
    const long = start({ PLAYGROUND_SECONDS: '900' });
    const commands = await commandsOf(long);
    expect(commands.map((line) => line.split(' ')[0])).toEqual([
      'export',
      'export',
      'kubectl',
      'kubectl',
      'gpu-rent',
      'curl',
    ]);
    const stdout = await typed(commands);
    expect(stdout).toContain('gpuinstance.gpurental.dev/trainer created');
    expect(stdout).toContain('gpuinstance.gpurental.dev/trainer condition met');
    expect(stdout).toMatch(/"billing":1\b/);
    expect(await short.ended).toBe(0);
    expect(short.output()).toContain('1 s are over');
    expect(long.child.exitCode).toBeNull();
    long.child.kill('SIGTERM');
    expect(await long.ended).toBe(0);
    for (const { folder } of [short, long]) {
      expect(await processesOf(folder)).toBe('');
      expect(readdirSync(folder)).toEqual([]);
    }
  },
  2 * READY_MS,
);

test.each(['soon', '0'])('PLAYGROUND_SECONDS=%s is refused by name', async (seconds) => {
  const { ended, output } = start({ PLAYGROUND_SECONDS: seconds });
  expect(await ended).toBe(2);
  expect(output()).toBe(
    `PLAYGROUND_SECONDS=${seconds} means nothing here: write a whole number from 1 to 604800\n`,
  );
});
