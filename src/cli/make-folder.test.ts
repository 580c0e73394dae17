import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { makeFolder } from './make-folder.ts';

let home: string;
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'make-folder-'));
});
afterEach(() => rm(home, { recursive: true }));

describe('a folder', () => {
  test('is made with those above it, each of the mode that was asked for', async () => {
    const path = join(home, 'a', 'b', 'c');
    await makeFolder(path, 0o700);
    for (const folder of [path, join(home, 'a', 'b'), join(home, 'a')]) {
      expect((await stat(folder)).mode & 0o777).toBe(0o700);
    }
  });

  test('that is there stays, also where two make it at once', async () => {
    const path = join(home, 'a', 'b');
    await Promise.all([makeFolder(path), makeFolder(path), makeFolder(path)]);
    await makeFolder(path);
    expect((await stat(path)).isDirectory()).toBe(true);
  });

  test('is refused where a file is in its way or above it', async () => {
    const file = join(home, 'file');
    await writeFile(file, '');
    await expect(makeFolder(file)).rejects.toMatchObject({ code: 'EEXIST' });
    await expect(makeFolder(join(file, 'a'))).rejects.toMatchObject({ code: 'ENOTDIR' });
  });

  test.runIf(process.platform === 'linux')(
    'is refused, and not tried for ever, where the one above takes no new one',
    async () => {
      await expect(makeFolder('/proc/gpu-rent/a')).rejects.toMatchObject({ code: 'ENOENT' });
    },
  );
});
