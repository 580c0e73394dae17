import { lstat, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { replaceFile } from './replace-file.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'replace-file-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

describe('a file that is replaced (A12)', () => {
  test('has the new text and mode, and leaves nothing beside it', async () => {
    const place = join(folder, 'plain');
    await mkdir(place);
    const file = join(place, 'config');
    await writeFile(file, 'old', { mode: 0o644 });
    await replaceFile(file, 'new', 0o600);
    expect(await readFile(file, 'utf8')).toBe('new');
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect(await readdir(place)).toEqual(['config']);
  });

  test('writes through no link, neither of its own name nor of FILE.new', async () => {
    const place = join(folder, 'links');
    await mkdir(place);
    const victim = join(folder, 'victim');
    await writeFile(victim, 'kept');
    const file = join(place, 'config');
    await symlink(victim, file);
    await symlink(victim, `${file}.new`);
    await replaceFile(file, 'new', 0o600);
    expect(await readFile(victim, 'utf8')).toBe('kept');
    expect((await lstat(file)).isSymbolicLink()).toBe(false);
    expect(await readFile(file, 'utf8')).toBe('new');
  });

  test('leaves nothing beside it when it cannot be replaced', async () => {
    const place = join(folder, 'refused');
    await mkdir(join(place, 'config', 'below'), { recursive: true });
    await expect(replaceFile(join(place, 'config'), 'new', 0o600)).rejects.toThrow();
    expect(await readdir(place)).toEqual(['config']);
  });
});
