import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { createRentals, ON_START_LIMIT, packOnStart, type RentRequest, toWireRent } from './rent.ts';

const folder = mkdtempSync(join(tmpdir(), 'onstart-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Returns the output of the script on a machine with this directory for temporary files. */
function run(script: string): string {
  return execFileSync('sh', ['-c', script], { encoding: 'utf8', env: { ...process.env, TMPDIR: folder } });
}

describe('a startup script', () => {
  test('that fits is sent as it is', () => {
    const script = 'x'.repeat(ON_START_LIMIT);
    expect(packOnStart(script)).toEqual({ type: 'plain', script });
  });

  test('scenario 75: that is too long is packed into a line that runs it', () => {
    const script = `#!/bin/sh\n${'# padding for a long script\n'.repeat(400)}echo "ran as $0" | cut -c1-6\n`;
    const packed = packOnStart(script);
    if (packed.type !== 'packed') throw new Error(packed.type);
    expect(packed.script.length).toBeLessThanOrEqual(ON_START_LIMIT);
    expect(run(packed.script)).toBe('ran as\n');
    expect(packOnStart(script)).toEqual(packed);
  });

  test('without an interpreter line runs in a shell', () => {
    const packed = packOnStart(`${'#'.repeat(5_000)}\necho hello\n`);
    if (packed.type !== 'packed') throw new Error(packed.type);
    expect(run(packed.script)).toBe('hello\n');
  });

  const long = (first: string) => {
    const packed = packOnStart(`${first}\n${'#'.repeat(5_000)}\n#!/bin/false\n`);
    if (packed.type !== 'packed') throw new Error(packed.type);
    return packed.script;
  };

  test.each([
    ['#!/usr/bin/env python3', '/usr/bin/env python3'],
    ['#! /bin/sh -e ', '/bin/sh -e'],
    ['#!/bin/sh\r', '/bin/sh'],
    ['echo #!/bin/true', '$(command -v bash || echo sh)'],
  ])('that begins with %j is run by %s, packed as it is plain', (first, interpreter) => {
    expect(long(first)).toMatch(/^f=\$\(mktemp\)&&echo [\w+/=]+\|base64 -d\|gzip -d>\$f&&/);
    expect(long(first).endsWith(`&&${interpreter} $f`)).toBe(true);
  });

  test('is run by the interpreter of its first line', () => {
    expect(run(long('#!/bin/cat'))).toContain('#!/bin/cat\n#####');
  });

  test('scenario 75: of many-byte characters counts by its bytes too', () => {
    expect(packOnStart('ü'.repeat(ON_START_LIMIT - 1)).type).toBe('packed');
  });

  test('scenario 75: that stays too long is refused with its byte count', () => {
    const script = randomBytes(6_000).toString('hex');
    expect(packOnStart(script)).toMatchObject({
      type: 'tooLong',
      bytes: 12_000,
      message: expect.stringContaining('12000 bytes'),
    });
  });
});

describe('a rent', () => {
  const rentals = createRentals({
    send: () => Promise.reject(new Error('sent')),
  } as never);
  const rent = (request: RentRequest) => rentals.rent('1', request, { deadlineMs: 1000 });

  test.each<[string, RentRequest, string]>([
    [
      'script',
      { onStart: 'ü'.repeat(2_025) },
      'onStart has 4050 bytes, at most 4048 fit: send what packOnStart returns',
    ],
    [
      'list of args',
      { args: ['x'.repeat(4_000), 'y'.repeat(96)] },
      'script and args have 4097 bytes together',
    ],
    [
      'script beside args',
      { onStart: 'x'.repeat(4_000), args: ['y'.repeat(96)] },
      'have 4097 bytes together',
    ],
  ])('M6: is refused before it is sent when its %s is too long', async (_, request, says) => {
    const refused = { kind: 'invalidRequest', outcome: 'refused', message: expect.stringContaining(says) };
    await expect(rent(request)).rejects.toMatchObject(refused);
    await expect(rentals.rentMany(['1'], request)).rejects.toMatchObject(refused);
  });

  test('M6: is sent when script and args just fit', async () => {
    await expect(rent({ onStart: 'x'.repeat(ON_START_LIMIT) })).rejects.toThrow('sent');
    await expect(rent({ args: ['x'.repeat(4_000), 'y'.repeat(95)] })).rejects.toThrow('sent');
  });

  test('B16: sends LF for CR LF', () => {
    expect(toWireRent({ onStart: 'a\r\nb\r\n' }).onstart).toBe('a\nb\n');
    expect(packOnStart('a\r\nb')).toEqual({ type: 'plain', script: 'a\nb' });
  });
});
