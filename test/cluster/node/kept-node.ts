import type { ChildProcess } from 'node:child_process';
import { dismiss, KEEPER, KeeperChannel, type KeptControlPlane, startKept } from '../kept-control-plane.ts';
import type { ControlPlanePlan } from '../site.ts';
import { forkApart, leaveTraces, removeTraces } from './namespaces.ts';
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

const LAST_LINES = 8;

/** Returns the last output lines of a node's first processes: the reason if the node does not start. */
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
  const traces = leaveTraces('gpu-rental-node-');
  const stdio = ['ignore', 'ignore', 'pipe', 'ipc'] as const;
  const keeper = forkApart(traces, { programs, args: [KEEPER, traces.folder], stdio: [...stdio] });
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
