import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import type { Cluster } from '../../test/cluster/cluster.ts';
import { CLI } from './processes.ts';

const quoted = (path: string): string => `'${path.replaceAll("'", "'\\''")}'`;

/** A folder with the `kubectl` of the cluster and this `gpu-rent`; it goes with the cluster. */
function makeBin({ folder, kubectlPath }: Cluster): string {
  const bin = join(folder, 'bin');
  mkdirSync(bin);
  // A bare name is the one that the user has anyway.
  if (isAbsolute(kubectlPath)) symlinkSync(kubectlPath, join(bin, 'kubectl'));
  // Compiling the sources takes longer than most commands.
  const cache = `NODE_COMPILE_CACHE=${quoted(join(folder, 'compiled'))}`;
  const gpuRent = `#!/bin/sh\n${cache} exec ${quoted(process.execPath)} ${quoted(CLI)} "$@"\n`;
  writeFileSync(join(bin, 'gpu-rent'), gpuRent, { mode: 0o755 });
  return bin;
}

/** What to paste into another terminal before `kubectl` and `gpu-rent` look at this cluster. */
export function lookAround(cluster: Cluster): readonly string[] {
  const bin = makeBin(cluster);
  return [`export KUBECONFIG=${shellWord(cluster.kubeconfigPath)}`, `export PATH=${shellWord(bin)}:$PATH`];
}

/** A path as one word of a shell command. */
export const shellWord = (path: string): string => (/^[\w./-]+$/.test(path) ? path : quoted(path));
