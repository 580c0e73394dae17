import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { Agent, request } from 'undici';
import { API_VERSION } from '../../src/api/v1alpha1/names.ts';
import { requestToken } from '../../test/cluster/access-objects.ts';
import { type Cluster, startCluster } from '../../test/cluster/cluster.ts';
import { writeKubeconfig } from '../../test/cluster/connection.ts';
import { cpuMs } from '../gateway/process-cost.ts';

/** Observations of a GpuInstance at the API server, with the time of each. Times are milliseconds since the epoch. */
export interface SeenObject {
  readonly uid: string;
  readonly createdAt: number;
  phase: string;
  instanceId: string;
  runningAt: number | undefined;
}

/** Contents that a contender wrote into an object until its machine ran. */
export interface WrittenObject {
  readonly metadata: { readonly annotations?: Readonly<Record<string, string>> };
  readonly status?: {
    readonly phase?: string;
    /** Machine as this operator records it. */
    readonly machine?: { readonly id?: string };
    /** Machine as peers record it. */
    readonly instanceId?: string;
  };
}

/** The objects of one run, kept up to date by a watch. */
export interface Objects {
  readonly namespace: string;
  readonly live: ReadonlyMap<string, SeenObject>;
  /** Returns the object whose machine was last seen running. */
  lastRunning(): WrittenObject | undefined;
  lastDeletedAt(): number | undefined;
  create(names: readonly string[]): Promise<void>;
  /** Creates EndpointGroups, whose workers the operator creates. */
  createGroups(names: readonly string[], workers: number): Promise<void>;
  deleteAll(): Promise<void>;
  /** Returns the number of Secrets that instances own. */
  connectionSecrets(): Promise<number>;
  close(): Promise<void>;
}

/** Requests to the API server by verb and resource. */
export type Requests = Readonly<Record<string, number>>;

/** etcd and kube-apiserver for all contenders of a scenario, and who they are there. */
export interface Stage {
  readonly cluster: Cluster;
  readonly version: string;
  /** Returns the kubeconfig of a ServiceAccount with full rights; creates it if missing. */
  kubeconfigOf(serviceAccount: string): Promise<string>;
  openObjects(namespace: string): Promise<Objects>;
  /** Starts to count the requests of that ServiceAccount, those for leases not among them. */
  countRequests(serviceAccount: string): () => Requests;
  /** Returns the CPU time of the API server and etcd so far. */
  serversCpuMs(): number;
  stop(): Promise<void>;
}

export const SYSTEM_NAMESPACE = 'gpu-rental-system';
const GROUP_PATH = `/apis/${API_VERSION}`;
const AT_ONCE = 16;

export async function openStage(report: (line: string) => void): Promise<Stage> {
  const cluster = await startCluster({ report, audit: {} });
  const base = join(import.meta.dirname, '..', '..', 'deploy', 'base');
  for (const part of ['crds', 'namespace.yaml', 'service-account.yaml', 'rbac.yaml'])
    await cluster.kubectl(['apply', '--server-side', '-f', join(base, part)]);
  await cluster.kubectl(['wait', '--for=condition=Established', 'crd', '--all', '--timeout=60s']);
  const { gitVersion } = (await get(cluster, '/version')) as { gitVersion: string };
  const processes = Object.entries(cluster.processIds());
  const servers = processes.filter(([name]) => name === 'etcd' || name === 'kube-apiserver');
  return {
    cluster,
    version: gitVersion,
    kubeconfigOf: (serviceAccount) => kubeconfigOf(cluster, serviceAccount),
    openObjects: (namespace) => openObjects(cluster, namespace),
    countRequests: (serviceAccount) => countRequests(cluster.auditLogPath ?? '', serviceAccount),
    serversCpuMs: () => servers.reduce((sum, [, pid]) => sum + cpuMs(pid), 0),
    stop: () => cluster.stop(),
  };
}

async function get(cluster: Cluster, path: string): Promise<unknown> {
  return (await cluster.admin.request({ method: 'GET', path })).body;
}

async function kubeconfigOf(cluster: Cluster, name: string): Promise<string> {
  const { admin } = cluster;
  const ensure = (path: string, body: unknown) =>
    admin.request({ method: 'POST', path, body, accept: [409] });
  await ensure(`/api/v1/namespaces/${SYSTEM_NAMESPACE}/serviceaccounts`, { metadata: { name } });
  if (name !== 'gpu-rental-operator')
    await ensure('/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', {
      metadata: { name },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
      subjects: [{ kind: 'ServiceAccount', namespace: SYSTEM_NAMESPACE, name }],
    });
  const token = await requestToken(admin, { namespace: SYSTEM_NAMESPACE, name });
  const path = join(cluster.folder, `${name}.kubeconfig`);
  writeKubeconfig(path, { url: cluster.url, caPem: cluster.caPem, name, token });
  return path;
}

function manifest(namespace: string, name: string) {
  return {
    apiVersion: API_VERSION,
    kind: 'GpuInstance',
    metadata: { name, namespace },
    spec: { offers: [{ maxPricePerHour: '90' }], image: 'example/work:1', service: { enabled: false } },
  };
}

function groupManifest(namespace: string, name: string, workers: number): unknown {
  const { spec: template } = manifest(namespace, name);
  return {
    apiVersion: API_VERSION,
    kind: 'EndpointGroup',
    metadata: { name, namespace },
    spec: { replicas: workers, maxWorkers: workers, coldWorkers: 0, template: { spec: template } },
  };
}

async function openObjects(cluster: Cluster, namespace: string): Promise<Objects> {
  const { admin } = cluster;
  const path = `${GROUP_PATH}/namespaces/${namespace}/gpuinstances`;
  await admin.request({
    method: 'POST',
    path: '/api/v1/namespaces',
    body: { metadata: { name: namespace } },
  });
  const live = new Map<string, SeenObject>();
  let lastDeletedAt: number | undefined;
  let lastRunning: WrittenObject | undefined;
  const asked = new Map<string, number>();
  const stopWatch = await watch(cluster, path, ({ type, object }) => {
    const { name } = object.metadata;
    if (type === 'DELETED') {
      live.delete(name);
      lastDeletedAt = Date.now();
      return;
    }
    const seen = live.get(name) ?? {
      uid: object.metadata.uid,
      createdAt: asked.get(name) ?? Date.now(),
      ...{ phase: '', instanceId: '', runningAt: undefined },
    };
    seen.phase = object.status?.phase ?? '';
    seen.instanceId = object.status?.machine?.id ?? object.status?.instanceId ?? '';
    if (seen.phase === 'Running') {
      seen.runningAt ??= Date.now();
      lastRunning = object;
    }
    live.set(name, seen);
  });
  return {
    namespace,
    live,
    lastDeletedAt: () => lastDeletedAt,
    lastRunning: () => lastRunning,
    create: (names) =>
      atOnce(names, async (name) => {
        asked.set(name, Date.now());
        await admin.request({ method: 'POST', path, body: manifest(namespace, name) });
      }),
    createGroups: (names, workers) =>
      atOnce(names, async (name) => {
        const body = groupManifest(namespace, name, workers);
        await admin.request({ method: 'POST', path: path.replace('gpuinstances', 'endpointgroups'), body });
      }),
    deleteAll: () =>
      atOnce([...live.keys()], async (name) => {
        await admin.request({ method: 'DELETE', path: `${path}/${name}`, accept: [404] });
      }),
    async connectionSecrets() {
      const reply = (await get(cluster, `/api/v1/namespaces/${namespace}/secrets`)) as {
        items: { metadata: { ownerReferences?: { kind: string }[] } }[];
      };
      return reply.items.filter(({ metadata }) => metadata.ownerReferences?.[0]?.kind === 'GpuInstance')
        .length;
    },
    close: stopWatch,
  };
}

async function atOnce(names: readonly string[], run: (name: string) => Promise<void>): Promise<void> {
  const queue = [...names];
  const worker = async (): Promise<void> => {
    for (let name = queue.shift(); name !== undefined; name = queue.shift()) await run(name);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}

interface WatchEvent {
  readonly type: string;
  readonly object: WrittenObject & { readonly metadata: { readonly name: string; readonly uid: string } };
}

/** Watches a new namespace, which shows everything that ever existed there. Restarts when the server ends the watch. */
async function watch(
  cluster: Cluster,
  path: string,
  onEvent: (event: WatchEvent) => void,
): Promise<() => Promise<void>> {
  const agent = new Agent({ connect: { ca: cluster.caPem }, bodyTimeout: 0 });
  const headers = { authorization: `Bearer ${cluster.adminToken}` };
  const list = (await get(cluster, `${path}?limit=1`)) as { metadata: { resourceVersion: string } };
  let version = list.metadata.resourceVersion;
  let stopped = false;
  const follow = async (): Promise<void> => {
    const query = `watch=true&allowWatchBookmarks=true&resourceVersion=${version}`;
    const reply = await request(`${cluster.url}${path}?${query}`, { dispatcher: agent, headers });
    let rest = '';
    const decoder = new TextDecoder();
    for await (const chunk of reply.body) {
      const lines = (rest + decoder.decode(chunk as Uint8Array, { stream: true })).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) {
        const event = JSON.parse(line) as WatchEvent & {
          object: { metadata: { resourceVersion: string } };
        };
        if (event.type === 'ERROR') throw new Error(`The watch of the bench ended: ${line.slice(0, 300)}`);
        version = event.object.metadata.resourceVersion;
        if (event.type !== 'BOOKMARK') onEvent(event);
      }
    }
  };
  const loop = async (): Promise<void> => {
    while (!stopped)
      await follow().catch((error: unknown) => {
        if (!stopped) throw error;
      });
  };
  const ended = loop();
  ended.catch((error: unknown) => process.stderr.write(`${error}\n`));
  return async () => {
    stopped = true;
    await agent.destroy();
    await ended;
  };
}

/**
 * Counts requests from the audit log rather than at a proxy, so that contenders keep their own protocol, including
 * HTTP/2 and TLS.
 */
function countRequests(auditLogPath: string, serviceAccount: string): () => Requests {
  const user = `system:serviceaccount:${SYSTEM_NAMESPACE}:${serviceAccount}`;
  const file = openSync(auditLogPath, 'r');
  const from = fstatSync(file).size;
  return () => {
    const bytes = Buffer.alloc(fstatSync(file).size - from);
    readSync(file, bytes, 0, bytes.length, from);
    closeSync(file);
    const lines = bytes.toString('utf8').split('\n');
    return requestsIn(lines.filter((line) => line.includes(user)));
  };
}

interface AuditLine {
  readonly stage: string;
  readonly verb: string;
  readonly objectRef?: { readonly resource?: string; readonly subresource?: string };
}

/** Counts lines of an audit log as `verb resource/subresource`. */
export function requestsIn(lines: readonly string[]): Requests {
  const counts: Record<string, number> = {};
  for (const line of lines) {
    const { stage, verb, objectRef = {} } = JSON.parse(line) as AuditLine;
    const isLease = objectRef.resource === 'leases';
    // A watch is written when it begins and when it ends.
    if (isLease || (verb === 'watch' && stage !== 'ResponseStarted')) continue;
    const resource = [objectRef.resource, objectRef.subresource].filter(Boolean).join('/');
    const name = `${verb} ${resource}`;
    counts[name] = (counts[name] ?? 0) + 1;
  }
  return counts;
}
