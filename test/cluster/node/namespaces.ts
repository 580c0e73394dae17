import { type ChildProcess, fork, type StdioOptions } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { type CgroupMounts, hasCgroups, makeCgroups, readCgroupMounts, removeCgroups } from './cgroups.ts';
import type { NodePrograms } from './programs.ts';

/** Folder and control group that programs in separate namespaces leave behind if no process is left to clean up. */
export interface Traces {
  readonly folder: string;
  readonly cgroup: string;
  readonly mounts: CgroupMounts;
}

const INIT = join(import.meta.dirname, 'init.sh');
/** All that they change is in namespaces of their own; `--kill-child` ties the first process to `unshare`. */
const UNSHARE = [
  ...['--mount', '--propagation', 'private', '--net', '--pid', '--uts', '--ipc'],
  ...['--fork', '--kill-child', '--mount-proc'],
];
const CLEAN_WITHIN_MS = 10_000;

/** Creates a folder and a control group with the same name, which begins with the prefix. */
export function leaveTraces(prefix: string): Traces {
  const mounts = readCgroupMounts();
  const folder = mkdtempSync(join(tmpdir(), prefix));
  const cgroup = basename(folder);
  try {
    makeCgroups(cgroup, mounts);
    writeFileSync(join(folder, 'cgroup-mounts'), `${mounts.folders.join('\n')}\n`);
  } catch (error) {
    removeCgroups(cgroup, mounts);
    rmSync(folder, { recursive: true, force: true });
    throw error;
  }
  return { folder, cgroup, mounts };
}

/** init.sh has done so already, unless it was killed. */
export async function removeTraces({ folder, cgroup, mounts }: Traces): Promise<void> {
  const deadline = performance.now() + CLEAN_WITHIN_MS;
  while (hasCgroups(cgroup, mounts) && performance.now() < deadline) {
    removeCgroups(cgroup, mounts);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
}

export interface ForkOptions {
  readonly programs: Pick<NodePrograms, 'searchPath' | 'unshare'>;
  /** Arguments of a Node program, beginning with its file. */
  readonly args: readonly [string, ...string[]];
  readonly stdio: StdioOptions;
}

/** Runs a Node program in namespaces of their own, with a channel to it; init.sh, which starts it, ends with it. */
export function forkApart(
  { folder, cgroup }: Traces,
  { programs, args: [file, ...args], stdio }: ForkOptions,
): ChildProcess {
  return fork(file, args, {
    detached: true,
    execPath: programs.unshare,
    execArgv: [...UNSHARE, 'bash', INIT, folder, cgroup, process.execPath],
    env: { ...process.env, PATH: programs.searchPath },
    stdio,
  });
}
