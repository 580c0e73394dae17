import { mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { withBuildLock } from './build-lock.ts';

let folder = '';

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'build-lock-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test('lets one build run at a time, and says to the other that it waits', async () => {
  const path = join(folder, 'cache', 'lock');
  const waited: string[] = [];
  const order: string[] = [];
  const build = (name: string) =>
    withBuildLock(
      path,
      () => waited.push(name),
      async () => {
        order.push(`${name} begins`);
        await new Promise((resolve) => setTimeout(resolve, 20));
        order.push(`${name} ends`);
      },
    );
  await Promise.all([build('first'), build('second')]);
  expect(order).toEqual(['first begins', 'first ends', 'second begins', 'second ends']);
  expect(new Set(waited)).toEqual(new Set(['second']));
});

test('takes over from a process that was killed while it built', async () => {
  const path = join(folder, 'lock');
  writeFileSync(path, '1\n');
  const aMinuteAgo = new Date(Date.now() - 60_000);
  utimesSync(path, aMinuteAgo, aMinuteAgo);
  await expect(
    withBuildLock(
      path,
      () => {},
      async () => 'built',
    ),
  ).resolves.toBe('built');
});

test('gives the lock back when a build fails', async () => {
  const path = join(folder, 'lock');
  const fail = () => Promise.reject(new Error('no compiler'));
  await expect(withBuildLock(path, () => {}, fail)).rejects.toThrow('no compiler');
  await expect(
    withBuildLock(
      path,
      () => {},
      async () => 'built',
    ),
  ).resolves.toBe('built');
});
