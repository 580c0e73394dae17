import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';

const WATCHDOG = JSON.stringify(join(import.meta.dirname, 'watchdog.ts'));

vi.setConfig({ testTimeout: 30_000 });

/** Runs code in a process that is watched. */
function watched(what: string) {
  const code = `const { Watchdog } = await import(${WATCHDOG});
    new Watchdog({ tickMs: 100, ticks: 10 }).running('story "of a test"');
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    ${what}`;
  const folder = mkdtempSync(join(tmpdir(), 'gpu-rental-watchdog-'));
  const file = join(folder, 'watched.mjs');
  writeFileSync(file, code);
  const limits = { timeout: 20_000, killSignal: 'SIGKILL' } as const;
  const { status, stdout, stderr } = spawnSync(process.execPath, [file], { encoding: 'utf8', ...limits });
  rmSync(folder, { recursive: true });
  return { status, stdout, stderr };
}

test('a schedule that loops in promises is named, and ends the process', () => {
  const { status, stderr } = watched('for (;;) await undefined;');
  expect(status).toBe(1);
  expect(stderr).toContain('no step for 1 s, in story "of a test"');
});

test('one that never leaves a function is, too', () => {
  const { status, stderr } = watched('for (;;);');
  expect({ status, isNamed: stderr.includes('story "of a test"') }).toEqual({ status: 1, isNamed: true });
});

test('one that takes its steps is left alone, however long it takes, and ends by itself', () => {
  const { status, stdout, stderr } = watched(`const end = performance.now() + 2_000;
    while (performance.now() < end) await new Promise((resolve) => setImmediate(resolve));
    console.log('done');`);
  expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: 'done\n', stderr: '' });
});
