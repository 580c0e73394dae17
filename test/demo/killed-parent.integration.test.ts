import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach, expect, test } from 'vitest';
import { until } from '../builders/until.ts';

const PARENT = join(import.meta.dirname, 'parent.ts');

let parent: ChildProcess | undefined;
let folder: string | undefined;

afterEach(() => {
  parent?.kill('SIGKILL');
  if (folder) rmSync(folder, { recursive: true, force: true });
});

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

test('a demo that is killed leaves no process behind', async () => {
  folder = mkdtempSync(join(tmpdir(), 'gpu-rental-killed-'));
  parent = spawn(process.execPath, [PARENT, folder], { stdio: ['ignore', 'pipe', 'inherit'] });
  if (!parent.stdout) throw new Error('the parent has no stdout');
  const [line] = (await once(createInterface({ input: parent.stdout }), 'line')) as [string];
  const pid = Number(line);
  expect(isAlive(pid)).toBe(true);
  parent.kill('SIGKILL');
  await until('the simulator ended too', async () => !isAlive(pid));
});
