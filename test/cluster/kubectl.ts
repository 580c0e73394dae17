import { spawn } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { text } from 'node:stream/consumers';

/** Returns the first program of that name on PATH. */
export function findOnPath(program: string, path: string | undefined): string | undefined {
  return (path ?? '')
    .split(delimiter)
    .filter((folder) => folder !== '')
    .map((folder) => join(folder, program))
    .find(isExecutable);
}

export function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

export interface KubectlCall {
  readonly kubectlPath: string;
  readonly kubeconfigPath: string;
  /** Discovery is cached here and not in the home folder, where the next cluster on this port would find it. */
  readonly cacheFolder: string;
  readonly args: readonly string[];
  readonly stdin?: string | undefined;
}

/** Runs kubectl and gives back its stdout; rejects with its stderr. */
export async function runKubectl(call: KubectlCall): Promise<string> {
  const child = spawn(call.kubectlPath, [...call.args], {
    env: {
      ...process.env,
      KUBECONFIG: call.kubeconfigPath,
      KUBECACHEDIR: call.cacheFolder,
      KUBERC: 'off',
    },
  });
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once('error', (error) => reject(new Error(`kubectl could not be run: ${error.message}`)));
    child.once('close', resolve);
  });
  child.stdin.on('error', () => {});
  child.stdin.end(call.stdin ?? '');
  const [code, stdout, stderr] = await Promise.all([ended, text(child.stdout), text(child.stderr)]);
  if (code !== 0) throw new Error(`kubectl ${call.args.join(' ')}: ${stderr.trim()}`);
  return stdout;
}
