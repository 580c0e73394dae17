import { join } from 'node:path';
import { type StartedTestContainer, Wait } from 'testcontainers';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { DEMO_DURATIONS } from '../../scripts/demo/stage.ts';
import { REPOSITORY } from '../../scripts/generate/artifact.ts';
import { type CuttingProxy, startCuttingProxy } from '../builders/cutting-proxy.ts';
import { selfSigned } from '../builders/self-signed.ts';
import { until } from '../builders/until.ts';
import { isBuilt } from '../cluster/build-cache.ts';
import { type Cluster, startCluster } from '../cluster/cluster.ts';
import { describeWithEngineHere } from '../containers/describe-with-engine.ts';
import type { SessionNetwork } from '../containers/engine.ts';
import { type OperatorContainer, WRITABLE } from '../containers/operator-container.ts';
import { readLeadership } from '../install/leadership.ts';

const NAMESPACE = 'gpu-rental-system';
const OPERATOR = 'gpu-rental-operator';
const DAY_MS = 24 * 3600 * 1000;
const KEY = 'key-of-the-first-user';
/** URL with the marketplace's name in the network. */
const MARKETPLACE = 'https://simulator:8443';
const TRUST = { NODE_EXTRA_CA_CERTS: `${WRITABLE}/tls.crt` };
/** A name in the certificate of every API server. */
const API_SERVER = 'kubernetes.default.svc';
const SERVICE_ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount';
const STARTED = '"msg":"operator started"';
/** The chart's terminationGracePeriodSeconds. */
const GRACE_MS = 35_000;

/**
 * Starts a cluster whose API containers can reach at an address of this machine, with everything that an operator
 * needs.
 */
async function startReachableCluster(address: string): Promise<{ cluster: Cluster; proxy: CuttingProxy }> {
  // What has been built is there at once; otherwise it is whatever can be had.
  const only = isBuilt(process.env) ? 'go-toolchain' : undefined;
  const cluster = await startCluster({ ...(only && { only }), report: () => {} });
  try {
    for (const part of ['crds', 'namespace.yaml', 'service-account.yaml', 'rbac.yaml'])
      await cluster.kubectl(['apply', '--server-side', '-f', join(REPOSITORY, 'deploy/base', part)]);
    return { cluster, proxy: await startCuttingProxy(cluster.url, address) };
  } catch (error) {
    await cluster.stop();
    throw error;
  }
}

describeWithEngineHere('containers of the image in one network', (bench) => {
  let network: SessionNetwork;
  let cluster: Cluster;
  let proxy: CuttingProxy;
  const now = Date.now();
  const certificate = selfSigned({
    notBefore: new Date(now - DAY_MS),
    notAfter: new Date(now + DAY_MS),
    hostName: 'simulator',
  });
  const ca = { 'tls.crt': certificate.cert };

  beforeAll(async () => {
    network = await bench().session.createNetwork();
    ({ cluster, proxy } = await startReachableCluster(network.gateway));
    await startSimulator();
  });
  afterAll(async () => {
    await proxy?.close();
    await cluster?.stop();
  });

  async function startSimulator(): Promise<StartedTestContainer> {
    const container = bench()
      .container(
        ...['simulator', '--bind-address', '0.0.0.0', '--port', '8443', '--api-key', KEY],
        ...['--tls-cert-file', `${WRITABLE}/tls.crt`, '--tls-private-key-file', `${WRITABLE}/tls.key`],
        ...['--boot-scale', '0.02', '--no-rate-limits'],
      )
      .withNetworkMode(network.name)
      .withNetworkAliases('simulator')
      .withWaitStrategy(Wait.forLogMessage(/^\{"url":/));
    return (await container.withFiles({ ...ca, 'tls.key': certificate.key })).start();
  }

  /** Configures a container as a Pod: with the token of a service account, and the API server by name. */
  async function inCluster(container: OperatorContainer, token: string): Promise<OperatorContainer> {
    container
      .withEnvironment({
        KUBERNETES_SERVICE_HOST: API_SERVER,
        KUBERNETES_SERVICE_PORT: new URL(proxy.url).port,
      })
      .withExtraHosts([{ host: API_SERVER, ipAddress: network.gateway }])
      .withNetworkMode(network.name);
    const account = { token, 'ca.crt': cluster.caPem, namespace: NAMESPACE };
    return container.withFiles(account, SERVICE_ACCOUNT);
  }

  async function startOperator(): Promise<StartedTestContainer> {
    const { token } = await cluster.kubeconfigFor({
      serviceAccount: { namespace: NAMESPACE, name: OPERATOR },
    });
    const container = bench()
      .container(
        ...['operator', '--marketplace-url', MARKETPLACE, '--allow-private-addresses'],
        ...Object.entries(DEMO_DURATIONS).flat(),
        ...['--leader-elect-lease-duration', '6s', '--leader-elect-renew-deadline', '4s'],
        ...['--leader-elect-retry-period', '1s'],
      )
      .withEnvironment(TRUST)
      .withRestartPolicy('on-failure')
      .withWaitStrategy(Wait.forLogMessage(STARTED));
    return (await inCluster(await container.withFiles(ca), token)).start();
  }

  const apply = (...items: readonly object[]): Promise<string> =>
    cluster.kubectl(['apply', '-f', '-'], {
      stdin: JSON.stringify({ apiVersion: 'v1', kind: 'List', items }),
    });
  const leader = async (): Promise<string | undefined> =>
    (await readLeadership(cluster.admin, { namespace: NAMESPACE, name: OPERATOR })).holder;
  const instanceId = (): Promise<string> =>
    cluster.kubectl(['get', 'gpui', 'first', '-o=jsonpath={.status.machine.id}']);

  test('find each other by name', async () => {
    const script = `
      const headers = { authorization: 'Bearer ${KEY}' };
      const reply = await fetch('${MARKETPLACE}/api/v0/users/current/', { headers });
      console.log(reply.status);`;
    const asking = bench()
      .container('--input-type=module', '--eval', script)
      .withEntrypoint(bench().entrypoint.slice(0, 1))
      .withEnvironment(TRUST)
      .withNetworkMode(network.name);
    expect(await bench().runToEnd(await asking.withFiles(ca))).toMatchObject({ code: 0, output: '200\n' });
  });

  describe('with an operator', () => {
    let operator: StartedTestContainer;
    beforeAll(async () => {
      operator = await startOperator();
    });

    test('rent a machine that becomes ready', async () => {
      await apply(
        {
          apiVersion: 'v1',
          kind: 'Secret',
          metadata: { name: 'marketplace-key', namespace: 'default' },
          stringData: { 'api-key': KEY },
        },
        {
          apiVersion: 'gpurental.dev/v1alpha1',
          kind: 'MarketplaceAccount',
          metadata: { name: 'default', namespace: 'default' },
          spec: { apiKeySecretRef: { name: 'marketplace-key' }, pollInterval: '2s' },
        },
        {
          apiVersion: 'gpurental.dev/v1alpha1',
          kind: 'GpuInstance',
          metadata: { name: 'first', namespace: 'default' },
          spec: { image: 'ubuntu:24.04', offers: [{ gpuNames: ['RTX 4090'], maxPricePerHour: '0.80' }] },
        },
      );
      await cluster.kubectl(['wait', 'gpui/first', '--for=condition=Ready', '--timeout=60s']);
    });

    test('answer gpu-rent in a third container', async () => {
      const status = bench().container('status', 'gpui/first', '--namespace', 'default');
      const { code, output } = await bench().runToEnd(await inCluster(status, cluster.adminToken));
      expect([code, output]).toEqual([0, expect.stringContaining('Ready')]);
    });

    test('start the operator again by on-failure when it lost its lease, and keep the machine', async () => {
      const [machine, before] = [await instanceId(), await leader()];
      proxy.swallow();
      await until('it was started again', async () => (await bench().inspect(operator)).RestartCount > 0);
      proxy.cut();
      proxy.heal();
      await until('it leads', async () => ![undefined, before].includes(await leader()));
      await until('it works', async () => (await bench().logs(operator)).split(STARTED).length > 2);
      expect(await instanceId()).toBe(machine);
    });

    test('end the operator with 0 and without a lease when it is asked to', async () => {
      expect((await bench().stop(operator, GRACE_MS)).code).toBe(0);
      expect(await leader()).toBeUndefined();
    });
  });
});
