import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { sharedCluster } from '../../../test/cluster/shared-cluster.ts';
import { systemClock } from '../../lib/clock.ts';
import { silentLogger } from '../../lib/logger.ts';
import { systemRandom } from '../../lib/random.ts';
import { createKubeClient } from './kube-client.ts';
import { type KubeConfigOptions, loadKubeConnection } from './kube-config.ts';
import type { Resource } from './kube-object.ts';
import { createTransport } from './undici-transport.ts';

const namespaces: Resource = {
  group: '',
  version: 'v1',
  plural: 'namespaces',
  kind: 'Namespace',
  namespaced: false,
};

const cluster = sharedCluster();
const folder = mkdtempSync(join(tmpdir(), 'kube-connection-'));
afterAll(async () => {
  rmSync(folder, { recursive: true });
  await cluster.disconnect();
});

/** Returns the uid of kube-system through that connection. */
async function proveConnection(options: Omit<KubeConfigOptions, 'clock'>): Promise<string | undefined> {
  const connection = await loadKubeConnection({ ...options, clock: systemClock });
  const transport = createTransport(connection.tls);
  const client = createKubeClient({
    ...connection,
    transport,
    clock: systemClock,
    random: systemRandom,
    log: silentLogger,
  });
  const found = await client.get(namespaces, { name: 'kube-system' });
  await transport.close();
  return found?.metadata.uid;
}

test('a kubeconfig reaches the API server', async () => {
  expect(await proveConnection({ kubeconfig: cluster.kubeconfigPath, environment: {} })).toMatch(
    /^[0-9a-f-]{36}$/,
  );
});

test('a kubeconfig with an exec plugin reaches the API server', async () => {
  const command = 'sh';
  const credential = JSON.stringify({ status: { token: cluster.adminToken } });
  const exec = {
    apiVersion: 'client.authentication.k8s.io/v1',
    command,
    args: ['-c', `echo '${credential}'`],
  };
  const ca = Buffer.from(cluster.caPem).toString('base64');
  const path = join(folder, 'exec');
  writeFileSync(
    path,
    stringify({
      'current-context': 'exec',
      clusters: [{ name: 'exec', cluster: { server: cluster.url, 'certificate-authority-data': ca } }],
      users: [{ name: 'exec', user: { exec } }],
      contexts: [{ name: 'exec', context: { cluster: 'exec', user: 'exec' } }],
    }),
  );
  expect(await proveConnection({ kubeconfig: path, environment: {} })).toMatch(/^[0-9a-f-]{36}$/);
});

test('a pod with a mounted service account reaches the API server', async () => {
  writeFileSync(join(folder, 'token'), cluster.adminToken);
  writeFileSync(join(folder, 'ca.crt'), cluster.caPem);
  const { hostname, port } = new URL(cluster.url);
  const environment = { KUBERNETES_SERVICE_HOST: hostname, KUBERNETES_SERVICE_PORT: port };
  expect(await proveConnection({ environment, serviceAccountDirectory: folder })).toMatch(/^[0-9a-f-]{36}$/);
});

test('a server that another authority vouches for is not believed', async () => {
  const stranger = join(folder, 'stranger');
  writeFileSync(
    stranger,
    stringify({
      'current-context': 'a',
      clusters: [{ name: 'a', cluster: { server: cluster.url } }],
      users: [{ name: 'a', user: { token: cluster.adminToken } }],
      contexts: [{ name: 'a', context: { cluster: 'a', user: 'a' } }],
    }),
  );
  const refused = proveConnection({ kubeconfig: stranger, environment: {} });
  await expect(refused).rejects.toMatchObject({ kind: 'unavailable', outcome: 'refused' });
});
