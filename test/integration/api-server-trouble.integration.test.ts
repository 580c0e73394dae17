import { expect, test } from 'vitest';
import { annotations, gpuInstanceResource } from '../../src/api/v1alpha1/names.ts';
import { TransportError } from '../../src/lib/transport.ts';
import type { Resource } from '../../src/runtime/kube/kube-object.ts';
import type { OperatorBench, TapMoment } from '../builders/running-operator.ts';
import { until } from '../builders/until.ts';
import { sharedCluster } from '../cluster/shared-cluster.ts';
import {
  conditionOf,
  contracts,
  crashAt,
  destroys,
  lists,
  patchInstance,
  reached,
  readyBench,
  rentCall,
  rents,
  running,
  useBenches,
  watchDoubles,
} from './gpu-instance-bench.ts';

useBenches();

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

test('scenario 51: while the API server is away nothing is destroyed and polls go on; then the orphan goes', async () => {
  const bench = await readyBench({
    account: { orphanPolicy: 'Destroy' },
    flags: { leaderElectLeaseDuration: '15s', leaderElectRenewDeadline: '10s' },
  });
  await running(bench);
  bench.tap = ({ side, when }) => {
    if (side === 'kube' && when === 'before') throw new TransportError('no route to host', { sent: false });
  };
  await patchInstance(bench, { metadata: { finalizers: null } });
  await bench.kube.delete(gpuInstanceResource, { namespace: bench.namespace, name: 'job' });
  const before = lists(bench);
  await until('polls go on', () => lists(bench) - before >= 3);
  expect(destroys(bench)).toEqual([]);
  expect(bench.billing()).toHaveLength(1);
  bench.tap = undefined;
  await until('the orphan is gone', () => bench.billing().length === 0);
});

const roles: Resource = {
  group: 'rbac.authorization.k8s.io',
  version: 'v1',
  plural: 'roles',
  kind: 'Role',
  namespaced: true,
};
const API_GROUPS = ['', 'gpurental.dev', 'coordination.k8s.io', 'events.k8s.io', 'discovery.k8s.io'];

const OTHERS = ['secrets', 'configmaps', 'leases', 'events', 'endpointslices'];
const OURS = [
  ...['gpuinstances', 'marketplaceaccounts', 'marketplaceaccounts/status', 'endpointgroups'],
  ...['spendbudgets', 'spendbudgets/status'],
];

/** Creates a ServiceAccount with all rights in the namespace, except initially the status of a GpuInstance. */
const withoutStatusRight = (namespace: string): Promise<string> =>
  limitedTo(namespace, [...OTHERS, 'services', ...OURS]);

/** Creates a ServiceAccount with all rights in the namespace, except initially Services. */
const withoutServiceRight = (namespace: string): Promise<string> =>
  limitedTo(namespace, [...OTHERS, ...OURS, 'gpuinstances/status']);

async function limitedTo(namespace: string, resources: readonly string[]): Promise<string> {
  const cluster = sharedCluster();
  await cluster.kubectl(['create', 'serviceaccount', 'limited', '-n', namespace]);
  const rule = { apiGroups: API_GROUPS, verbs: ['*'], resources };
  const role = { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'Role', rules: [rule] };
  const binding = {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'RoleBinding',
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'limited' },
    subjects: [{ kind: 'ServiceAccount', namespace, name: 'limited' }],
  };
  for (const object of [role, binding]) {
    const metadata = { namespace, name: 'limited' };
    await cluster.kubectl(['create', '-f', '-'], { stdin: JSON.stringify({ ...object, metadata }) });
  }
  const { token } = await cluster.kubeconfigFor({ serviceAccount: { namespace, name: 'limited' } });
  return token;
}

test('scenario 54: without the right to write the status nothing is rented, and with it the purchase follows', async () => {
  const bench = await readyBench({ operatorToken: withoutStatusRight });
  await bench.createInstance('job');
  await until('it is told', async () =>
    (await bench.cluster.kubectl(['get', 'events', '-n', bench.namespace])).includes('NotPermitted'),
  );
  await pause(1_000);
  expect(rents(bench)).toEqual([]);
  expect((await bench.instance('job'))?.metadata.annotations).toBeUndefined();
  const ref = { namespace: bench.namespace, name: 'limited' };
  const rule = { apiGroups: ['gpurental.dev'], verbs: ['*'], resources: ['gpuinstances/status'] };
  await bench.kube.patch(roles, ref, { type: 'json', body: [{ op: 'add', path: '/rules/-', value: rule }] });
  await reached(bench, 'job', 'Ready');
  expect(rents(bench)).toHaveLength(1);
});

test('B05: without the right to create its Service nothing is rented, and with it the purchase follows', async () => {
  const bench = await readyBench({ operatorToken: withoutServiceRight });
  const ports = [{ name: 'http', containerPort: 8000 }];
  await bench.createInstance('job', { ports, service: { enabled: true } });
  const job = await reached(bench, 'job', 'NotPermitted');
  expect(conditionOf(job, 'Ready')?.message).toMatch(/^Cannot write Service job: .*cannot create resource/);
  expect(rents(bench)).toEqual([]);
  const ref = { namespace: bench.namespace, name: 'limited' };
  const rule = { apiGroups: [''], verbs: ['*'], resources: ['services'] };
  await bench.kube.patch(roles, ref, { type: 'json', body: [{ op: 'add', path: '/rules/-', value: rule }] });
  await patchInstance(bench, { metadata: { annotations: { [annotations.requestedAt]: 'now' } } });
  await reached(bench, 'job', 'Ready');
  expect(rents(bench)).toHaveLength(1);
});

/** Stops the leader at the first moment that fits, as SIGSTOP does, and lets another one lead. */
async function freezeAt(
  bench: OperatorBench,
  fits: (moment: TapMoment) => boolean,
): Promise<() => Promise<void>> {
  const frozen = Promise.withResolvers<() => Promise<void>>();
  bench.tap = async (moment) => {
    if (!fits(moment)) return;
    bench.tap = undefined;
    frozen.resolve(await bench.freeze());
  };
  await bench.createInstance('job');
  const thaw = await frozen.promise;
  await bench.start();
  return thaw;
}

test('scenario 55: a rental that a frozen leader had under way is taken over by the next leader', async () => {
  const bench = await readyBench();
  const single = watchDoubles(bench);
  const thaw = await freezeAt(bench, rentCall('before'));
  await thaw();
  const job = await reached(bench, 'job', 'Ready');
  expect(job.status).toMatchObject({ attempt: 1, instanceId: String(bench.billing()[0]?.id) });
  expect(contracts(bench)).toBe(1);
  single();
});

test('scenario 55: a leader that froze between intent and rental sends nothing when it wakes up', async () => {
  const bench = await readyBench();
  const single = watchDoubles(bench);
  const intentWritten = ({ when, side, method, path }: TapMoment) =>
    when === 'after' && side === 'kube' && method === 'PATCH' && path.includes('/gpuinstances/job');
  const thaw = await freezeAt(bench, intentWritten);
  const job = await reached(bench, 'job', 'Ready');
  expect(job.status?.attempt).toBe(2);
  await thaw();
  await pause(1_000);
  expect(rents(bench)).toHaveLength(1);
  expect(contracts(bench)).toBe(1);
  single();
});

test('scenario 60: a process that dies whenever it reads a list converges once it can', async () => {
  const bench = await readyBench();
  const reads = (moment: TapMoment) =>
    moment.side === 'marketplace' &&
    moment.when === 'after' &&
    moment.method === 'GET' &&
    moment.path.endsWith('/instances/');
  await bench.createInstance('job');
  for (let round = 0; round < 3; round++) {
    await crashAt(bench, reads);
    await bench.start();
  }
  await reached(bench, 'job', 'Ready');
  expect(bench.billing()).toHaveLength(1);
  expect(contracts(bench)).toBe(1);
});
