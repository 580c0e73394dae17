import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { IN_USE_RECORD } from '../../src/api/v1alpha1/names.ts';
import { until } from '../builders/until.ts';
import { type Cluster, startCluster } from '../cluster/cluster.ts';
import type { GoTool } from '../tools/go-tool.ts';
import { type Helm, openHelm } from './helm.ts';

export const NAMESPACE = 'gpu-rental-system';
export const RELEASE = 'gpu-rental-operator';

/** Dedicated cluster, so that its policies affect no other test, with Helm for it. */
export interface ReleaseBench {
  readonly cluster: Cluster;
  /** A folder for files of the test. */
  readonly folder: string;
  /** Runs Helm on this cluster in the release's namespace; rejects with Helm's message. */
  helm(...args: readonly string[]): Promise<string>;
  render: Helm['template'];
  kubectl(...args: readonly string[]): Promise<string>;
  apply(manifest: object): Promise<string>;
  /** Writes the record as the operator does, and waits until admission has heard of it. */
  setInUse(inUse: boolean): Promise<void>;
  close(): Promise<void>;
}

export async function openReleaseBench(tool: GoTool): Promise<ReleaseBench> {
  const folder = mkdtempSync(join(tmpdir(), 'release-'));
  const program = await openHelm(folder, tool);
  const cluster = await startCluster({ only: 'go-toolchain', report: () => {} });
  const kubectl = (...args: readonly string[]) => cluster.kubectl(args);
  const apply = (manifest: object) =>
    cluster.kubectl(['apply', '-f', '-'], { stdin: JSON.stringify(manifest) });
  return {
    cluster,
    folder,
    helm: (...args) => program.run([...args, '--namespace', NAMESPACE], cluster.kubeconfigPath),
    render: program.template,
    kubectl,
    apply,
    async setInUse(inUse) {
      const metadata = { name: IN_USE_RECORD, namespace: NAMESPACE };
      await apply({ apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { inUse: String(inUse) } });
      const remove = ['delete', 'configmap', IN_USE_RECORD, '-n', NAMESPACE, '--dry-run=server'];
      const isRefused = () =>
        kubectl(...remove).then(
          () => false,
          () => true,
        );
      await until('admission hears of it', async () => (await isRefused()) === inUse);
    },
    async close() {
      await cluster.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
