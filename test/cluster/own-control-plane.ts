import { randomBytes } from 'node:crypto';
import type { ClusterSource } from './connection.ts';
import { compactEtcd } from './etcd.ts';
import { keepControlPlane } from './kept-control-plane.ts';
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
  return {
    connection: {
      ...kept.site,
      source,
      id: randomBytes(4).toString('hex'),
      kubectlPath,
      disposable: true,
      collectsGarbage: programs.controllers !== undefined,
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
    processIds: () => kept.processIds(),
    stop: () => kept.stop(),
  };
}
