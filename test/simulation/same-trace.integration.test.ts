import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const MAIN = join(import.meta.dirname, 'main.ts');
const LIMIT_MS = 240_000;

interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** `make simulate` as a process of its own, in an environment of its own. */
function simulate(environment: Readonly<Record<string, string>>): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [MAIN], { env: { PATH: process.env['PATH'], ...environment } });
    let [stdout, stderr] = ['', ''];
    child.stdout.on('data', (chunk) => (stdout += String(chunk)));
    child.stderr.on('data', (chunk) => (stderr += String(chunk)));
    child.on('error', reject).on('close', (code) => resolve({ code, stdout, stderr }));
  });
}

const traceHash = ({ stdout }: Ended): unknown =>
  JSON.parse(stdout.trim().split('\n').at(-1) ?? '').traceHash;

test('a seed gives the same trace under another time zone and language, and on a busy machine', {
  timeout: LIMIT_MS,
}, async () => {
  const calm = await simulate({ SEED: '7', TZ: 'UTC', LANG: 'C' });
  const busy = await Promise.all([
    simulate({ SEED: '7', TZ: 'Pacific/Kiritimati', LANG: 'tr_TR.UTF-8', LC_ALL: 'tr_TR.UTF-8' }),
    simulate({ SEED: '8' }),
    simulate({ SEED: '9' }),
  ]);
  expect(traceHash(busy[0])).toBe(traceHash(calm));
  expect(traceHash(busy[1])).not.toBe(traceHash(calm));
  expect(busy.map(({ code }) => code)).toEqual([0, 0, 0]);
});

test('a setting that means nothing ends the run at once, with the remedy', {
  timeout: LIMIT_MS,
}, async () => {
  const { code, stdout, stderr } = await simulate({ MODE: 'chaos' });
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr).toBe('MODE=chaos means nothing here: write one of swarm, systematic, sequences\n');
});
