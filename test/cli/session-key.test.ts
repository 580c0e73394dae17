import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { commandLine } from './command-line.ts';
import { type MarketplaceBench, marketplaceBench } from './marketplace.ts';

/* A session key of a login ends some day; the ordinary key stands in for it, but never in the middle of a change. */

let bench: MarketplaceBench;
let cli: ReturnType<typeof commandLine>;
beforeAll(async () => {
  bench = await marketplaceBench();
  cli = commandLine({ GPU_RENT_URL: bench.url });
  for (const name of ['gpu-rent/session_key', 'gpu-rent/api_key']) {
    const path = join(cli.home, '.config', name);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, bench.service.simulator.apiKey, { mode: 0o600 });
  }
});
afterAll(async () => {
  cli.leave();
  await bench.close();
});
beforeEach(() => bench.clearFaults());

describe('a session that has ended', () => {
  test('before anything was answered is reported, and the ordinary key is used', async () => {
    await bench.fault('revoked-key', 'list');
    const { exitCode, stderr } = await cli.run(['list', 'instances']);
    expect(exitCode).toBe(0);
    expect(stderr).toMatch(/^The session key of .*session_key has ended; the ordinary key is used\.$/m);
  });

  test('after something was answered ends the command: what it has done is not done again', async () => {
    const [offer] = await bench.offers();
    const rented = await cli.run(['create', 'instance', String(offer), '--image', 'ubuntu', '-o', 'json']);
    const { id } = JSON.parse(rented.stdout);
    await bench.fault('revoked-key', 'destroy');
    const { exitCode, stderr } = await cli.run(['destroy', 'instance', String(id), '--yes']);
    expect(exitCode).not.toBe(0);
    expect(stderr).not.toContain('the ordinary key is used');
    expect(bench.service.simulator.world().tables.contracts[id]).toBeDefined();
  });
});

test('a session that has not ended is kept to where a reply is lost: nothing is sent again with the ordinary key', async () => {
  const [offer] = await bench.offers();
  const contracts = () => Object.keys(bench.service.simulator.world().tables.contracts).length;
  const before = contracts();
  await bench.fault('reset-after', 'PUT /api/v0/asks/{id}');
  await bench.fault('5xx', 'GET /api/v0/instances/', { count: 100 });
  const { exitCode, stderr } = await cli.run(['create', 'instance', String(offer), '--image', 'ubuntu']);
  expect(exitCode).not.toBe(0);
  expect(stderr).not.toContain('the ordinary key is used');
  expect(contracts()).toBe(before + 1);
});
