import { request } from 'undici';
import { z } from 'zod';

const header = z.object({ header: z.object({ revision: z.string() }) });
const status = z.object({ dbSize: z.string() });

/** Calls etcd's JSON gateway, so that no gRPC client is needed. */
async function callEtcd(etcdUrl: string, call: string, body: unknown): Promise<unknown> {
  const reply = await request(`${etcdUrl}/v3/${call}`, { method: 'POST', body: JSON.stringify(body) });
  const answer: unknown = await reply.body.json();
  if (reply.statusCode !== 200) throw new Error(`etcd refused ${call}: ${JSON.stringify(answer)}`);
  return answer;
}

/** Makes etcd forget every revision but the newest, and use their pages again. */
export async function compactEtcd(etcdUrl: string): Promise<void> {
  const key = Buffer.from('/').toString('base64');
  const { revision } = header.parse(await callEtcd(etcdUrl, 'kv/range', { key })).header;
  await callEtcd(etcdUrl, 'kv/compaction', { revision, physical: true });
}

/** Returns the size of etcd's database on disk in bytes, which its quota (default 2 GB) limits. */
export async function sizeOfEtcd(etcdUrl: string): Promise<number> {
  return Number(status.parse(await callEtcd(etcdUrl, 'maintenance/status', {})).dbSize);
}
