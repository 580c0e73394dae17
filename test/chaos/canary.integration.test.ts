import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { secretResource } from '../../src/runtime/kube/core-resources.ts';
import { OperatorBench, type SecretWithData } from '../builders/running-operator.ts';
import { until } from '../builders/until.ts';
import type { ClusterAccess } from '../cluster/connect.ts';
import { sharedCluster } from '../cluster/shared-cluster.ts';
import { OperatorProcess } from './operator-process.ts';

const CLI = join(import.meta.dirname, '..', '..', 'src', 'cli', 'main.ts');

/** Secrets that no output may contain, each in a different place. */
const CANARIES = {
  key: 'canary-key-8d1f6c02',
  rotatedKey: 'canary-rotated-55e0a9b1',
  environment: 'canary-env-0c93be7d',
  script: 'canary-script-b27714fe',
  registry: 'canary-registry-3ad8e6f5',
} as const;

/** Code that throws an uncaught exception on demand, with Node's own crash report. */
const CRASH =
  'process.on("SIGUSR2", () => { process.report.writeReport(); throw new Error("a crash on demand"); });';
const CRASHES_ON_SIGUSR2 = `data:text/javascript;base64,${Buffer.from(CRASH).toString('base64')}`;

let cluster: ClusterAccess;
let bench: OperatorBench;
let service: { readonly url: string; close(): Promise<void> };
let operator: OperatorProcess;
let folder = '';
/** Complete output of the operator and the command line, by source. */
const collected = new Map<string, string>();

beforeAll(async () => {
  cluster = sharedCluster();
  folder = mkdtempSync(join(tmpdir(), 'canary-'));
  bench = await OperatorBench.open(cluster, { simulator: { apiKey: CANARIES.key } });
  service = await bench.simulator.listen(0);
  const flags = {
    kubeconfig: cluster.kubeconfigPath,
    namespace: bench.namespace,
    'watch-namespace': bench.namespace,
    'marketplace-url': service.url,
    'min-poll-interval': '300ms',
    'key-check-interval': '1s',
    'log-level': 'debug',
    pacing: 'off',
    'metrics-bind-address': '127.0.0.1:0',
    'health-probe-bind-address': '0',
  };
  const args = Object.entries(flags).map(([name, value]) => `--${name}=${value}`);
  const report = `--report-uncaught-exception --report-directory=${folder}`;
  operator = new OperatorProcess(args, `--import=${CRASHES_ON_SIGUSR2} ${report}`);
}, 120_000);

afterAll(async () => {
  operator.kill();
  await service.close();
  await bench.close();
  rmSync(folder, { recursive: true, force: true });
});

async function putSecret(name: string, values: Record<string, string>, type = 'Opaque'): Promise<void> {
  const object: SecretWithData & { type: string } = {
    apiVersion: 'v1',
    kind: 'Secret',
    type,
    metadata: { namespace: bench.namespace, name },
    stringData: values,
  };
  await bench.kube.create(secretResource, object);
}

async function rentWithSecrets(name: string): Promise<void> {
  const from = (secret: string) => ({ secretKeyRef: { name: secret, key: 'value' } });
  await bench.createInstance(name, {
    service: { enabled: true },
    imagePullSecretRef: { name: 'registry' },
    onStartFrom: from('script'),
    env: [{ name: 'TOKEN', valueFrom: from('environment') }],
  });
}

async function gpuRent(...args: readonly string[]): Promise<void> {
  const cluster_ = ['--kubeconfig', cluster.kubeconfigPath, '-n', bench.namespace];
  const all = [CLI, ...args, ...cluster_, '--operator-namespace', bench.namespace];
  const { stdout, stderr } = await promisify(execFile)(process.execPath, all).catch((error) => error);
  collected.set(`gpu-rent ${args.join(' ')}`, `${stdout}${stderr}`);
}

function collectFiles(path: string): void {
  for (const name of readdirSync(path)) {
    const file = join(path, name);
    if (statSync(file).isDirectory()) collectFiles(file);
    else collected.set(file.slice(folder.length), readFileSync(file, 'utf8'));
  }
}

async function collectObjects(when: string): Promise<void> {
  const kinds =
    'gpuinstances,marketplaceaccounts,endpointgroups,events,events.events.k8s.io,configmaps,leases,services,endpointslices';
  collected.set(
    `objects ${when}`,
    await cluster.kubectl(['get', kinds, '-n', bench.namespace, '-o', 'yaml', '--show-managed-fields']),
  );
}

/** Returns the address at which it serves, from its own log. */
function servedAt(): { readonly metricsBindAddress: string } {
  const line = operator.output.split('\n').find((text) => text.includes('"operator started"'));
  return JSON.parse(line ?? '{}');
}

async function collectMetrics(when: string): Promise<void> {
  const reply = await fetch(`${servedAt().metricsBindAddress}/metrics`);
  collected.set(`metrics ${when}`, await reply.text());
}

const isRunning = async (name: string) => (await bench.instance(name))?.status?.phase === 'Running';

/** Spellings in which a text could leave a process. */
function spellings(text: string): readonly string[] {
  const bytes = Buffer.from(text);
  return [text, bytes.toString('base64').replace(/=+$/, ''), bytes.toString('hex'), encodeURIComponent(text)];
}

test('an operator rents with secrets, meets failures, changes its key, crashes, and is looked at', async () => {
  await bench.putKey(CANARIES.key);
  await putSecret('environment', { value: CANARIES.environment });
  await putSecret('script', { value: `#!/bin/sh\nexport S=${CANARIES.script}\n` });
  const auth = Buffer.from(`user:${CANARIES.registry}`).toString('base64');
  const auths = { 'docker.io': { username: 'user', password: CANARIES.registry, auth } };
  const config = JSON.stringify({ auths });
  await putSecret('registry', { '.dockerconfigjson': config }, 'kubernetes.io/dockerconfigjson');
  await bench.createAccount({ orphanPolicy: 'Destroy' });
  operator.start();
  await rentWithSecrets('a');
  await until('the first machine runs', () => isRunning('a'));
  for (const name of ['5xx', 'success-false', 'truncated-list', 'reset-after', '429-text'] as const)
    await bench.fault(name);
  await rentWithSecrets('b');
  await until('the second machine runs', () => isRunning('b'), 90_000);
  await bench.clearFaults();
  await collectMetrics('with machines');
  await collectObjects('with machines');

  await bench.putKey(CANARIES.rotatedKey);
  const refused = async () =>
    (await bench.account())?.status?.conditions?.some(
      ({ type, status }) => type === 'Authenticated' && status === 'False',
    ) === true;
  await until('the key that nobody knows is refused', refused);
  await collectMetrics('with a refused key');
  await collectObjects('with a refused key');
  await gpuRent('status');
  await gpuRent('doctor');
  await gpuRent('explain', 'gpui/a');
  await gpuRent('report', '--to', join(folder, 'bundle'));
  await gpuRent('get', 'nothing', '--api-key', CANARIES.key);

  operator.signal('SIGUSR2');
  await until('the operator has crashed', () => !operator.isRunning);
  collected.set('log and crash output', operator.output);
  collectFiles(folder);
}, 360_000);

test('what was looked at is what there was to see', () => {
  expect(operator.output).toContain('a crash on demand');
  const names = [...collected.keys()];
  expect(names.some((name) => /report\..*\.json$/.test(name))).toBe(true);
  expect(names.some((name) => /bundle.*GpuInstance-a\.yaml$/.test(name))).toBe(true);
  for (const [name, text] of collected) expect(text.length, name).toBeGreaterThan(20);
});

test.for(Object.entries(CANARIES))('the canary %s is in none of it', ([, canary]) => {
  const found = [...collected].flatMap(([name, text]) =>
    spellings(canary).some((spelling) => text.includes(spelling)) ? [name] : [],
  );
  expect(found).toEqual([]);
});

test('keys that the marketplace made for machines, and tokens made for workers, are in none of it', async () => {
  const { items } = await bench.kube.list<SecretWithData>(secretResource, { namespace: bench.namespace });
  const made = items
    .filter(({ metadata }) => !['environment', 'script', 'registry'].includes(metadata.name ?? ''))
    .flatMap(({ data }) => Object.entries(data ?? {}))
    .filter(([name]) => /key|token/i.test(name))
    .map(([, value]) => Buffer.from(value, 'base64').toString('utf8'))
    .filter((value) => value.length >= 16);
  expect(made.length).toBeGreaterThanOrEqual(2);
  for (const value of made) {
    for (const [name, text] of collected) expect(text.includes(value), name).toBe(false);
  }
});
