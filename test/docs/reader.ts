import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type RunningProcess, startGpuRent } from '../../scripts/demo/processes.ts';
import { REPOSITORY } from '../../scripts/generate/artifact.ts';
import { type Cluster, startCluster } from '../cluster/cluster.ts';
import { goToolPath, HELM } from '../tools/go-tool.ts';
import { type Typist, typistOn } from './typist.ts';

const NAMESPACE = 'gpu-rental-system';

/** Reader who follows a document with a separate cluster, in a folder that looks like a clone of the repository. */
export interface Reader {
  readonly cluster: Cluster;
  readonly folder: string;
  readonly type: Typist;
  /** Runs the process of a Pod, with the arguments of its container. */
  run(name: string, args: readonly string[]): RunningProcess;
  /** Arguments by which the operator finds this cluster as the ServiceAccount of `deploy/`. */
  operatorAccess(): Promise<readonly string[]>;
  close(): Promise<void>;
}

export async function openReader(): Promise<Reader> {
  const cluster = await startCluster({ only: 'go-toolchain', report: () => {} });
  const folder = mkdtempSync(join(tmpdir(), 'reader-'));
  for (const name of ['deploy', 'crds', 'charts']) symlinkSync(join(REPOSITORY, name), join(folder, name));
  const logFolder = join(cluster.folder, 'logs');
  mkdirSync(logFolder, { recursive: true });
  const running: RunningProcess[] = [];
  const programs = join(cluster.folder, 'programs');
  mkdirSync(programs);
  const gpuRent = `#!/bin/sh\nexec '${process.execPath}' '${join(REPOSITORY, 'src/cli/main.ts')}' "$@"\n`;
  writeFileSync(join(programs, 'gpu-rent'), gpuRent, { mode: 0o755 });
  const helm = dirname(goToolPath(HELM, process.env));
  return {
    cluster,
    folder,
    type: typistOn(cluster, { folder, programs: [programs, helm] }),
    run(name, args) {
      const started = startGpuRent({ name, args, logFolder });
      running.push(started);
      return started;
    },
    async operatorAccess() {
      const serviceAccount = { namespace: NAMESPACE, name: 'gpu-rental-operator' };
      const { kubeconfigPath } = await cluster.kubeconfigFor({ serviceAccount });
      return ['--kubeconfig', kubeconfigPath, '--namespace', NAMESPACE];
    },
    async close() {
      for (const started of running.reverse()) await started.stop();
      await cluster.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
