import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { REPOSITORY } from '../../scripts/generate/artifact.ts';
import { ledger } from '../../src/simulator/world/ledger.ts';
import { type MarketplaceBench, marketplaceBench } from './marketplace.ts';

/* A disk that takes no byte more: what was bought or made is told all the same. */

let bench: MarketplaceBench;
beforeAll(async () => {
  bench = await marketplaceBench();
});
afterAll(() => bench.close());

/** Runs as a process that may not write to any file. */
async function run(...args: readonly string[]) {
  const program = [process.execPath, join(REPOSITORY, 'src/cli/main.ts'), ...args];
  const env = {
    PATH: process.env.PATH ?? '',
    HOME: bench.cli.home,
    GPU_RENT_URL: bench.url,
    GPU_RENT_API_KEY: bench.service.simulator.apiKey,
  };
  const shell = ['-c', `trap '' XFSZ; ulimit -f 0; exec "$@"`, 'bash', ...program];
  return promisify(execFile)('bash', shell, { env }).catch(
    (error: { readonly stdout: string; readonly stderr: string }) => error,
  );
}

test('names a machine before it fails to save its key', async () => {
  const [offer] = await bench.offers();
  const file = join(bench.cli.home, 'machine.key');
  const args = ['create', 'instance', String(offer), '--image', 'ubuntu:24.04', '--save-key', file];
  const { stdout, stderr } = await run(...args);
  const [rented] = ledger(bench.service.simulator.world()).contracts;
  expect(stdout).toBe(`instance/${rented?.id} created\n`);
  expect(stderr).toMatch(/^Error: EFBIG/);
});

test('a key whose secret cannot be saved is named, so that it can be deleted', async () => {
  const { stderr } = await run('create', 'api-key', '--save', join(bench.cli.home, 'lost.key'));
  expect(stderr).toMatch(
    /^Error: --save: api-key\/\d+ was created, and its secret could not be written: EFBIG/,
  );
  expect(stderr).toMatch(/gpu-rent delete api-key \d+, then create another key/);
});
