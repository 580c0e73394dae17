import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { runGo } from './go-run.ts';

let folder = '';
let unfinished = '';

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'go-run-'));
  unfinished = join(folder, 'unfinished');
  mkdirSync(unfinished);
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Returns an environment whose `go` is this shell script. */
function withGo(script: string): NodeJS.ProcessEnv {
  const path = join(folder, 'go');
  writeFileSync(path, `#!/bin/sh\n${script}\n`);
  chmodSync(path, 0o755);
  return { ...process.env, PATH: `${folder}${delimiter}${process.env.PATH}` };
}

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve, 20));
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    // A process that was killed and whose parent has not noticed yet is still listed.
    return !/^State:\tZ/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

describe('go', () => {
  test('runs with its arguments, without a C compiler, and its lines are passed on', async () => {
    const lines: string[] = [];
    const env = withGo('echo "$@"; echo "cgo $CGO_ENABLED, $GOTMPDIR" >&2');
    await runGo({ folder, args: ['build', './x'], env, onLine: (line) => lines.push(line), unfinished });
    expect(lines.toSorted()).toEqual(['build ./x', `cgo 0, ${unfinished}`]);
    expect(existsSync(unfinished)).toBe(true);
  });

  test('rejects with its last lines when it fails', async () => {
    const run = runGo({ folder, args: ['build'], env: withGo('echo broken >&2; exit 3'), onLine: () => {} });
    await expect(run).rejects.toThrow('go build failed (3):\nbroken');
  });

  test('rejects when it is not on PATH', async () => {
    const run = runGo({ folder, args: ['build'], env: { PATH: folder }, onLine: () => {} });
    await expect(run).rejects.toThrow('go could not be run: spawn go ENOENT');
  });
});

/** Program that runs go as tests and scripts do: by default, signals end it. */
const CALLER = `
import { writeFileSync } from 'node:fs';
const { runGo } = await import(process.argv[1]);
const [folder, unfinished] = process.argv.slice(2);
const run = { folder, args: ['build'], env: process.env, onLine: () => {}, unfinished };
await runGo(run).finally(() => writeFileSync(folder + '/cleaned-up', ''));
`;

describe.skipIf(process.platform !== 'linux')('a process that runs go', () => {
  test.for([
    ['SIGTERM', true],
    ['SIGINT', true],
    ['SIGHUP', true],
    ['SIGKILL', false],
  ] as const)('leaves no go, compiler or file when it gets %s', async ([signal, cleansUp]) => {
    const compiler = 'sleep 300 & echo $! > "$GOTMPDIR/compiler.pid"; echo $$ > "$GOTMPDIR/go.pid"; wait';
    const pids = [join(unfinished, 'go.pid'), join(unfinished, 'compiler.pid')];
    const args = ['--input-type=module', '-e', CALLER, join(import.meta.dirname, 'go-run.ts')];
    const caller = spawn(process.execPath, [...args, folder, unfinished], {
      env: withGo(compiler),
      stdio: 'ignore',
    });
    const ended = once(caller, 'exit');
    await until(() => pids.every((path) => existsSync(path) && readFileSync(path, 'utf8').endsWith('\n')));
    const running = pids.map((path) => Number(readFileSync(path, 'utf8')));
    expect(running.every(isAlive)).toBe(true);
    caller.kill(signal);
    expect(await ended).toEqual([null, signal]);
    await until(() => !existsSync(unfinished));
    await until(() => !running.some(isAlive));
    expect(existsSync(join(folder, 'cleaned-up'))).toBe(cleansUp);
  });
});
