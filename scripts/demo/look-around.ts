import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import type { Cluster } from '../../test/cluster/cluster.ts';
import { CLI } from './processes.ts';

const quoted = (path: string): string => `'${path.replaceAll("'", "'\\''")}'`;

/** Creates a folder with the cluster's `kubectl` and this `gpu-rent`; it is deleted with the cluster. */
function makeBin({ folder, kubectlPath }: Cluster): string {
  const bin = join(folder, 'bin');
  mkdirSync(bin);
  // A bare name is the one that the user has anyway.
  if (isAbsolute(kubectlPath)) symlinkSync(kubectlPath, join(bin, 'kubectl'));
  // Compiling the sources takes longer than most commands. Host keys go with the machines.
  const cache = ['NODE_COMPILE_CACHE', 'XDG_CACHE_HOME']
    .map((name) => `${name}=${quoted(join(folder, 'cache'))}`)
    .join(' ');
  const gpuRent = `#!/bin/sh\n${cache} exec ${quoted(process.execPath)} ${quoted(CLI)} "$@"\n`;
  writeFileSync(join(bin, 'gpu-rent'), gpuRent, { mode: 0o755 });
  return bin;
}

/** Returns the lines to paste into another terminal before `kubectl` and `gpu-rent` use this cluster. */
export function lookAround(cluster: Cluster): readonly string[] {
  const bin = makeBin(cluster);
  return [`export KUBECONFIG=${shellWord(cluster.kubeconfigPath)}`, `export PATH=${shellWord(bin)}:$PATH`];
}

/** A variable of the environment, and its value. */
export type Variables = Readonly<Record<string, string>>;

/**
 * Writes what {@link lookAround} shows and those variables to a file that bash and zsh source, and one beside it for
 * fish. Gives back the command to type.
 */
export function environmentFile(cluster: Cluster, variables: Variables): string {
  const bin = makeBin(cluster);
  const all = { KUBECONFIG: cluster.kubeconfigPath, ...variables };
  const path = join(cluster.folder, 'env');
  const lines = (line: (name: string, value: string) => string): string =>
    Object.entries(all)
      .map(([name, value]) => `${line(name, quoted(value))}\n`)
      .join('');
  const posix = lines((name, value) => `export ${name}=${value}`);
  writeFileSync(path, `${posix}export PATH=${quoted(bin)}:$PATH\n`, { mode: 0o600 });
  const fish = lines((name, value) => `set -gx ${name} ${value}`);
  writeFileSync(`${path}.fish`, `${fish}set -gx PATH ${quoted(bin)} $PATH\n`, { mode: 0o600 });
  return `source ${shellWord(path)}`;
}

/** Returns a path as one word of a shell command. */
export const shellWord = (path: string): string => (/^[\w./-]+$/.test(path) ? path : quoted(path));
