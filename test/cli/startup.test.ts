import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { open, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { REPOSITORY } from '../../scripts/generate/artifact.ts';
import { ledger } from '../../src/simulator/world/ledger.ts';
import { until } from '../builders/until.ts';
import { type MarketplaceBench, marketplaceBench } from './marketplace.ts';

/* As a process: a command loads what it needs and nothing else, so that it starts at once. */

const run = promisify(execFile);
const MAIN = join(REPOSITORY, 'src/cli/main.ts');

/** Says on stderr which files were loaded, from the root of the repository. */
const RECORDER = `
  import { registerHooks } from 'node:module';
  const loaded = new Set();
  registerHooks({ load: (url, context, next) => (loaded.add(url), next(url, context)) });
  process.on('exit', () => process.stderr.write(JSON.stringify([...loaded])));`;

async function loadedBy(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const recorder = `data:text/javascript,${encodeURIComponent(RECORDER)}`;
  const { stderr } = await run(process.execPath, ['--import', recorder, MAIN, ...args], {
    env: { PATH: process.env.PATH ?? '', HOME: '/nonexistent', ...env },
  });
  return (JSON.parse(stderr) as string[]).flatMap(
    (url) => /\/((?:src|node_modules)\/.*)/.exec(url)?.[1] ?? [],
  );
}

const packages = (files: readonly string[]) =>
  new Set(files.flatMap((file) => /^node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(file)?.[1] ?? []));
const folders = (files: readonly string[]) =>
  new Set(files.flatMap((file) => /^src\/([a-z]+)\//.exec(file)?.[1] ?? []));

const ofApi = (files: readonly string[]) => files.filter((file) => file.startsWith('src/api/'));
const NAMES = ['src/api/v1alpha1/names.ts'];

let bench: MarketplaceBench;
beforeAll(async () => {
  bench = await marketplaceBench();
});
afterAll(() => bench.close());

describe('what is loaded', () => {
  test('for --help is the catalogue, and no package', async () => {
    const files = await loadedBy(['--help']);
    expect(packages(files)).toEqual(new Set());
    expect(folders(files)).toEqual(new Set(['api', 'cli']));
    expect(ofApi(files), 'the names of kinds, as commands are called by').toEqual(NAMES);
    expect(files.length).toBeLessThan(25);
  });

  test('for the help of one command is that command', async () => {
    const files = await loadedBy(['create', 'endpoint', '--help']);
    expect(packages(files)).toEqual(new Set(['commander']));
    expect(files.filter((file) => file.startsWith('src/cli/commands/'))).toEqual([
      'src/cli/commands/endpoints.ts',
    ]);
  });

  test('for a call to the marketplace is its client, and nothing of the cluster', async () => {
    const env = { GPU_RENT_URL: bench.url, GPU_RENT_API_KEY: bench.service.simulator.apiKey };
    const files = await loadedBy(['show', 'user'], env);
    expect(packages(files)).toEqual(new Set(['commander', 'undici', 'zod']));
    expect(ofApi(files)).toEqual(NAMES);
    expect(folders(files)).toEqual(new Set(['api', 'cli', 'lib', 'market', 'markets', 'views']));
  });
});

/** Rents that many machines. Returns their IDs. */
async function rented(count: number): Promise<string[]> {
  const ids: string[] = [];
  for (const offer of (await bench.offers()).slice(0, count)) {
    const { body } = await bench.service.call(`PUT /api/v0/asks/${offer}/`, { image: 'ubuntu:24.04' });
    ids.push(String(body.new_contract));
  }
  return ids;
}

describe('a process', () => {
  const env = () => ({
    PATH: process.env.PATH ?? '',
    HOME: '/nonexistent',
    GPU_RENT_URL: bench.url,
    GPU_RENT_API_KEY: bench.service.simulator.apiKey,
  });
  const ended = (child: ChildProcess) =>
    new Promise<number | null>((resolve) => {
      child.once('close', resolve);
    });

  test('whose reader goes away ends in silence with 0', async () => {
    const child = spawn(process.execPath, [MAIN, 'search', 'offers', '--limit', '60', '-o', 'yaml'], {
      env: env(),
    });
    child.stdout.destroy();
    const said = text(child.stderr);
    expect(await ended(child)).toBe(0);
    expect(await said).toBe('');
  });

  test('whose reader goes away destroys every machine that was named, and is no failure', async () => {
    const machines = await rented(2);
    const child = spawn(process.execPath, [MAIN, 'destroy', 'instance', ...machines, '--yes'], {
      env: env(),
    });
    child.stdout.destroy();
    expect(await ended(child)).toBe(0);
    expect(ledger(bench.service.simulator.world()).billing).toBe(0);
  });

  test('whose results find no room makes its change, then says so and ends with 1', async () => {
    await using full = await open('/dev/full', 'w');
    const child = spawn(process.execPath, [MAIN, 'create', 'endpoint', '--endpoint_name', 'unseen'], {
      env: env(),
      stdio: ['ignore', full.fd, 'pipe'],
    });
    const said = child.stderr && text(child.stderr);
    expect(await ended(child)).toBe(1);
    expect(await said).toMatch(/^Error: The results could not be written to stdout \(ENOSPC\)/);
    const groups = Object.values(bench.service.simulator.world().tables.endpointGroups);
    expect(groups).toMatchObject([{ name: 'unseen' }]);
  });

  test('that gets Ctrl-C while it waits says so in one word and ends with 130', async () => {
    await bench.fault('delayed-reply', 'GET /api/v0/users/current', { count: 1, seconds: 30 });
    const child = spawn(process.execPath, [MAIN, 'show', 'user', '--explain'], { env: env() });
    const said = text(child.stderr);
    await new Promise((resolve) => child.stderr.once('data', resolve));
    child.kill('SIGINT');
    expect(await ended(child)).toBe(130);
    expect(await said).toMatch(/Interrupted\.\n$/);
  });

  test('that gets Ctrl-C while a change is under way names no culprit, and says to check whether it happened', async () => {
    const [machine] = await rented(1);
    await bench.fault('delayed-reply', 'DELETE /api/v0/instances/{id}', { count: 1, seconds: 30 });
    const child = spawn(process.execPath, [MAIN, 'destroy', 'instance', String(machine), '--yes'], {
      env: env(),
    });
    const said = text(child.stderr);
    await until('it is destroyed', () => ledger(bench.service.simulator.world()).billing === 0);
    child.kill('SIGINT');
    expect(await ended(child)).toBe(130);
    expect((await said).split('\n')).toEqual([
      'Interrupted.',
      'Error: destroy an instance: given up.',
      'It is unknown whether it took effect.',
      'What to do: Check whether it took effect before you repeat it.',
      '',
    ]);
  });

  test('of a Node.js that is too old says so before anything else, and ends with 2', async () => {
    const older =
      "Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.20.2' } })";
    const preload = `data:text/javascript,${encodeURIComponent(older)}`;
    const child = spawn(process.execPath, ['--import', preload, MAIN, 'doctor'], { env: env() });
    const [said, exitCode] = [text(child.stderr), ended(child)];
    expect(await said).toMatch(
      /^Error: gpu-rent needs Node\.js \d+\.\d+ or newer, and this is Node\.js 20\.20\.2\.\n/,
    );
    expect(await exitCode).toBe(2);
  });

  test('that kubectl starts speaks as kubectl gpu-rent', async () => {
    const plugin = join(bench.cli.home, 'kubectl-gpu_rent');
    await symlink(MAIN, plugin);
    const { stdout } = await run(process.execPath, [plugin, 'status', '--help']);
    expect(stdout).toContain('Usage: kubectl gpu-rent status');
  });
});
