import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Interrupted } from '../../src/cli/command-error.ts';
import { ledger } from '../../src/simulator/world/ledger.ts';
import { until } from '../builders/until.ts';
import { type MarketplaceBench, marketplaceBench } from './marketplace.ts';

/* How each command line ends: 0 done, 1 failure, 2 usage, 3 not found, 4 timed out, 130 interrupted. */

let bench: MarketplaceBench;
beforeAll(async () => {
  bench = await marketplaceBench();
});
afterAll(() => bench.close());

interface Row {
  readonly line: string;
  readonly code: number;
  /** Expected text on stderr, or on stdout if the command succeeds. */
  readonly says: string;
}

const rows: readonly Row[] = [
  { line: '--help', code: 0, says: 'Usage: gpu-rent <command>' },
  { line: '', code: 0, says: 'Usage: gpu-rent <command>' },
  { line: '--version', code: 0, says: '1.2.3' },
  { line: 'create --help', code: 0, says: 'create endpoint' },
  { line: 'help create', code: 0, says: 'create endpoint' },
  { line: 'help create endpoint', code: 0, says: '--inactivity_timeout <number>' },
  { line: 'help nonsense', code: 0, says: 'Usage: gpu-rent <command>' },
  { line: 'create endpoint --help', code: 0, says: '--inactivity_timeout <number>' },
  { line: '-o json show user', code: 0, says: '"email"' },
  { line: 'create', code: 2, says: 'create endpoint' },
  { line: 'serch offers', code: 2, says: 'Did you mean: gpu-rent search offers?' },
  { line: 'statuss gpui/x', code: 2, says: 'Did you mean: gpu-rent status?' },
  { line: 'frobnicate', code: 2, says: 'gpu-rent --help lists the commands.' },
  { line: '--bogus', code: 2, says: 'No command after --bogus.' },
  { line: 'create endpoint --min_laod 3', code: 2, says: '(Did you mean --min_load?)' },
  {
    line: 'create endpoint --min_load much',
    code: 2,
    says: '--min_load: "much" is not a number of at least 0.',
  },
  { line: 'create endpoint --target-util 2', code: 2, says: '"2" is not a number from 0.01 to 1.' },
  { line: 'create endpoint --cold_workers 1.5', code: 2, says: '"1.5" is not a whole number of at least 0.' },
  { line: 'list instances -o jsn', code: 2, says: 'Allowed choices are table, wide, json, yaml, name.' },
  {
    line: 'list instances --retry many',
    code: 2,
    says: '--retry: "many" is not a whole number from 0 to 100.',
  },
  { line: 'show instance', code: 2, says: "missing required argument 'id'" },
  { line: 'show instance mine', code: 2, says: '"mine" is not a whole number' },
  { line: 'show instance 1 2', code: 2, says: 'too many arguments' },
  { line: 'search offers gpu_nam=X', code: 2, says: 'did you mean "gpu_name"?' },
  { line: 'search offers --order dph_totl', code: 2, says: '--order: "dph_totl" is no field of an offer' },
  { line: 'status gpu/x', code: 2, says: 'Write gpui/name, epg/name, gpuacct/name or gpubudget/name.' },
  { line: 'explain 17', code: 2, says: 'Write gpui/name or epg/name.' },
  { line: 'avoid add box/1', code: 2, says: '"box/1" is neither machine/id nor host/id.' },
  {
    line: 'wait gpui/x --timeout soon',
    code: 2,
    says: '--timeout: "soon" is not a time such as 30s, 5m or 1h30m.',
  },
  {
    line: 'wait gpui/x --for luck',
    code: 2,
    says: 'none of ready, delete, condition=Type[=Value], phase=Phase',
  },
  { line: 'plan', code: 2, says: 'Give -f file.yaml' },
  { line: 'api FETCH /x', code: 2, says: '"FETCH" is none of GET, POST, PUT, DELETE, PATCH.' },
  { line: 'api GET x', code: 2, says: 'must begin with /' },
  { line: 'api POST /x --body {bad', code: 2, says: 'it is not JSON' },
  { line: 'tfa add email', code: 2, says: '"email" is neither totp nor sms.' },
  {
    line: 'list instances --api-key-file /no/such/file',
    code: 2,
    says: 'cannot read /no/such/file (ENOENT)',
  },
  { line: 'show instance 999999', code: 3, says: 'There is no instance 999999.' },
  { line: 'destroy instance 999999', code: 3, says: 'nothing was destroyed' },
  { line: 'get endpoint 999999', code: 3, says: 'No such endpoint group of this account.' },
  { line: 'unlist volume 999999', code: 3, says: 'Volume listing does not exist' },
  { line: 'api GET /api/v0/nowhere/', code: 3, says: '' },
  { line: 'list instances --api-key nobody', code: 1, says: 'the API key is not accepted' },
  {
    line: 'list instances --retry 1 --url http://127.0.0.1:1',
    code: 1,
    says: 'cannot be reached (ECONNREFUSED)',
  },
  { line: 'list instances --url ftp://x', code: 2, says: 'is not an address of a marketplace' },
  { line: 'list instances --url http://192.0.2.1', code: 1, says: 'https is required outside loopback' },
  { line: 'status gpui/x --kubeconfig /no/such/file', code: 1, says: 'Name another kubeconfig or context' },
];

test.each(rows)(
  'gpu-rent $line ends with $code, and says what to do about a failure',
  async ({ line, code, says }) => {
    const { exitCode, stdout, stderr } = await bench.cli.run(line.split(' ').filter((word) => word !== ''));
    expect({ exitCode, said: code === 0 ? stdout : stderr }).toEqual({
      exitCode: code,
      said: expect.stringContaining(says),
    });
    expect(stderr).not.toMatch(/^\s+at /m);
    if ((code === 1 || code === 3) && !line.startsWith('api ')) expect(stderr).toContain('What to do: ');
  },
);

describe('what takes too long ends with 4', () => {
  const patience = ['--request-timeout', '300ms', '--retry', '1'];

  test('a read', async () => {
    await bench.fault('delayed-reply', 'GET /api/v0/users/current', { count: 1, seconds: 1 });
    const { exitCode, stderr } = await bench.cli.run(['show', 'user', ...patience]);
    expect({ exitCode, stderr }).toEqual({
      exitCode: 4,
      stderr: expect.stringContaining('no reply in time'),
    });
  });

  test('any call of the service', async () => {
    await bench.fault('delayed-reply', 'GET /api/v0/users/current', { count: 1, seconds: 1 });
    const { exitCode, stderr } = await bench.cli.run(['api', 'GET', '/api/v0/users/current/', ...patience]);
    expect({ exitCode, stderr }).toEqual({
      exitCode: 4,
      stderr: expect.stringContaining('No answer within 300 ms'),
    });
  });

  test('any call that changes something, which is to be looked after first', async () => {
    await bench.fault('delayed-reply', 'POST /api/v0/endptjobs', { count: 1, seconds: 1 });
    const call = ['api', 'POST', '/api/v0/endptjobs/', '--body', '{}'];
    const { exitCode, stderr } = await bench.cli.run([...call, ...patience]);
    expect(exitCode).toBe(4);
    expect(stderr).toContain('What to do: Check whether it took effect before you repeat it.');
  });

  test('a change, which says that it may have happened', async () => {
    await bench.fault('delayed-reply', 'POST /api/v0/endptjobs', { count: 1, seconds: 1 });
    const { exitCode, stderr } = await bench.cli.run(['create', 'endpoint', ...patience]);
    expect(exitCode).toBe(4);
    expect(stderr).toContain('It is unknown whether it took effect.');
  });

  test('a rental, after a look for its machine', async () => {
    await bench.fault('delayed-reply', 'PUT /api/v0/asks/{id}', { count: 1, seconds: 1 });
    const [offer] = await bench.offers();
    // The lists before and after it are answered, on a busy machine too.
    const args = ['create', 'instance', String(offer), '--image', 'ubuntu:24.04', '--request-timeout', '3s'];
    const { exitCode, stderr } = await bench.cli.run(args);
    expect(exitCode).toBe(4);
    expect(stderr).toMatch(/The machine was created all the same: instance \d+\. It bills\./);
  });
});

describe('a signal ends a command with 128 and its number', () => {
  const interrupted = () => AbortSignal.abort(new Interrupted());

  test('a read says no more than that', async () => {
    const ran = await bench.cli.run(['show', 'user'], { signal: interrupted() });
    expect(ran).toEqual({ exitCode: 130, stdout: '', stderr: 'Interrupted.\n' });
  });

  test('a rental on its way warns that it may bill', async () => {
    const abort = new AbortController();
    await bench.fault('delayed-reply', 'PUT /api/v0/asks/{id}', { count: 1, seconds: 1 });
    const offers = await bench.offers();
    const args = ['create', 'instance', String(offers.at(-1)), '--image', 'ubuntu:24.04', '--label', 'left'];
    const running = bench.cli.run(args, { signal: abort.signal });
    const rented = () =>
      ledger(bench.service.simulator.world()).contracts.some(({ label }) => label === 'left');
    await until('it is rented', rented);
    abort.abort(new Interrupted(143));
    const { exitCode, stderr } = await running;
    expect(exitCode).toBe(143);
    expect(stderr).toContain("gpu-rent list instances --label 'left'");
  });
});
