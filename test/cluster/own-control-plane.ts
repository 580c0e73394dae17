import { randomBytes } from 'node:crypto';
import type { ClusterSource, NodeConnection } from './connection.ts';
import { compactEtcd } from './etcd.ts';
import { type KeptControlPlane, keepControlPlane } from './kept-control-plane.ts';
import type { ControlPlanePlan } from './site.ts';
import type { StartedCluster, StartOptions } from './way.ts';

export interface OwnControlPlane {
  readonly source: ClusterSource;
  readonly programs: Omit<ControlPlanePlan, 'audit'>;
  readonly kubectlPath: string;
}

/** Starts etcd, kube-apiserver and controllers from programs on this machine. */
export async function startOwnControlPlane(
  { source, programs, kubectlPath }: OwnControlPlane,
  { audit, report }: StartOptions,
): Promise<StartedCluster> {
  const kept = await keepControlPlane({ ...programs, audit }, report);
  return startedFrom(kept, { source, kubectlPath, collectsGarbage: programs.controllers !== undefined });
}

interface Origin {
  readonly source: ClusterSource;
  readonly kubectlPath: string;
  readonly collectsGarbage: boolean;
  readonly node?: NodeConnection;
}

/** Returns a running control plane of this machine in the form that every way returns. */
export function startedFrom(
  kept: KeptControlPlane,
  { source, kubectlPath, collectsGarbage, node }: Origin,
): StartedCluster {
  return {
    connection: {
      ...kept.site,
      source,
      id: randomBytes(4).toString('hex'),
      kubectlPath,
      disposable: true,
      collectsGarbage,
      node,
    },
    apiServer: {
      stop: () => kept.stopApiServer(),
      start: () => kept.startApiServer(),
      async restart() {
        await kept.stopApiServer();
        await kept.startApiServer();
      },
      compactEtcd: () => compactEtcd(kept.site.etcdUrl),
    },
    nodeTimes: kept.nodeTimes,
    processIds: () => kept.processIds(),
    stop: () => kept.stop(),
  };
}
