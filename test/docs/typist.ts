import { execFile } from 'node:child_process';
import { delimiter, dirname, isAbsolute, join } from 'node:path';
import { promisify } from 'node:util';
import type { ClusterConnection } from '../cluster/connection.ts';

/** Runs a block in bash; rejects if a command fails or takes longer (default: two minutes). */
export type Typist = (commands: string, timeoutMs?: number) => Promise<string>;

export interface TypistOptions {
  readonly folder: string;
  /** Folders that come first on PATH. */
  readonly programs?: readonly string[];
  /** Previously exported variables. */
  readonly variables?: Readonly<Record<string, string>>;
}

/** Returns a prompt in that folder, whose kubectl uses this cluster. */
export function typistOn(
  cluster: Pick<ClusterConnection, 'kubectlPath' | 'kubeconfigPath' | 'folder'>,
  { folder, programs = [], variables = {} }: TypistOptions,
): Typist {
  const kubectl = isAbsolute(cluster.kubectlPath) ? [dirname(cluster.kubectlPath)] : [];
  const env = {
    PATH: [...programs, ...kubectl, process.env.PATH ?? ''].join(delimiter),
    HOME: folder,
    USER: 'reader',
    KUBECONFIG: cluster.kubeconfigPath,
    KUBECACHEDIR: join(cluster.folder, 'kubectl-cache'),
    ...variables,
  };
  return async (commands, timeoutMs = 120_000) => {
    const options = { cwd: folder, env, timeout: timeoutMs };
    // Without --norc, bash takes the socket that Node gives it as stdin for a remote shell and reads start-up files.
    const typing = promisify(execFile)('bash', ['--norc', '-euo', 'pipefail', '-c', commands], options);
    // A shell on a machine would wait for more.
    typing.child.stdin?.end();
    return (await typing).stdout;
  };
}
