import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startGpuRent } from '../../scripts/demo/processes.ts';
import { DEMO_DURATIONS } from '../../scripts/demo/stage.ts';
import { REPOSITORY } from '../../scripts/generate/artifact.ts';
import { createSimulator } from '../../src/simulator/simulator.ts';
import { until } from '../builders/until.ts';
import { describeWithNode } from '../cluster/node/describe-with-node.ts';
import { nodeImages } from '../cluster/node/images.ts';
import { WORKLOAD_IMAGE } from '../cluster/node/settings.ts';
import { offers, workerTemplate } from '../integration/endpoint-group-bench.ts';
import { startWorkerProcesses, type WorkerProcesses } from './worker-processes.ts';

const SYSTEM = 'gpu-rental-system';
const INSTALLED = ['crds', 'namespace.yaml', 'service-account.yaml', 'rbac.yaml'].map((part) =>
  join(REPOSITORY, 'deploy/base', part),
);
const SOON = { timeout: 60_000, interval: 100 };

describeWithNode('the Service of an EndpointGroup, asked by another Pod', (cluster) => {
  const undo: (() => unknown)[] = [];
  let namespace = '';
  let workers: WorkerProcesses;
  const kubectl = (...args: readonly string[]) => cluster().kubectl(['-n', namespace, ...args]);
  const apply = (...items: readonly object[]) =>
    cluster().kubectl(['-n', namespace, 'apply', '-f', '-'], {
      stdin: JSON.stringify({ apiVersion: 'v1', kind: 'List', items }),
    });

  beforeAll(async () => {
    const folder = mkdtempSync(join(tmpdir(), 'service-'));
    undo.push(() => rmSync(folder, { recursive: true, force: true }));
    for (const file of INSTALLED) {
      await cluster().kubectl(['apply', '--server-side', '-f', file]);
      undo.push(() => cluster().kubectl(['delete', '--ignore-not-found', '-f', file]));
    }
    const simulator = createSimulator({
      catalog: offers(4),
      settings: { boot: { scale: 0.02 } },
    });
    const address = cluster().node.hostAddress;
    workers = startWorkerProcesses(simulator, { address, containerPort: '8000/tcp' });
    undo.push(() => workers.close());
    const market = await simulator.listen(0);
    undo.push(() => market.close());
    const { kubeconfigPath } = await cluster().kubeconfigFor({
      serviceAccount: { namespace: SYSTEM, name: 'gpu-rental-operator' },
    });
    const operator = startGpuRent({
      name: 'operator',
      logFolder: folder,
      args: [
        ...['operator', '--kubeconfig', kubeconfigPath, '--namespace', SYSTEM],
        ...['--marketplace-url', market.url, '--allow-private-addresses', 'true'],
        ...['--metrics-bind-address', '0', '--health-probe-bind-address', '0'],
        ...Object.entries(DEMO_DURATIONS).flat(),
      ],
    });
    undo.push(() => operator.stop());
    await cluster().node.importImage((await nodeImages(process.env, () => {})).workload);
    namespace = await cluster().createNamespace('service');
    undo.push(() => cluster().kubectl(['delete', 'namespace', namespace, '--timeout=60s']));
    undo.push(() => kubectl('delete', 'epg,gpui', '--all', '--timeout=60s'));
    await apply(...accountObjects(simulator.apiKey), pool(2), client());
    await kubectl('wait', 'pod/client', '--for=condition=Ready', '--timeout=60s');
  }, 240_000);
  afterAll(async () => {
    for (const step of undo.splice(0).reverse()) await step();
  }, 240_000);

  const ask = () =>
    kubectl('exec', 'client', '--', '/workload', 'get', `http://pool.${namespace}.svc.cluster.local:8000/`);

  test('leads by its name to every worker, which are processes outside the cluster', async () => {
    const ready = () => kubectl('get', 'epg', 'pool', '-o=jsonpath={.status.ready}');
    await expect.poll(ready, SOON).toBe('2');
    const wanted = workers.processIds().map((pid) => `worker ${pid}`);
    expect(wanted).toHaveLength(2);
    const seen = new Set<string>();
    await until('both have answered', async () => seen.add(await ask()).size === 2);
    expect([...seen].toSorted()).toEqual(wanted.toSorted());
  });

  test('leads to the other one when the process of one is killed', async () => {
    const [killed = 0, left] = workers.processIds();
    process.kill(killed, 'SIGKILL');
    const ready = () => kubectl('get', 'epg', 'pool', '-o=jsonpath={.status.ready}');
    await expect.poll(ready, SOON).toBe('1');
    for (let asked = 0; asked < 5; asked += 1) expect(await ask()).toBe(`worker ${left}`);
  });
});

function accountObjects(apiKey: string): readonly object[] {
  return [
    {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'marketplace-key' },
      stringData: { 'api-key': apiKey },
    },
    {
      apiVersion: 'gpurental.dev/v1alpha1',
      kind: 'MarketplaceAccount',
      metadata: { name: 'default' },
      spec: { apiKeySecretRef: { name: 'marketplace-key' }, pollInterval: '1s' },
    },
  ];
}

function pool(replicas: number): object {
  const readinessProbe = { httpGet: { path: '/', port: 'http' }, periodSeconds: 1, timeoutSeconds: 1 };
  return {
    apiVersion: 'gpurental.dev/v1alpha1',
    kind: 'EndpointGroup',
    metadata: { name: 'pool' },
    spec: {
      ...{ replicas, coldWorkers: 0, coldMultiplier: '1', maxWorkers: 3 },
      template: workerTemplate({ readinessProbe }),
    },
  };
}

function client(): object {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'client' },
    spec: {
      terminationGracePeriodSeconds: 1,
      containers: [{ name: 'workload', image: WORKLOAD_IMAGE, imagePullPolicy: 'Never', args: ['serve'] }],
    },
  };
}
