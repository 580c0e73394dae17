import { hostname } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeAll, expect, test } from 'vitest';
import { until } from '../test/builders/until.ts';
import { startFaultProxy } from '../test/chaos/fault-proxy.ts';
import type { ClusterAccess } from '../test/cluster/connect.ts';
import { writeKubeconfig } from '../test/cluster/connection.ts';
import { sharedCluster } from '../test/cluster/shared-cluster.ts';
import { installDefinitions } from '../test/crds/install.ts';
import { parseConfig } from './config.ts';
import { seededRandom } from './lib/random.ts';
import { runOperator } from './main.ts';

let cluster: ClusterAccess;
beforeAll(async () => {
  cluster = sharedCluster();
  await installDefinitions(cluster.admin);
});

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

interface Lease {
  readonly spec: { readonly holderIdentity?: string };
}

/** Returns a namespace for an operator, a connection to the API server that records its requests, and the lease. */
async function place() {
  const namespace = await cluster.createNamespace('main');
  const ports = { lease: new Set<number>(), other: new Set<number>() };
  const proxy = await startFaultProxy({
    ...{ url: cluster.url, caPem: cluster.caPem, random: seededRandom(1) },
    onRequest: (path, port) => ports[path.includes('/leases') ? 'lease' : 'other'].add(port),
  });
  closing.push(() => proxy.close());
  const kubeconfig = join(cluster.folder, `${namespace}.kubeconfig`);
  writeKubeconfig(kubeconfig, {
    ...{ url: proxy.url, caPem: proxy.caPem, token: cluster.adminToken, name: namespace },
  });
  const config = parseConfig(
    {
      ...{ kubeconfig, namespace, watchNamespace: [namespace], leaderElectRetryPeriod: '100ms' },
      ...{ healthProbeBindAddress: '127.0.0.1:0', metricsBindAddress: '0' },
    },
    {},
  );
  const path = `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases/gpu-rental-operator`;
  return {
    config,
    ports,
    connections: () => proxy.connections(),
    async holder(): Promise<string | undefined> {
      const { status, body } = await cluster.admin.request({ method: 'GET', path, accept: [404] });
      return status === 404 ? undefined : ((body as Lease).spec.holderIdentity ?? '');
    },
    /** Gives the lease to another holder, for longer than any test lasts. */
    async giveTo(holderIdentity: string): Promise<void> {
      const renewTime = new Date().toISOString().replace('Z', '000Z');
      const spec = { holderIdentity, leaseDurationSeconds: 3_600, renewTime, acquireTime: renewTime };
      await cluster.admin.request({ method: 'PATCH', path, body: { spec } });
    },
  };
}
type Place = Awaited<ReturnType<typeof place>>;

/** Runs the operator of this process until it ends. */
async function running({ config }: Place, environment: Readonly<Record<string, string>> = {}) {
  const stop = new AbortController();
  const lines: string[] = [];
  const logDestination = { write: (line: string) => void lines.push(line) };
  const exitCode = runOperator(config, { environment, signal: stop.signal, logDestination });
  closing.push(() => {
    stop.abort();
    return exitCode;
  });
  const started = await until('it has started', () =>
    lines.find((line) => line.includes('"operator started"')),
  );
  const health = `${JSON.parse(started).healthProbeBindAddress}/healthz`;
  return { exitCode, stop: () => stop.abort(), health };
}

/** Returns the name of the lease holder. */
const leader = (at: Place) => until('somebody leads', async () => (await at.holder()) || undefined);

test('a process that gets SIGTERM ends well, gives the lease back, shows no page and holds no connection', async () => {
  const at = await place();
  const { exitCode, stop, health } = await running(at);
  await leader(at);
  expect((await fetch(health)).status).toBe(200);
  expect(at.connections()).toBeGreaterThan(0);
  stop();
  expect(await exitCode).toBe(0);
  expect(await at.holder()).toBe('');
  await expect(fetch(health)).rejects.toThrow();
  // An idle connection would end after a minute.
  await until('nothing is connected', () => at.connections() === 0, 20_000);
});

test('a process whose lease has another holder ends as one that is to be started again', async () => {
  const at = await place();
  const { exitCode } = await running(at);
  await leader(at);
  await at.giveTo('another');
  expect(await exitCode).toBe(1);
  expect(await at.holder()).toBe('another');
});

/** Returns the name without the random part at its end. */
const withoutDrawn = (name: string) => name.replace(/_[0-9a-f]{8}$/, '_drawn');

test('a process has a name of its own in the lease, after its Pod where it knows that, and asks for it by its own connections', async () => {
  const inside = await place();
  await running(inside, { POD_UID: 'pod-uid' });
  expect(withoutDrawn(await leader(inside))).toBe(`${hostname()}_pod-uid_drawn`);
  expect(inside.ports.other.size).toBeGreaterThan(0);
  expect([...inside.ports.lease].filter((port) => inside.ports.other.has(port))).toEqual([]);
  const outside = await place();
  await running(outside);
  expect(withoutDrawn(await leader(outside))).toBe(`${hostname()}_drawn`);
});

test('a process leads at once where the lease is still that of the one before it in its Pod', async () => {
  const at = await place();
  const pod = { POD_UID: 'pod-uid' };
  const { exitCode, stop } = await running(at, pod);
  await leader(at);
  stop();
  await exitCode;
  await at.giveTo(`${hostname()}_pod-uid_00000000`);
  await running(at, pod);
  await until('the next one leads', async () => !(await leader(at)).endsWith('_00000000'));
});

test('a process that gets SIGTERM before it begins does nothing', async () => {
  const at = await place();
  const process = { environment: {}, signal: AbortSignal.abort(), logDestination: { write() {} } };
  expect(await runOperator(at.config, process)).toBe(0);
  expect(await at.holder()).toBeUndefined();
});
