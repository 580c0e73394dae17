import { randomBytes } from 'node:crypto';
import { request } from 'undici';
import { z } from 'zod';
import type { ClusterSource } from './connection.ts';
import { keepControlPlane } from './kept-control-plane.ts';
import type { ControlPlanePlan } from './site.ts';
import type { StartedCluster, StartOptions } from './way.ts';

export interface OwnControlPlane {
  readonly source: ClusterSource;
  readonly programs: Omit<ControlPlanePlan, 'audit'>;
  readonly kubectlPath: string;
}

const header = z.object({ header: z.object({ revision: z.string() }) });

/** etcd's JSON gateway: no gRPC client is needed for two calls. */
async function callEtcd(etcdUrl: string, call: string, body: unknown): Promise<unknown> {
  const reply = await request(`${etcdUrl}/v3/kv/${call}`, { method: 'POST', body: JSON.stringify(body) });
  const answer: unknown = await reply.body.json();
  if (reply.statusCode !== 200) throw new Error(`etcd refused ${call}: ${JSON.stringify(answer)}`);
  return answer;
}

async function compact(etcdUrl: string): Promise<void> {
  const key = Buffer.from('/').toString('base64');
  const { revision } = header.parse(await callEtcd(etcdUrl, 'range', { key })).header;
  await callEtcd(etcdUrl, 'compaction', { revision, physical: true });
}

/** Starts etcd, kube-apiserver and controllers from programs on this machine. */
export async function startOwnControlPlane(
  { source, programs, kubectlPath }: OwnControlPlane,
  { audit, report }: StartOptions,
): Promise<StartedCluster> {
  const kept = await keepControlPlane({ ...programs, audit }, report);
  const { etcdUrl, ...site } = kept.site;
  return {
    connection: {
      ...site,
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
      compactEtcd: () => compact(etcdUrl),
    },
    processIds: () => kept.processIds(),
    stop: () => kept.stop(),
  };
}
