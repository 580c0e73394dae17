import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { type MarketplaceBench, marketplaceBench } from './marketplace.ts';

/* The forms of results: what scripts read is on stdout and the same everywhere, everything else on stderr. */

let bench: MarketplaceBench;
let id: string;
beforeAll(async () => {
  bench = await marketplaceBench();
  const [offer] = await bench.offers();
  const args = ['create', 'instance', String(offer), '--image', 'ubuntu:24.04', '--label', 'shown'];
  const { stdout } = await bench.cli.run([...args, '-o', 'json']);
  id = String(JSON.parse(stdout).id);
});
afterAll(() => bench.close());

const listed = (...more: readonly string[]) => bench.cli.run(['list', 'instances', ...more]);

describe('a list', () => {
  test('is a table with a dash where there is nothing', async () => {
    const { stdout } = await listed();
    const [heading = '', row = ''] = stdout.split('\n');
    expect(heading).toMatch(/^ID {2,}STATUS {2,}GPU/);
    expect(row).toContain('provisioning');
    expect(row.startsWith(id)).toBe(true);
  });

  test('has more columns with -o wide, and no heading with --no-headers', async () => {
    const [plain, wide, bare] = await Promise.all([listed(), listed('-o', 'wide'), listed('--no-headers')]);
    expect(wide.stdout.split('\n')[0]?.length).toBeGreaterThan(plain.stdout.split('\n')[0]?.length ?? 0);
    expect(bare.stdout.startsWith(id)).toBe(true);
  });

  test('is the same value as JSON, YAML and --raw', async () => {
    const [json, yaml, raw] = await Promise.all([
      listed('-o', 'json'),
      listed('-o', 'yaml'),
      listed('--raw'),
    ]);
    expect(raw.stdout).toBe(json.stdout);
    expect(parse(yaml.stdout)).toEqual(JSON.parse(json.stdout));
    expect(JSON.parse(json.stdout)).toMatchObject([{ id, label: 'shown' }]);
  });

  test('is kind/name with -o name', async () => {
    expect((await listed('-o', 'name')).stdout).toBe(`instance/${id}\n`);
  });

  test('without rows says so on stderr, and is an empty list to scripts', async () => {
    expect(await listed('--label', 'nobody')).toMatchObject({ stdout: '', stderr: 'No instances found.\n' });
    expect((await listed('--label', 'nobody', '-o', 'json')).stdout).toBe('[]\n');
  });
});

describe('--raw', () => {
  test.for([
    'show user',
    'list instances',
    'list endpoints',
    'list workergroups',
    'list volumes',
    'list api-keys',
    'list ssh-keys',
    'list secrets',
    'search offers --limit 2',
    'search volumes --limit 2',
    'tfa status',
    'tfa send-code email',
    'tfa totp-setup',
    'create endpoint --endpoint_name raw',
    'create api-key',
    'version',
    'api GET /api/v0/users/current/',
  ])('%s prints one JSON value and nothing else', async (line) => {
    const { exitCode, stdout } = await bench.cli.run([...line.split(' '), '--raw']);
    expect(exitCode).toBe(0);
    expect(() => JSON.parse(stdout)).not.toThrow();
  });

  test.for(['list instances', 'list ssh-keys'])('%s says when in ISO 8601', async (line) => {
    const { stdout } = await bench.cli.run([...line.split(' '), '--raw']);
    const rows = JSON.parse(stdout) as readonly Readonly<Record<string, unknown>>[];
    const times = rows.map(({ startedAt, createdAt }) => startedAt ?? createdAt);
    expect(times[0]).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
  });

  const MORE: Readonly<Record<string, readonly string[]>> = { label: ['shown'], recycle: ['--yes'] };
  test.for(['show', 'label', 'stop', 'start', 'reboot', 'recycle', 'logs'])(
    '%s of an instance does as well',
    async (verb) => {
      const args = verb === 'logs' ? [verb, id] : [verb, 'instance', id, ...(MORE[verb] ?? [])];
      const { exitCode, stdout, stderr } = await bench.cli.run([...args, '--raw']);
      expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
      expect(JSON.parse(stdout)).toMatchObject({ id });
    },
  );
});

describe('options', () => {
  test.each([
    [['--limit', '3', '--order', 'dph_total-']],
    [['--order=dph_total-', '--limit=3']],
    [['--no_default', '--no-default', '--limit', '3', '--order', 'dph_total-']],
  ])('%j are understood in every spelling', async (args) => {
    const { exitCode, stdout } = await bench.cli.run(['search', 'offers', ...args, '-o', 'json']);
    const prices = (JSON.parse(stdout) as { pricePerHour: number }[]).map(({ pricePerHour }) => pricePerHour);
    expect(exitCode).toBe(0);
    expect(prices).toHaveLength(3);
    expect(prices).toEqual(prices.toSorted((a, b) => b - a));
  });

  test('shared ones may stand before the command', async () => {
    const { stdout } = await bench.cli.run(['--url', bench.url, '-o', 'name', 'list', 'instances']);
    expect(stdout).toBe(`instance/${id}\n`);
  });
});

describe('progress', () => {
  test('is shown on a terminal and taken away again', async () => {
    const [offer] = await bench.offers();
    const terminal = bench.cli.atTerminal(['create', 'instance', String(offer), '--image', 'ubuntu:24.04']);
    expect(await terminal.ended).toBe(0);
    expect(terminal.shown()).toContain(`Renting offer ${offer} …`);
    expect(terminal.shown().split('\r\u001b[2K').at(-1)).toMatch(/^instance\/\d+ created\nIt bills \$/);
  });

  test('is not written where stderr is no terminal', async () => {
    const [offer] = await bench.offers();
    const { stderr } = await bench.cli.run(['create', 'instance', String(offer), '--image', 'ubuntu:24.04']);
    expect(stderr).not.toContain('Renting');
  });
});

describe('the service', () => {
  test('cannot steer the terminal with what it says', async () => {
    const label = (text: string) => bench.service.call(`PUT /api/v0/instances/${id}/`, { label: text });
    await label('a\u001b[2Jb\u0007c');
    const { stdout } = await listed();
    expect(stdout).toContain('ab c');
    expect(stdout).not.toContain('\u001b');
    await label('shown');
  });
});

describe('gpu-rent api', () => {
  test('sends any call once and prints the reply', async () => {
    const { exitCode, stdout } = await bench.cli.run(['api', 'get', '/api/v0/users/current/']);
    expect(exitCode).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ id: bench.service.user().id });
  });

  test('takes a body as text, from a file or from stdin', async () => {
    const body = '{"limit":2}';
    for (const args of [
      ['--body', body],
      ['--body', '-'],
      ['--body-file', '-'],
    ]) {
      const { stdout } = await bench.cli.run(['api', 'POST', '/api/v0/bundles/', ...args], { stdin: body });
      expect(JSON.parse(stdout).offers).toHaveLength(2);
    }
  });

  test('prints status and headers with --include, and fails with 1 on an error', async () => {
    const args = ['api', 'PUT', '/api/v0/asks/1/', '--body', '{}', '--include'];
    const { exitCode, stderr } = await bench.cli.run(args);
    expect([1, 3]).toContain(exitCode);
    expect(stderr).toMatch(/^HTTP 4\d\d\ncontent-type: application\/json/m);
  });
});
