import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { catalog } from '../../src/cli/catalog.ts';
import { runProgram } from '../../src/cli/program.ts';
import { type SimulatedService, simulatedService } from '../builders/simulated-service.ts';

/* The command line of specification 4.9, run against a simulator that listens on loopback. */

let service: SimulatedService;
let server: { readonly url: string; close(): Promise<void> };
let home: string;

beforeAll(async () => {
  service = simulatedService();
  server = await service.simulator.listen();
  home = await mkdtemp(join(tmpdir(), 'gpu-rent-conformance-'));
});

afterAll(async () => {
  await server.close();
  await rm(home, { recursive: true });
});

interface Ran {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

async function run(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Ran> {
  const [stdout, stderr, stdin] = [new PassThrough(), new PassThrough(), new PassThrough()];
  const context = {
    stdout,
    stderr,
    stdin,
    env: { HOME: home, XDG_CONFIG_HOME: join(home, '.config'), ...env },
    signal: new AbortController().signal,
  };
  const exitCode = await runProgram({ groups: catalog, version: '0', calledAs: 'gpu-rent' }, args, context);
  return { exitCode, stdout: String(stdout.read() ?? ''), stderr: String(stderr.read() ?? '') };
}

const signedIn = (): readonly string[] => ['--url', server.url, '--api-key', service.simulator.apiKey];

const newestGroup = () => Object.values(service.simulator.world().tables.endpointGroups).at(-1);

describe('create endpoint', () => {
  /** Each with a value of its own, that no other has and no default is. */
  const EVERY_OPTION: readonly (readonly [string, string])[] = [
    ['--min_load', '1.5'],
    ['--min_cold_load', '2.5'],
    ['--target_util', '0.8'],
    ['--cold_mult', '3'],
    ['--cold_workers', '4'],
    ['--max_workers', '9'],
    ['--endpoint_name', 'spelled'],
    ['--max_queue_time', '20'],
    ['--target_queue_time', '5'],
    ['--inactivity_timeout', '600'],
  ];
  const AS_GIVEN = {
    name: 'spelled',
    options: {
      min_load: 1.5,
      min_cold_load: 2.5,
      target_util: 0.8,
      cold_mult: 3,
      cold_workers: 4,
      max_workers: 9,
      max_queue_time: 20,
      target_queue_time: 5,
      inactivity_timeout: 600,
    },
  };

  test('every option as the specification spells it reaches the service', async () => {
    const { exitCode } = await run(['create', 'endpoint', ...EVERY_OPTION.flat(), ...signedIn()]);
    expect(exitCode).toBe(0);
    expect(newestGroup()).toMatchObject(AS_GIVEN);
  });

  test.for([
    ['with dashes', (flag: string, value: string) => [flag.replaceAll('_', '-'), value]],
    ['with an equals sign', (flag: string, value: string) => [`${flag}=${value}`]],
  ] as const)('every option %s reaches it as well', async ([_name, spell]) => {
    const options = EVERY_OPTION.flatMap(([flag, value]) => spell(flag, value));
    expect((await run(['create', 'endpoint', ...options, ...signedIn()])).exitCode).toBe(0);
    expect(newestGroup()).toMatchObject(AS_GIVEN);
  });

  test('no option is required, not even a name', async () => {
    expect((await run(['create', 'endpoint', ...signedIn()])).exitCode).toBe(0);
    expect(newestGroup()).toMatchObject({ name: `endpoint-${newestGroup()?.id}`, options: { min_load: 0 } });
  });

  test('a name alone gets the defaults of the specification', async () => {
    await run(['create', 'endpoint', '--endpoint_name', 'defaults', ...signedIn()]);
    expect(newestGroup()).toMatchObject({
      name: 'defaults',
      options: {
        min_load: 0,
        min_cold_load: 0,
        target_util: 0.9,
        cold_mult: 2.5,
        cold_workers: 5,
        max_workers: 20,
        max_queue_time: 30,
        target_queue_time: 10,
        inactivity_timeout: null,
      },
    });
  });
});

describe('the global options', () => {
  test('--url and --api-key say which service and who', async () => {
    expect((await run(['list', 'endpoints', ...signedIn()])).exitCode).toBe(0);
    const wrong = run(['list', 'endpoints', '--url', server.url, '--api-key', 'nobody']);
    await expect(wrong).rejects.toMatchObject({ kind: 'unauthorized' });
  });

  test('the key is read from a per-user file unless it is given', async () => {
    const file = join(home, '.vast_api_key');
    await writeFile(file, `${service.simulator.apiKey}\n`, { mode: 0o600 });
    expect((await run(['list', 'endpoints', '--url', server.url])).exitCode).toBe(0);
    await rm(file);
  });

  test('--raw prints JSON', async () => {
    const { stdout } = await run(['list', 'endpoints', '--raw', ...signedIn()]);
    expect(Array.isArray(JSON.parse(stdout))).toBe(true);
  });

  test('--explain shows the calls and not the key', async () => {
    const { stderr } = await run(['list', 'endpoints', '--explain', ...signedIn()]);
    expect(stderr).toContain('/api/v0/endptjobs/');
    expect(stderr).not.toContain(service.simulator.apiKey);
  });

  test('--retry limits the attempts of a read', async () => {
    const failing = async (retry: string): Promise<number> => {
      await service.call('POST /sim/faults', { name: '5xx', endpoint: 'GET /api/v0/endptjobs', count: 9 });
      await expect(run(['list', 'endpoints', '--retry', retry, ...signedIn()])).rejects.toThrow();
      const [fault] = (await service.call('GET /sim/faults')).body.faults;
      await service.call(`DELETE /sim/faults/${fault.id}`);
      return 9 - (fault.remaining ?? fault.count);
    };
    expect([await failing('1'), await failing('2')]).toEqual([1, 2]);
  });
});
