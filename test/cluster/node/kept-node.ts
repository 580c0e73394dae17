import { type ChildProcess, fork } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { dismiss, KEEPER, KeeperChannel, type KeptControlPlane, startKept } from '../kept-control-plane.ts';
import type { ControlPlanePlan } from '../site.ts';
import { type CgroupMounts, hasCgroups, makeCgroups, readCgroupMounts, removeCgroups } from './cgroups.ts';
import { connectNode, disconnectNode, type NodeNetwork } from './network.ts';
import { type NodePrograms, snapshotterFor } from './programs.ts';
import type { NodePlan } from './settings.ts';

export interface NodeStart {
  readonly programs: NodePrograms;
  readonly controlPlane: Omit<ControlPlanePlan, 'node'>;
  readonly servers: NodePlan['servers'];
  readonly archives: readonly string[];
}

export interface KeptNode extends KeptControlPlane {
  readonly network: NodeNetwork;
}

/** What a node leaves on this machine if nothing of it is left to clean up. */
interface Traces {
  readonly folder: string;
  readonly cgroup: string;
  readonly mounts: CgroupMounts;
}

const INIT = join(import.meta.dirname, 'init.sh');
/** All that a node changes is in namespaces of its own; `--kill-child` ties its first process to `unshare`. */
const UNSHARE = [
  ...['--mount', '--propagation', 'private', '--net', '--pid', '--uts', '--ipc'],
  ...['--fork', '--kill-child', '--mount-proc'],
];
const LAST_LINES = 8;
const CLEAN_WITHIN_MS = 10_000;

function leaveTraces(): Traces {
  const mounts = readCgroupMounts();
  const folder = mkdtempSync(join(tmpdir(), 'gpu-rental-node-'));
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
async function removeTraces({ folder, cgroup, mounts }: Traces): Promise<void> {
  const deadline = performance.now() + CLEAN_WITHIN_MS;
  while (hasCgroups(cgroup, mounts) && performance.now() < deadline) {
    removeCgroups(cgroup, mounts);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
}

function forkKeeper({ folder, cgroup }: Traces, { searchPath, unshare }: NodePrograms): ChildProcess {
  return fork(KEEPER, [folder], {
    detached: true,
    execPath: unshare,
    execArgv: [...UNSHARE, 'bash', INIT, folder, cgroup, process.execPath],
    env: { ...process.env, PATH: searchPath },
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });
}

/** The last lines that the first processes of a node wrote: why there is no node, if there is none. */
function lastLines(keeper: ChildProcess): () => string {
  let text = '';
  keeper.stderr?.on('data', (chunk: Buffer) => {
    text = `${text}${chunk}`.split('\n').slice(-LAST_LINES).join('\n');
  });
  return () => text.trim();
}

/** Starts a control plane with a node in namespaces of their own; resolves when Pods can run and look names up. */
export async function keepNode(start: NodeStart, onLoss: (how: string) => void): Promise<KeptNode> {
  const { programs, controlPlane, servers, archives } = start;
  const traces = leaveTraces();
  const keeper = forkKeeper(traces, programs);
  const output = lastLines(keeper);
  let network: NodeNetwork | undefined;
  const stop = async (): Promise<void> => {
    await dismiss(keeper);
    if (network !== undefined) await disconnectNode(programs.ip, network);
    await removeTraces(traces);
  };
  try {
    const channel = new KeeperChannel(keeper, onLoss);
    await channel.up;
    network = await connectNode(programs.ip, keeper.pid ?? 0);
    const { cgroup, folder } = traces;
    const settings = { programs, network, cgroup, snapshotter: snapshotterFor(folder) };
    const kept = await startKept(channel, { ...controlPlane, node: { settings, servers, archives } });
    // Its servers have numbers of their own in there.
    const processIds = () => ({ node: keeper.pid ?? 0 });
    return { ...kept, processIds, network, stop };
  } catch (error) {
    await stop();
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error([reason, output()].filter(Boolean).join('\n'));
  }
}
