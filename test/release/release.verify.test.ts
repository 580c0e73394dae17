import { execFile, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { REPOSITORY } from '../../scripts/generate/artifact.ts';
import { ACTIONLINT, goTool } from '../tools/go-tool.ts';

const run = promisify(execFile);
/** The oldest Node that package.json allows. */
const OLDEST_NODE = `node-${process.platform}-${process.arch}@22.22.0`;

describe('the workflows', () => {
  test('pass actionlint', async () => {
    const { stdout } = await run(await goTool(ACTIONLINT), ['-no-color'], { cwd: REPOSITORY });
    expect(stdout).toBe('');
  });
});

describe('the package on the oldest Node that it allows', () => {
  let folder = '';
  let node = '';
  let program = '';

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'package-'));
    const npm = (...args: readonly string[]) => run('npm', [...args], { cwd: folder });
    await run(process.execPath, [join(REPOSITORY, 'scripts/build.ts')], { cwd: REPOSITORY });
    await run(process.execPath, [join(REPOSITORY, 'scripts/package.ts')], { cwd: REPOSITORY });
    const { stdout } = await run('npm', ['pack', '--silent', '--pack-destination', folder], {
      cwd: join(REPOSITORY, 'dist/package'),
    });
    mkdirSync(join(folder, 'node_modules'));
    await npm('init', '--yes');
    await npm('install', '--no-audit', '--no-fund', `./${stdout.trim()}`, OLDEST_NODE);
    node = join(folder, 'node_modules', OLDEST_NODE.replace(/@.*/, ''), 'bin/node');
    program = join(folder, 'node_modules/.bin/gpu-rent');
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  const gpuRent = (...args: readonly string[]) => run(node, [program, ...args], { cwd: folder });

  test('is run by that Node', async () => {
    expect((await run(node, ['--version'])).stdout).toBe('v22.22.0\n');
  });

  test('says its version and what it can do', async () => {
    expect((await gpuRent('version')).stdout).toMatch(/\d+\.\d+\.\d+/);
    expect((await gpuRent('--help')).stdout).toContain('Usage: gpu-rent');
  });

  test('rents from the simulator that it starts', async () => {
    const simulator = spawn(node, [program, 'simulator', '--port', '0'], { cwd: folder });
    try {
      const line = await new Promise<string>((resolve) => {
        createInterface({ input: simulator.stdout }).once('line', resolve);
      });
      const { url, apiKey } = z.object({ url: z.string(), apiKey: z.string() }).parse(JSON.parse(line));
      const { stdout } = await run(node, [program, 'search', 'offers', '-o', 'json'], {
        cwd: folder,
        env: { ...process.env, GPU_RENT_URL: url, GPU_RENT_API_KEY: apiKey },
      });
      expect(JSON.parse(stdout)).not.toEqual([]);
    } finally {
      simulator.kill('SIGTERM');
    }
  });
});

const bill = z.object({
  bomFormat: z.literal('CycloneDX'),
  components: z.array(z.object({ name: z.string(), group: z.string().optional(), version: z.string() })),
});

test('the SBOM names every runtime dependency with the version of the lock file', async () => {
  await run('npm', ['run', '--silent', 'sbom'], { cwd: REPOSITORY });
  const file = (path: string): unknown => JSON.parse(readFileSync(join(REPOSITORY, path), 'utf8'));
  const { components } = bill.parse(file('dist/sbom.cdx.json'));
  const named = components.map(({ group, name, version }) => `${group ? `${group}/` : ''}${name} ${version}`);
  const { dependencies } = z
    .object({ dependencies: z.record(z.string(), z.string()) })
    .parse(file('package.json'));
  expect(named).toEqual(
    expect.arrayContaining(Object.entries(dependencies).map(([name, version]) => `${name} ${version}`)),
  );
});
