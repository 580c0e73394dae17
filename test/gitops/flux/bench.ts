import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { startGpuRent } from '../../../scripts/demo/processes.ts';
import { openSimulator } from '../../../scripts/demo/simulator.ts';
import { DEMO_DURATIONS } from '../../../scripts/demo/stage.ts';
import { type Cluster, startCluster } from '../../cluster/cluster.ts';
import { untilServed } from '../../cluster/served.ts';
import type { ServerProcess } from '../../cluster/server-process.ts';
import { goTool } from '../../tools/go-tool.ts';
import { type ArtifactServer, openArtifactServer } from './artifact-server.ts';
import { fluxCrdFolders, KUSTOMIZE_CONTROLLER, startKustomizeController } from './kustomize-controller.ts';

const OPERATOR_NAMESPACE = 'gpu-rental-system';

/** An API server with Flux and a marketplace. The operator's objects are not in it: Flux brings them. */
export interface FluxBench {
  readonly cluster: Cluster;
  readonly source: ArtifactServer;
  readonly apiKey: string;
  readonly controlUrl: string;
  kubectl(...args: readonly string[]): Promise<string>;
  apply(...manifests: readonly object[]): Promise<void>;
  /** Runs the operator as the ServiceAccount that Flux has applied, beside the cluster: no node runs its Pod. */
  startOperator(): Promise<void>;
  /** Ends the kustomize-controller and starts it again with these flags. */
  restartFlux(flags: readonly string[]): Promise<void>;
  /** Stops and removes everything of the bench. */
  close(): Promise<void>;
}

/** Opens the bench; if a step fails, the earlier ones are undone. */
export async function openFluxBench(): Promise<FluxBench> {
  const undo: (() => unknown)[] = [];
  const close = async () => {
    for (const step of undo.splice(0).reverse()) await step();
  };
  try {
    return { ...(await open(undo)), close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function open(undo: (() => unknown)[]): Promise<Omit<FluxBench, 'close'>> {
  const program = await goTool(KUSTOMIZE_CONTROLLER);
  const crds = await fluxCrdFolders();
  const cluster = await startCluster({ only: 'go-toolchain', report: () => {} });
  undo.push(() => cluster.stop());
  await installFlux(cluster, crds);
  const folder = join(cluster.folder, 'flux');
  mkdirSync(folder, { recursive: true });
  const market = await openSimulator(folder, '--no-rate-limits');
  undo.push(() => market.stop());
  const source = await openArtifactServer(cluster.admin);
  undo.push(() => source.close());
  let controller: ServerProcess | undefined;
  const stopFlux = async () => controller?.stop(10_000);
  const startFlux = (flags: readonly string[]) => {
    const { kubeconfigPath } = cluster;
    controller = startKustomizeController({ path: program, kubeconfigPath, folder, flags });
  };
  startFlux([]);
  undo.push(stopFlux);
  return {
    ...{ cluster, source, apiKey: market.apiKey, controlUrl: market.controlUrl },
    kubectl: (...args) => cluster.kubectl(args),
    async apply(...manifests) {
      const list = { apiVersion: 'v1', kind: 'List', items: manifests };
      await cluster.kubectl(['apply', '--server-side', '-f', '-'], { stdin: JSON.stringify(list) });
    },
    async startOperator() {
      const stop = await startOperator(cluster, market.url, folder);
      undo.push(stop);
    },
    async restartFlux(flags) {
      await stopFlux();
      startFlux(flags);
    },
  };
}

async function installFlux(cluster: Cluster, crdFolders: readonly string[]): Promise<void> {
  await cluster.kubectl(['create', 'namespace', 'flux-system']);
  for (const folder of crdFolders) await cluster.kubectl(['apply', '--server-side', '-f', folder]);
  for (const path of [
    'kustomize.toolkit.fluxcd.io/v1/kustomizations',
    'source.toolkit.fluxcd.io/v1/gitrepositories',
  ])
    await untilServed(cluster.admin, `/apis/${path}`);
}

async function startOperator(cluster: Cluster, url: string, logFolder: string): Promise<() => Promise<void>> {
  const serviceAccount = { namespace: OPERATOR_NAMESPACE, name: 'gpu-rental-operator' };
  const { kubeconfigPath } = await cluster.kubeconfigFor({ serviceAccount });
  const operator = startGpuRent({
    name: 'operator',
    logFolder,
    args: [
      ...['operator', '--kubeconfig', kubeconfigPath, '--namespace', OPERATOR_NAMESPACE],
      ...['--marketplace-url', url, '--metrics-bind-address', '0', '--health-probe-bind-address', '0'],
      ...Object.entries(DEMO_DURATIONS).flat(),
    ],
  });
  return () => operator.stop();
}
