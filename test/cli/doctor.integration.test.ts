import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { secretResource } from '../../src/runtime/kube/core-resources.ts';
import { useSharedBench } from '../integration/gpu-instance-bench.ts';
import { type ClusterPerson, clusterPerson } from './cluster.ts';

/* The doctor finds what was broken on purpose, and says of each fault how to mend it. */

const shared = useSharedBench();
let person: ClusterPerson;
beforeAll(async () => {
  person = await clusterPerson(shared());
});
afterAll(() => person.leave());

interface Line {
  readonly area: string;
  readonly name: string;
  readonly state: 'ok' | 'warning' | 'failed' | 'skipped';
  readonly detail: string;
  readonly fix?: string;
}

/** Returns the lines of `doctor`; `args` override the defaults for a healthy bench. */
async function examine(...args: readonly string[]) {
  const named = (flag: string, value: string) => (args.includes(flag) ? [] : [flag, value]);
  const given = [...args, ...named('-n', shared().namespace), ...named('--url', person.url)];
  const { exitCode, stdout } = await person.cli.run(['doctor', ...given, '-o', 'json']);
  return { exitCode, lines: JSON.parse(stdout) as Line[] };
}

function lineOf(lines: readonly Line[], area: string, name: string): Line {
  const line = lines.find((one) => one.area.startsWith(area) && one.name === name);
  if (!line) throw new Error(`no line ${area}, ${name}: ${JSON.stringify(lines, undefined, 1)}`);
  return line;
}

test('a healthy installation has no failure, and its exit code says so', async () => {
  const { exitCode, lines } = await examine();
  expect(lines.filter(({ state }) => state === 'failed')).toEqual([]);
  expect(exitCode).toBe(0);
  for (const [area, name] of [
    ['cluster', 'API server'],
    ['cluster', 'clock'],
    ['cluster', 'CRDs'],
    ['rights', 'yours'],
    ['operator', 'lease'],
    ['operator', 'identity'],
    ['gpuacct/default', 'Ready'],
    ['gpuacct/default', 'Secret'],
    ['gpuacct/default', 'egress'],
    ['gpuacct/default', 'clock'],
    ['gpuacct/default', 'key'],
    ['gpuacct/default', 'may search'],
    ['gpuacct/default', 'may destroy'],
    ['gpuacct/default', 'credit'],
  ] as const)
    expect(lineOf(lines, area, name)).toMatchObject({ state: 'ok' });
});

test('for people each line has a mark, and a fix where it is not right', async () => {
  const { stdout } = await person.cli.run(['doctor', '-n', shared().namespace, '--url', person.url]);
  expect(stdout).toContain('√ API server: Kubernetes v1.');
  expect(stdout).toMatch(/‼ the operator's: .*\n {4}fix: /);
  expect(stdout).toMatch(/\d+ checks: 0 failed, \d+ with? a warning\./);
});

describe('what is broken is found, with a fix', () => {
  interface Broken {
    readonly what: string;
    readonly args: () => Promise<readonly string[]> | readonly string[];
    readonly line: readonly [area: string, name: string];
    readonly state?: Line['state'];
    readonly detail: string;
    readonly fix: string;
  }

  const key = async (text: string): Promise<readonly string[]> => {
    const path = join(person.cli.home, 'another.key');
    await writeFile(path, text, { mode: 0o600 });
    return ['--api-key-file', path];
  };

  const broken: readonly Broken[] = [
    {
      what: 'a kubeconfig that is not there',
      args: () => ['--kubeconfig', '/no/such/file'],
      line: ['cluster', 'kubeconfig'],
      detail: 'Cannot read the kubeconfig /no/such/file',
      fix: '--no-cluster',
    },
    {
      what: 'a person without rights',
      args: () => ['--as', 'somebody'],
      line: ['rights', 'yours'],
      state: 'warning',
      detail: 'you may not create gpuinstances',
      fix: 'Ask for the ClusterRole edit',
    },
    {
      what: 'a person who may not list accounts',
      args: () => ['--as', 'somebody'],
      line: ['accounts', 'any'],
      state: 'skipped',
      detail: 'You may not list MarketplaceAccounts',
      fix: 'Request permission',
    },
    {
      what: 'a namespace without an operator',
      args: () => ['--operator-namespace', 'default'],
      line: ['operator', 'lease'],
      detail: 'No operator has ever held the lease in default.',
      fix: 'kubectl get pods -n default',
    },
    {
      what: 'a namespace without the service account',
      args: () => ['--operator-namespace', 'default'],
      line: ['rights', "the operator's"],
      state: 'warning',
      detail: 'There is no service account gpu-rental-operator in default.',
      fix: '--operator-namespace',
    },
    {
      what: 'a namespace without an account',
      args: () => ['-n', 'default'],
      line: ['accounts', 'any'],
      state: 'warning',
      detail: 'There is no MarketplaceAccount in namespace default.',
      fix: 'deploy/samples/account.yaml',
    },
    {
      what: 'a marketplace that cannot be reached',
      args: () => ['--url', 'http://127.0.0.1:1'],
      line: ['gpuacct/default', 'egress'],
      detail: 'http://127.0.0.1:1 cannot be reached',
      fix: 'NetworkPolicy',
    },
    {
      what: 'a key that is revoked',
      args: () => key('nobody'),
      line: ['gpuacct/default', 'key'],
      detail: 'the API key is not accepted',
      fix: 'Give a valid API key',
    },
    {
      what: 'a key that may only read',
      args: async () => {
        const args = [
          'create',
          'api-key',
          '--permission',
          'instance_read',
          '--permission',
          'user_read',
          '-o',
          'json',
        ];
        return key(JSON.parse((await person.cli.run(args)).stdout).key);
      },
      line: ['gpuacct/default', 'may destroy'],
      detail: 'The key may not destroy machines.',
      fix: 'gpu-rent create api-key --for-operator',
    },
  ];

  test.each(broken)('$what', async ({ args, line, state = 'failed', detail, fix }) => {
    const { exitCode, lines } = await examine(...(await args()));
    const found = lineOf(lines, ...line);
    expect(found).toMatchObject({
      state,
      detail: expect.stringContaining(detail),
      fix: expect.stringContaining(fix),
    });
    if (state === 'failed') expect(exitCode).toBe(1);
    for (const { state: other, fix: remedy, name } of lines)
      if (other !== 'ok') expect(remedy, name).toMatch(/\w+/);
  });

  test('a Secret without the key that the account names, and one that is gone', async () => {
    const bench = shared();
    const ref = { namespace: bench.namespace, name: 'marketplace-key' };
    await bench.kube.patch(secretResource, ref, {
      type: 'merge',
      body: { data: { 'api-key': null, other: 'eA==' } },
    });
    const without = lineOf((await examine()).lines, 'gpuacct/default', 'Secret');
    expect(without).toMatchObject({
      state: 'failed',
      detail: 'Secret marketplace-key has no key api-key; it has other.',
      fix: expect.stringContaining('kubectl create secret generic marketplace-key'),
    });
    await bench.kube.delete(secretResource, ref);
    const { lines } = await examine();
    expect(lineOf(lines, 'gpuacct/default', 'Secret')).toMatchObject({
      state: 'failed',
      detail: 'Secret marketplace-key does not exist.',
    });
    expect(lineOf(lines, 'gpuacct/default', 'marketplace')).toMatchObject({ state: 'failed' });
    await bench.putKey(bench.simulator.apiKey);
  });

  test('an operator that gave its lease back', async () => {
    await shared().stop();
    expect(lineOf((await examine()).lines, 'operator', 'lease')).toMatchObject({
      state: 'failed',
      detail: expect.stringMatching(/No operator leads|has not renewed/),
      fix: expect.stringContaining('kubectl logs'),
    });
    await shared().start();
  });
});

test('without a cluster only the marketplace is looked at', async () => {
  const { exitCode, stdout } = await person.cli.run(['doctor', '--no-cluster', '--kubeconfig', '/nowhere']);
  expect(exitCode).toBe(0);
  expect(stdout).toMatch(/^marketplace\n√ egress/);
});
