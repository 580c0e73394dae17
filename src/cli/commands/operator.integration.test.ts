import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeAll, expect, test } from 'vitest';
import { gpuRent, killStarted, logged } from '../../../test/builders/gpu-rent-process.ts';
import { OperatorBench } from '../../../test/builders/running-operator.ts';
import { selfSigned } from '../../../test/builders/self-signed.ts';
import { until } from '../../../test/builders/until.ts';
import type { ClusterAccess } from '../../../test/cluster/connect.ts';
import { sharedCluster } from '../../../test/cluster/shared-cluster.ts';
import type { EndpointGroup } from '../../api/v1alpha1/endpoint-group.ts';
import { API_VERSION, endpointGroupResource } from '../../api/v1alpha1/names.ts';
import type { KubeObject } from '../../runtime/kube/kube-object.ts';
import { createSimulator } from '../../simulator/simulator.ts';

const CANARY = 'canary-key-that-nobody-may-see';

let cluster: ClusterAccess;
beforeAll(() => {
  cluster = sharedCluster();
});

afterEach(killStarted);

test('a wrong flag ends with code 2 and says which one and what to write', async () => {
  const run = gpuRent('operator', '--late-call', '5x');
  expect(await run.exitCode).toBe(2);
  expect(run.output()).toContain('--late-call (GPU_RENTAL_LATE_CALL): "5x" is not valid: write a duration');
});

test('a kubeconfig that is not there ends with a sentence that names it', async () => {
  const run = gpuRent('operator', '--kubeconfig', '/nowhere/kubeconfig');
  expect(await run.exitCode).toBe(1);
  expect(run.output()).toContain('/nowhere/kubeconfig');
  expect(run.output()).not.toContain('at async');
});

test('rents through a real process, is healthy, hides the key and releases its lease on SIGTERM', async () => {
  const simulator = createSimulator({
    apiKey: CANARY,
    catalog: 60,
    settings: { boot: { scale: 0.005 }, pauses: { scale: 0 } },
  });
  const listening = await simulator.listen(0);
  const bench = await OperatorBench.open(cluster);
  await bench.putKey(CANARY);
  await bench.createAccount();
  const flags = [
    '--late-call',
    '2s',
    '--list-lag',
    '1s',
    '--gone-spacing',
    '200ms',
    '--min-poll-interval',
    '300ms',
  ];
  const run = gpuRent(
    'operator',
    ...[
      '--kubeconfig',
      cluster.kubeconfigPath,
      '--namespace',
      bench.namespace,
      '--watch-namespace',
      bench.namespace,
    ],
    ...['--marketplace-url', listening.url, '--pacing', 'off', '--log-level', 'debug', ...flags],
    ...['--metrics-bind-address', '127.0.0.1:0', '--health-probe-bind-address', '127.0.0.1:0'],
  );
  const urls = await until('it started', () => logged(run, 'operator started'));
  await bench.createInstance('worker');
  await until('the machine runs', async () => (await bench.instance('worker'))?.status?.phase === 'Running');

  expect((await fetch(`${urls.healthProbeBindAddress}/healthz`)).status).toBe(200);
  expect((await fetch(`${urls.healthProbeBindAddress}/readyz`)).status).toBe(200);
  const metrics = await (await fetch(`${urls.metricsBindAddress}/metrics`)).text();
  expect(metrics).toContain('leader_election_master_status{name="gpu-rental-operator"} 1');
  expect(metrics).toMatch(/gpu_rental_machines\{.*state="running"\} 1/);

  run.child.kill('SIGTERM');
  expect(await run.exitCode).toBe(0);
  const lease = await cluster.kubectl([
    'get',
    'lease',
    'gpu-rental-operator',
    '-n',
    bench.namespace,
    '-o',
    'jsonpath={.spec.holderIdentity}',
  ]);
  expect(lease).toBe('');
  for (const text of [run.output(), metrics]) expect(text).not.toContain(CANARY);
  await bench.close();
  await listening.close();
}, 60_000);

test('an https Prometheus that proves nothing is not believed by a real process, and is asked with --prometheus-ca', async () => {
  const day = 86_400_000;
  const { cert, key } = selfSigned({
    notBefore: new Date(Date.now() - day),
    notAfter: new Date(Date.now() + day),
  });
  let asked = 0;
  const prometheus = createServer({ cert, key }, (_, response) => {
    asked++;
    const result = [{ value: [Date.now() / 1000, '0'] }];
    response.end(JSON.stringify({ data: { resultType: 'vector', result } }));
  });
  await new Promise<void>((resolve) => prometheus.listen(0, '127.0.0.1', resolve));
  const { port } = prometheus.address() as AddressInfo;
  const folder = mkdtempSync(join(tmpdir(), 'prometheus-ca-'));
  writeFileSync(join(folder, 'ca.pem'), cert);
  const listening = await createSimulator({ apiKey: CANARY }).listen(0);
  const bench = await OperatorBench.open(cluster);
  await bench.kube.create(endpointGroupResource, prometheusGroup(bench.namespace));
  const flags = [
    ...['--kubeconfig', cluster.kubeconfigPath, '--namespace', bench.namespace],
    ...['--watch-namespace', bench.namespace, '--marketplace-url', listening.url],
    ...['--metrics-bind-address', '0', '--health-probe-bind-address', '0'],
    ...['--leader-elect', 'false', '--prometheus-url', `https://127.0.0.1:${port}`],
    ...['--prometheus-tenancy', 'unrestricted'],
  ];
  const says = (reason: string) =>
    until(`the group says ${reason}`, async () => {
      const group = await bench.kube.get<EndpointGroup & KubeObject>(endpointGroupResource, {
        namespace: bench.namespace,
        name: 'llm',
      });
      const told = group?.status?.conditions?.find(({ type }) => type === 'MetricsAvailable');
      return told?.reason === reason ? told.message : undefined;
    });

  const doubting = gpuRent('operator', ...flags);
  expect(await says('LoadUnavailable')).toContain('with --prometheus-ca');
  expect(asked).toBe(0);
  doubting.child.kill('SIGTERM');
  expect(await doubting.exitCode).toBe(0);

  const trusting = gpuRent('operator', ...flags, '--prometheus-ca', join(folder, 'ca.pem'));
  await says('Ready');
  trusting.child.kill('SIGTERM');
  expect(await trusting.exitCode).toBe(0);

  await bench.close();
  await listening.close();
  prometheus.closeAllConnections();
  prometheus.close();
  rmSync(folder, { recursive: true });
}, 60_000);

/** Returns a group with load from Prometheus that rents nothing without load. */
function prometheusGroup(namespace: string): KubeObject {
  const spec = {
    coldWorkers: 0,
    expectedPerf: '100',
    load: { type: 'Prometheus', prometheus: { loadQuery: 'load' } },
    template: { spec: { image: 'example/worker:1', offers: [{ maxPricePerHour: '1' }] } },
  };
  return {
    apiVersion: API_VERSION,
    kind: 'EndpointGroup',
    metadata: { namespace, name: 'llm' },
    spec,
  } as KubeObject;
}

test('names the flag of an address that is taken', async () => {
  const simulator = createSimulator();
  const listening = await simulator.listen(0);
  const { host } = new URL(listening.url);
  const run = gpuRent(
    'operator',
    '--kubeconfig',
    cluster.kubeconfigPath,
    '--metrics-bind-address',
    host,
    '--health-probe-bind-address',
    '0',
  );
  expect(await run.exitCode).toBe(2);
  expect(run.output()).toContain(`--metrics-bind-address: cannot listen on ${host} (EADDRINUSE)`);
  await listening.close();
});
