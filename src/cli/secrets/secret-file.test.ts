import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Secret } from '../../lib/secret.ts';
import { replaceSecret, reserveSecretFile } from './secret-file.ts';

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'secret-file-'));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const modeOf = (path: string) => statSync(path).mode & 0o777;

describe('a secret that may be renewed', () => {
  test('is for its owner alone, and so is the folder that is made for it', async () => {
    const path = join(home, 'gpu-rent', 'session_key');
    await replaceSecret(path, new Secret('canary'));
    expect([modeOf(path), modeOf(dirname(path)), readFileSync(path, 'utf8')]).toEqual([
      0o600,
      0o700,
      'canary\n',
    ]);
  });

  test('takes the place of one that others could read, and they no more can', async () => {
    const path = join(home, 'session_key');
    writeFileSync(path, 'a longer one from before');
    chmodSync(path, 0o644);
    await replaceSecret(path, new Secret('canary'));
    expect([modeOf(path), readFileSync(path, 'utf8')]).toEqual([0o600, 'canary\n']);
  });
});

describe('a place for a secret', () => {
  test('is there, empty and for its owner alone, before the secret is', async () => {
    const path = join(home, 'made.key');
    await using file = await reserveSecretFile(path, '--save');
    expect([modeOf(path), readFileSync(path, 'utf8')]).toEqual([0o600, '']);
    await file.write('canary');
    expect(readFileSync(path, 'utf8')).toBe('canary\n');
  });

  test('is gone where nothing came to be written', async () => {
    const path = join(home, 'made.key');
    {
      await using _file = await reserveSecretFile(path, '--save');
    }
    expect(() => statSync(path)).toThrow('ENOENT');
  });

  test.each([
    ['is there already', 'taken', /^--save: .*taken is there already and is not written over\.$/],
    ['cannot be written', 'none/made.key', /^--save: cannot write .*made\.key \(ENOENT\)\.$/],
  ])('that %s is refused by the name of its flag', async (_, name, message) => {
    writeFileSync(join(home, 'taken'), 'another');
    await expect(reserveSecretFile(join(home, name), '--save')).rejects.toThrow(message);
    expect(readFileSync(join(home, 'taken'), 'utf8')).toBe('another');
  });
});
