import { execFileSync } from 'node:child_process';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { type MarketplaceBench, marketplaceBench } from './marketplace.ts';

/* Completion as shells ask for it, in cobra's protocol: `value<TAB>description` lines, then `:4`. */

let bench: MarketplaceBench;
beforeAll(async () => {
  bench = await marketplaceBench();
});
afterAll(() => bench.close());
afterEach(() => vi.restoreAllMocks());

/** Returns the completions for a line whose last word is incomplete. The library prints them with console.log. */
async function offered(line: string): Promise<readonly string[]> {
  const printed = vi.spyOn(console, 'log').mockImplementation(() => {});
  printed.mockClear();
  const { exitCode } = await bench.cli.run(['complete', '--', ...line.split(' ')]);
  const lines = printed.mock.calls.map(([text]) => String(text));
  expect(exitCode).toBe(0);
  expect(lines.at(-1)).toBe(':4');
  return lines.slice(0, -1).map((text) => text.split('\t')[0] ?? '');
}

test.each([
  ['sea', ['search']],
  ['search ', ['offers', 'volumes']],
  ['avoid ', ['list', 'add', 'clear']],
  ['create endpoint --mi', ['--min_load', '--min_cold_load']],
  ['create endpoint --min-', ['--min-load', '--min-cold-load']],
  ['list instances -o ', ['table', 'wide', 'json', 'yaml', 'name']],
  ['-o json list inst', ['instances']],
  ['tfa add ', ['totp', 'sms']],
  ['nothing of the ki', []],
])('gpu-rent %s is completed by %j', async (line, values) => {
  expect(await offered(line)).toEqual(values);
});

test('every command is offered where nothing was typed', async () => {
  const values = await offered('');
  for (const value of ['plan', 'status', 'create', 'tfa', 'simulator']) expect(values).toContain(value);
  expect(values).toEqual([...new Set(values)]);
});

test('machines of the login are offered by id, and nothing where the marketplace is away', async () => {
  const [offer] = await bench.offers();
  const args = ['create', 'instance', String(offer), '--image', 'ubuntu:24.04', '-o', 'json'];
  const { id } = JSON.parse((await bench.cli.run(args)).stdout);
  expect(await offered('show instance ')).toEqual([String(id)]);
  expect(await offered('show instance --url http://127.0.0.1:1 ')).toEqual([]);
});

describe('the script', () => {
  test.each(['bash', 'zsh', 'fish', 'powershell', 'kubectl'])('of %s asks us', async (shell) => {
    const { exitCode, stdout } = await bench.cli.run(['completion', shell]);
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/gpu-rent['"]? complete/);
  });

  test.each(['bash', 'kubectl'])('of %s is one that the shell can read', async (shell) => {
    const { stdout } = await bench.cli.run(['completion', shell]);
    execFileSync('bash', ['-n'], { input: stdout });
  });

  test('of another shell is refused with those there are', async () => {
    const { exitCode, stderr } = await bench.cli.run(['completion', 'tcsh']);
    expect(exitCode).toBe(2);
    expect(stderr).toContain('"tcsh" is none of bash, zsh, fish, powershell, kubectl.');
  });

  test('is installed where the shell looks, the one of kubectl as a program', async () => {
    const env = { SHELL: '/usr/bin/fish' };
    await bench.cli.run(['completion', 'install'], { env });
    const fish = join(bench.cli.home, '.config/fish/completions/gpu-rent.fish');
    expect(await readFile(fish, 'utf8')).toContain('complete');
    const { stdout } = await bench.cli.run(['completion', 'install', 'kubectl']);
    const plugin = join(bench.cli.home, '.local/bin/kubectl_complete-gpu_rent');
    expect((await stat(plugin)).mode & 0o111).toBe(0o111);
    expect(stdout).toContain('must be on PATH');
  });
});
