import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Desk, desk } from './desk.ts';

/* What is wrong with the options of `run` is said at once, by the option, and nothing is rented or left behind. */

let here: Desk;
beforeAll(async () => {
  here = await desk();
  here.account('default');
});
afterAll(() => here.close());

async function run(...args: readonly string[]) {
  here.cluster.asked.length = 0;
  const ran = await here.cluster.cli.run(['run', ...args]);
  const written = here.cluster.asked.filter(
    ({ method, query }) => method !== 'GET' && !query.includes('dryRun=All'),
  );
  expect(written).toEqual([]);
  expect(here.market.service.simulator.world().tables.contracts).toEqual({});
  return ran;
}
const DISK = '--disk: write a size with its unit between 8G and 100T, such as 32Gi.';
const NAME = '--name: write a name of lower case letters';

test.each([
  [['--image', 'u', '--disk', '32'], [DISK]],
  [['--image', 'u', '--disk', '32 GB'], ['--disk: write a size with its unit, such as 32G or 32Gi.']],
  [['--image', 'u', '--disk', '4G'], [DISK]],
  [['--image', 'u', '--name', '1e3'], [NAME]],
  [
    ['--image', 'u', '--name', 'Bad_Name', '--disk', '32', '--account', 'A'],
    [NAME, DISK],
  ],
  [
    ['--image', 'u', '--max-cost', '0.1234567', '--disk', '32', '--name', '0x10'],
    ['--max-cost: write dollars, 0 or more', NAME, DISK],
  ],
  [
    ['--image', 'u', '--max-price', '0', '--max-cost', '$0.00'],
    ['--max-price: "0" is zero.', '--max-cost: "$0.00" is zero.', 'Write a positive amount of dollars'],
  ],
  [
    ['--disk', '32', '--count', '0', '--env', 'foo'],
    ['--image is missing.', '--count: "0" is not a whole number', '--env: "foo" is not NAME=VALUE.'],
  ],
])('%j: each fault is named by its option, with and without --dry-run', async (args, faults) => {
  for (const more of [[], ['--dry-run']]) {
    const { exitCode, stdout, stderr } = await run(...args, ...more);
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
    for (const fault of faults) expect(stderr).toContain(fault);
    expect(stderr).not.toContain('in quotes');
  }
});

const PROGRAM = ['--', 'true'] as const;

test.each<[readonly string[], string]>([
  [['--image', 'u', '--backoff-limit', '101', ...PROGRAM], '--backoff-limit: "101" is not a whole number'],
  [['--image', 'u', '--lost-limit', '-1', ...PROGRAM], '--lost-limit: "-1" is not a whole number'],
  [['--image', 'u', '--max-lifetime', 'long', ...PROGRAM], '--max-lifetime: '],
  [['--image', 'u', '--timeout', '5m', ...PROGRAM], '--timeout: a command has --max-lifetime instead.'],
  [['--image', 'u', '--backoff-limit', '1'], '--backoff-limit: only a command behind -- has attempts.'],
  [['--image', 'u', '--detach', '--follow', ...PROGRAM], '--follow and --detach exclude each other.'],
  [['--image', 'u', '--detach', '--rm', ...PROGRAM], '--detach and --rm exclude each other'],
  [['--image', 'u', '--follow', '--args'], '--follow and --args exclude each other'],
  [['--follow'], 'the existing run of --name, which is missing'],
  [['--follow', '--name', 'x', '--image', 'u'], '--image: to follow an existing run, give --name alone'],
  [['--image', 'u', 'true'], '"true" is an argument too many.'],
  [['--image', 'u', '--log-url', 'http://x', ...PROGRAM], '--log-url: "http://x" is not an address such as'],
])('%j: the fault is named by its option, and nothing is created', async (args, fault) => {
  const { exitCode, stdout, stderr } = await run('--yes', ...args);
  expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
  expect(stderr.replaceAll('\n', ' ')).toContain(fault);
});

test('a command behind -- becomes a run in the manifest', async () => {
  const { stdout } = await run(
    ...['--image', 'u', '--max-price', '1', '--max-lifetime', '2h', '--backoff-limit', '0', '--dry-run'],
    ...['-o', 'json', '--', 'python', 'train.py', '--lr', '1'],
  );
  const { spec } = JSON.parse(stdout);
  expect(spec).toMatchObject({
    ...{ completion: { backoffLimit: 0 }, command: ['python', 'train.py', '--lr', '1'], maxLifetime: '2h' },
  });
  expect(spec).not.toHaveProperty('ssh');
});

test('a lost reply to the creation is reported with the commands that show and end the object', async () => {
  const { answer } = here.cluster;
  here.cluster.answer = (asked) =>
    asked.method === 'POST' && asked.query === '?fieldManager=gpu-rent'
      ? new Promise<never>(() => {})
      : here.stored(asked);
  try {
    const words = ['--image', 'u', '--max-price', '9', '--yes', '--name', 'lost', '--request-timeout', '1s'];
    const { exitCode, stderr } = await here.cluster.cli.run(['run', ...words, ...PROGRAM]);
    expect(stderr).toContain('gpui/lost may exist, and then rents a machine.');
    expect(stderr).toContain('kubectl delete gpui lost -n team');
    expect(exitCode).toBe(1);
  } finally {
    here.cluster.answer = answer;
  }
});

test('an unknown GPU is named together with the missing price limit', async () => {
  const { exitCode, stderr } = await run('--image', 'u', '--gpu', 'RTX 4O90', '--gpu', 'RTX 4090', '--yes');
  expect(exitCode).toBe(1);
  expect(stderr).toContain('No price limit');
  expect(stderr).toContain('No offer has the GPU RTX 4O90.');
  expect(stderr).not.toContain('No offer has the GPU RTX 4090.');
  expect(stderr).toContain('What to do: Give --max-price');
});

test('plan names an unknown GPU of a file together with the missing price limit', async () => {
  const file = `apiVersion: gpurental.dev/v1alpha1
kind: GpuInstance
metadata: {name: x}
spec: {image: x, offers: [{gpuNames: [RTX 4O90]}, {gpuNames: [RTX 4O90, RTX 4090]}]}`;
  for (const more of [[], ['--no-cluster']]) {
    const { exitCode, stdout } = await here.cluster.cli.run(['plan', '-f', '-', ...more], { stdin: file });
    expect(exitCode).toBe(3);
    expect(stdout).toContain('No price limit');
    expect(stdout.match(/No offer has the GPU RTX 4O90\./g)).toHaveLength(1);
  }
});

test.each([
  [['--account', 'nobody'], 'team/nobody does not exist', 'What to do: Name another one: --account NAME'],
  [['--gpu', 'RTX 4O90'], 'No offer has the GPU RTX 4O90.', 'What to do: gpu-rent list gpus shows names'],
])('%j: the remedy fits the reason', async (args, why, remedy) => {
  const { exitCode, stderr } = await run('--image', 'u', '--max-price', '1', '--yes', ...args);
  expect(exitCode).toBe(1);
  expect(stderr).toContain(why);
  expect(stderr).toContain(remedy);
});

test('a Secret without the key is named: the operator would not rent by it', async () => {
  here.put('secrets', { metadata: { name: 'other' }, data: { password: 'eA==' } });
  here.account('keyless', {
    spec: { apiKeySecretRef: { name: 'other', key: 'api-key' } },
  });
  const { exitCode, stderr } = await run(
    ...['--image', 'u', '--max-price', '1', '--yes', '--account', 'keyless'],
  );
  expect(exitCode).toBe(1);
  expect(stderr).toContain('Secret team/other has no key api-key');
  expect(stderr).toContain('What to do: gpu-rent status gpuacct/keyless shows the state of the account');
});

test('without a network nothing is created, and the address and the remedy are named', async () => {
  const { exitCode, stderr } = await run(
    ...['--image', 'u', '--max-price', '1', '--yes', '--url', 'http://127.0.0.1:1', '--api-key', 'k'],
  );
  expect(exitCode).toBe(1);
  expect(stderr).toMatch(/http:\/\/127\.0\.0\.1:1 cannot be reached \(ECONNREFUSED\)/);
  expect(stderr).toContain('What to do: Check the address (--url, GPU_RENT_URL) and the network.');
});
