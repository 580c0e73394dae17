import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { Figures } from './figures.ts';
import { readSettings, SEARCH_MODES } from './settings.ts';
import { playSwarm } from './swarm.ts';

const MAIN = join(import.meta.dirname, 'main.ts');
const LIMIT_MS = 240_000;

interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** `make simulate` as a process of its own, in an environment of its own. */
function simulate(
  environment: Readonly<Record<string, string>>,
  meanwhile?: (pid: number) => void,
): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [MAIN], { env: { PATH: process.env['PATH'], ...environment } });
    child.on('spawn', () => meanwhile?.(Number(child.pid)));
    let [stdout, stderr] = ['', ''];
    child.stdout.on('data', (chunk) => (stdout += String(chunk)));
    child.stderr.on('data', (chunk) => (stderr += String(chunk)));
    child.on('error', reject).on('close', (code) => resolve({ code, stdout, stderr }));
  });
}

/** Kills what that process has started, as soon as it has. */
function killChildren(pid: number): void {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean);
  if (children.length === 0) setTimeout(() => killChildren(pid), 50);
  for (const child of children) process.kill(Number(child), 'SIGKILL');
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
  expect(stderr).toBe(`MODE=chaos means nothing here: write one of ${SEARCH_MODES.join(', ')}\n`);
});

/** Plays a small swarm. Returns its totals. */
async function swarm(cores: number) {
  const figures = new Figures();
  const settings = readSettings({ FIRST_SEED: '7', SEEDS: '3', CORES: String(cores) });
  await playSwarm({ settings, figures, goOn: () => true, onBegin() {}, onBroken() {} });
  const { schedules, violations, wastedContractSeconds, traceHash } = figures.summary();
  return { schedules, violations, wastedContractSeconds, traceHash };
}

test('a swarm on two cores adds up to what it does on one', { timeout: LIMIT_MS }, async () => {
  const [onOne, onTwo] = await Promise.all([swarm(1), swarm(2)]);
  expect(onTwo).toEqual(onOne);
  expect(onTwo.schedules).toBe(6);
});

test('a core that dies ends the run, and its seed is named', { timeout: LIMIT_MS }, async () => {
  const { code, stdout, stderr } = await simulate({ SEED: '7', CORES: '2' }, killChildren);
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toContain('The process that played seed 7 ended with SIGKILL');
});
