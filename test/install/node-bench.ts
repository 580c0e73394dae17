import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startGpuRent } from '../../scripts/demo/processes.ts';
import { DEMO_DURATIONS } from '../../scripts/demo/stage.ts';
import { selfSigned } from '../builders/self-signed.ts';
import type { NodeClusterAccess } from '../cluster/node/describe-with-node.ts';
import { operatorImage } from '../image/operator-image.ts';
import { HELM } from '../tools/go-tool.ts';
import { openHelm } from './helm.ts';
import { NAMESPACE, RELEASE } from './release-bench.ts';

/** The operator's image of these sources on a node, a marketplace that its Pods reach by https, and Helm. */
export interface NodeBench {
  readonly marketplaceUrl: string;
  /** Settings of the simulator are changed here, and its machines are listed. */
  readonly controlUrl: string;
  readonly apiKey: string;
  /** The values of the chart under which the operator trusts this marketplace. */
  readonly values: Readonly<Record<string, unknown>>;
  /** Runs Helm in the release's namespace, with the values from a file if there are any. Rejects with what it says. */
  helm(args: readonly string[], values?: object): Promise<string>;
  kubectl(...args: readonly string[]): Promise<string>;
  apply(...objects: readonly object[]): Promise<string>;
  close(): Promise<void>;
}

const CA_CONFIG_MAP = 'marketplace-ca';
const DAY_MS = 24 * 3600 * 1000;

/** Starts a marketplace with its own certificate on the address that Pods reach. */
async function startMarketplace(folder: string, address: string) {
  const now = Date.now();
  const { cert, key } = selfSigned({
    notBefore: new Date(now - DAY_MS),
    notAfter: new Date(now + DAY_MS),
    ipv4: address,
  });
  const [certFile, keyFile] = [join(folder, 'tls.crt'), join(folder, 'tls.key')];
  writeFileSync(certFile, cert);
  writeFileSync(keyFile, key, { mode: 0o600 });
  const simulator = startGpuRent({
    name: 'simulator',
    logFolder: folder,
    args: [
      ...['simulator', '--port', '0', '--bind-address', address, '--control', '--seed', '42'],
      ...['--boot-scale', '0.02', '--no-rate-limits'],
      ...['--tls-cert-file', certFile, '--tls-private-key-file', keyFile],
    ],
  });
  try {
    const { url, apiKey, control } = (await simulator.ready) as Record<'url' | 'apiKey' | 'control', string>;
    return { url, apiKey, controlUrl: control, cert, stop: () => simulator.stop() };
  } catch (error) {
    await simulator.stop();
    throw error;
  }
}

function valuesFor(marketplaceUrl: string): NodeBench['values'] {
  return {
    replicas: 2,
    marketplace: { urls: [marketplaceUrl], allowPrivateAddresses: true },
    extraEnv: [{ name: 'NODE_EXTRA_CA_CERTS', value: '/etc/marketplace-ca/ca.crt' }],
    extraVolumes: [{ name: 'marketplace-ca', configMap: { name: CA_CONFIG_MAP } }],
    extraVolumeMounts: [{ name: 'marketplace-ca', mountPath: '/etc/marketplace-ca', readOnly: true }],
    extraArgs: Object.entries(DEMO_DURATIONS).map(([flag, value]) => `${flag}=${value}`),
  };
}

/** Opens a bench on the cluster. `close`, or a start that fails midway, removes everything except the cluster. */
export async function openNodeBench(cluster: NodeClusterAccess): Promise<NodeBench> {
  const folder = mkdtempSync(join(tmpdir(), 'node-bench-'));
  const undo: (() => unknown)[] = [() => rmSync(folder, { recursive: true, force: true })];
  const close = async (): Promise<void> => {
    for (const step of undo.splice(0).reverse()) await step();
  };
  try {
    const marketplace = await startMarketplace(folder, cluster.node.hostAddress);
    undo.push(() => marketplace.stop());
    const helm = await openHelm(folder, HELM);
    await cluster.node.importImage(await operatorImage());
    const apply = (...items: readonly object[]): Promise<string> =>
      cluster.kubectl(['apply', '-f', '-'], {
        stdin: JSON.stringify({ apiVersion: 'v1', kind: 'List', items }),
      });
    mkdirSync(join(folder, 'values'));
    const labels = { 'pod-security.kubernetes.io/enforce': 'restricted' };
    await apply(
      { apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE, labels } },
      {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name: CA_CONFIG_MAP, namespace: NAMESPACE },
        data: { 'ca.crt': marketplace.cert },
      },
    );
    undo.push(() => cluster.kubectl(['delete', 'namespace', NAMESPACE, '--ignore-not-found']));
    let files = 0;
    return {
      marketplaceUrl: marketplace.url,
      controlUrl: marketplace.controlUrl,
      apiKey: marketplace.apiKey,
      values: valuesFor(marketplace.url),
      async helm(args, values) {
        const file = join(folder, 'values', `${++files}.json`);
        if (values !== undefined) writeFileSync(file, JSON.stringify(values));
        const given = values === undefined ? [] : ['--values', file];
        return helm.run([...args, '--namespace', NAMESPACE, ...given], cluster.kubeconfigPath);
      },
      kubectl: (...args) => cluster.kubectl(args),
      apply,
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

export { NAMESPACE, RELEASE };
