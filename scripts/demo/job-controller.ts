import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { builtFolder } from '../../test/cluster/build-cache.ts';
import type { Cluster } from '../../test/cluster/cluster.ts';
import { type ServerProcess, startServer } from '../../test/cluster/server-process.ts';

/** Starts the Job controller of kube-controller-manager. Throws if this machine has no such program. */
export function startJobController(cluster: Cluster, logFolder: string): ServerProcess {
  const folders = [process.env['KUBEBUILDER_ASSETS'], builtFolder(process.env)];
  const path = folders
    .filter((folder) => folder !== undefined)
    .map((folder) => join(folder, 'kube-controller-manager'))
    .find((program) => existsSync(program));
  if (path === undefined) throw new Error('the demo needs kube-controller-manager, which is built on Linux');
  return startServer({
    name: 'kube-controller-manager',
    path,
    logPath: join(logFolder, 'kube-controller-manager.log'),
    args: [
      `--kubeconfig=${cluster.kubeconfigPath}`,
      ...['--controllers=job-controller', '--leader-elect=false', '--bind-address=127.0.0.1'],
      ...['--secure-port=0', '--profiling=false'],
    ],
  });
}
