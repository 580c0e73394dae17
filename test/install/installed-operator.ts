import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type RunningProcess, startGpuRent } from '../../scripts/demo/processes.ts';
import { openSimulator } from '../../scripts/demo/simulator.ts';
import { DEMO_DURATIONS } from '../../scripts/demo/stage.ts';
import { type Cluster, startCluster } from '../cluster/cluster.ts';
import { CHART, type Helm, openHelm } from './helm.ts';

export const RELEASE = 'gpu-rental-operator';
export const NAMESPACE = 'gpu-rental-system';

/** The chart on an API server with an audit log, a marketplace, and the operator as the chart's ServiceAccount. */
export interface InstalledOperator {
  readonly cluster: Cluster;
  readonly helm: Helm;
  readonly auditLogPath: string;
  readonly operatorUser: string;
  readonly metricsUrl: string;
  readonly marketplaceUrl: string;
  readonly controlUrl: string;
  readonly apiKey: string;
  readonly operator: RunningProcess;
  close(): Promise<void>;
}

/** Chart values, and the flags that they would give the operator's Pod. */
export interface Installation {
  readonly values?: readonly string[];
  readonly flags?: readonly string[];
}

/** Installs the operator. `close`, or a start that fails midway, removes everything. */
export async function installOperator(installation: Installation = {}): Promise<InstalledOperator> {
  const undo: (() => unknown)[] = [];
  const close = async () => {
    for (const step of undo.splice(0).reverse()) await step();
  };
  try {
    return { ...(await install(installation, undo)), close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function install(
  { values = [], flags = [] }: Installation,
  undo: (() => unknown)[],
): Promise<Omit<InstalledOperator, 'close'>> {
  const home = mkdtempSync(join(tmpdir(), 'helm-'));
  undo.push(() => rmSync(home, { recursive: true, force: true }));
  const helm = await openHelm(home);
  const cluster = await startCluster({ audit: {}, only: 'go-toolchain', report: () => {} });
  undo.push(() => cluster.stop());
  const args = ['install', RELEASE, CHART, '--namespace', NAMESPACE, '--create-namespace', ...values];
  await helm.run(args, cluster.kubeconfigPath);
  const logFolder = join(cluster.folder, 'logs');
  mkdirSync(logFolder, { recursive: true });
  const market = await openSimulator(logFolder, '--serve-machines');
  undo.push(() => market.stop());
  const serviceAccount = { namespace: NAMESPACE, name: RELEASE };
  const { kubeconfigPath } = await cluster.kubeconfigFor({ serviceAccount });
  const started = Promise.withResolvers<string>();
  const operator = startGpuRent({
    name: 'operator',
    logFolder,
    onLog: ({ msg, metricsBindAddress: url }) => {
      if (msg === 'operator started') started.resolve(`${String(url)}/metrics`);
    },
    args: [
      ...['operator', '--kubeconfig', kubeconfigPath, '--namespace', NAMESPACE],
      ...['--marketplace-url', market.url, '--address-map', '203.0.113.0/24=127.0.0.1'],
      ...['--metrics-bind-address', '127.0.0.1:0', '--health-probe-bind-address', '0'],
      ...Object.entries(DEMO_DURATIONS).flat(),
      ...flags,
    ],
  });
  undo.push(() => operator.stop());
  const early = operator.ended.then((why) => Promise.reject(new Error(why)));
  early.catch(() => {});
  if (cluster.auditLogPath === undefined) throw new Error('this control plane keeps no audit log');
  return {
    cluster,
    helm,
    operator,
    auditLogPath: cluster.auditLogPath,
    operatorUser: `system:serviceaccount:${NAMESPACE}:${RELEASE}`,
    metricsUrl: await Promise.race([started.promise, early]),
    marketplaceUrl: market.url,
    controlUrl: market.controlUrl,
    apiKey: market.apiKey,
  };
}
