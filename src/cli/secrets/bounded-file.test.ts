import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { FileTooLarge, readBounded } from './secret-input.ts';

test('reads a file without end up to its limit, and refuses it (C1)', async () => {
  await expect(readBounded('/dev/zero')).rejects.toBeInstanceOf(FileTooLarge);
});

test('reads a file at the limit whole, and refuses one byte more', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'bounded-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, 'key');
  writeFileSync(path, 'é'.repeat(524_288));
  expect(await readBounded(path)).toBe('é'.repeat(524_288));
  writeFileSync(path, 'x'.repeat(1_048_577));
  await expect(readBounded(path)).rejects.toBeInstanceOf(FileTooLarge);
  writeFileSync(path, '');
  expect(await readBounded(path)).toBe('');
});
