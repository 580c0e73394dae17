import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import type { AdminClient } from './admin-client.ts';
import { readAuditLog } from './audit-log.ts';
import { builtFolder, isBuilt } from './build-cache.ts';
import { type Cluster, type ClusterOptions, startCluster } from './cluster.ts';
import { untilServed } from './served.ts';
import { sharedCluster } from './shared-cluster.ts';

const SOON = { timeout: 30_000, interval: 100 };
const CONFIG_MAPS = '/api/v1/namespaces/default/configmaps';

const running: Cluster[] = [];
afterEach(async () => {
  for (const cluster of running.splice(0)) await cluster.stop();
  vi.unstubAllEnvs();
});

async function start(options: ClusterOptions): Promise<Cluster> {
  const cluster = await startCluster(options);
  running.push(cluster);
  return cluster;
}

/** Environment of a user who has built the programs once and has nothing else. */
const bare = { PATH: '', HOME: process.env.HOME, XDG_CACHE_HOME: process.env.XDG_CACHE_HOME };
const own = { only: 'go-toolchain', env: bare } as const;

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

function isListening(url: string): Promise<boolean> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  return new Promise<boolean>((resolve) => {
    socket.once('connect', () => resolve(true));
    socket.once('error', () => resolve(false));
  }).finally(() => socket.destroy());
}

const list = z.object({
  metadata: z.object({ resourceVersion: z.string(), continue: z.string().optional() }),
  items: z.array(z.object({ metadata: z.object({ name: z.string() }) })),
});

async function listConfigMaps(admin: AdminClient, query = ''): Promise<z.infer<typeof list>> {
  return list.parse((await admin.request({ method: 'GET', path: `${CONFIG_MAPS}${query}` })).body);
}

async function createConfigMap(admin: AdminClient, name: string): Promise<void> {
  await admin.request({ method: 'POST', path: CONFIG_MAPS, body: { metadata: { name } } });
}

const namesOf = ({ items }: z.infer<typeof list>) => items.map(({ metadata }) => metadata.name);

interface StartedMain {
  readonly printed: { kubeconfig: string; url: string; source: string; kubectl: string };
  kill(): void;
  closeStdin(): void;
}

/** `node test/cluster/main.ts`, up to its line. */
function startMain(env: NodeJS.ProcessEnv): Promise<StartedMain> {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'main.ts')], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env,
  });
  return new Promise((resolve, reject) => {
    child.once('exit', (code) => reject(new Error(`main.ts ended with ${code} before it printed anything`)));
    createInterface({ input: child.stdout }).once('line', (line) => {
      const printed = z
        .object({ kubeconfig: z.string(), url: z.string(), source: z.string(), kubectl: z.string() })
        .parse(JSON.parse(line));
      resolve({ printed, kill: () => child.kill('SIGKILL'), closeStdin: () => child.stdin.end() });
    });
  });
}

describe.skipIf(!isBuilt(process.env))('a control plane built from Go modules', () => {
  let cluster: Cluster;
  let auditFolder = '';
  beforeAll(async () => {
    auditFolder = mkdtempSync(join(tmpdir(), 'audit-'));
    const policyPath = join(auditFolder, 'policy.json');
    const rules = [{ level: 'Metadata', verbs: ['create'], resources: [{ resources: ['configmaps'] }] }];
    writeFileSync(policyPath, JSON.stringify({ apiVersion: 'audit.k8s.io/v1', kind: 'Policy', rules }));
    cluster = await startCluster({ ...own, audit: { policyPath, logPath: join(auditFolder, 'audit.log') } });
  });
  afterAll(async () => {
    await cluster.stop();
    rmSync(auditFolder, { recursive: true });
  });

  test('starts from the cache where there is no Go and no kubectl', async () => {
    expect(cluster.source).toBe('go-toolchain');
    expect(await cluster.kubectl(['version'])).toContain('Server Version: v1.36');
  });

  test('audits what the given policy names, and nothing else', async () => {
    await createConfigMap(cluster.admin, 'audited');
    await listConfigMaps(cluster.admin);
    const events = readAuditLog(cluster.auditLogPath ?? '', 'admin');
    expect(new Set(events.map(({ verb }) => verb))).toEqual(new Set(['create']));
  });

  test('leaves no process and no file behind when it is stopped', async () => {
    const short = await startCluster(own);
    const processIds = Object.values(short.processIds());
    expect(processIds.filter(isAlive)).toHaveLength(4);
    await short.stop();
    expect(processIds.filter(isAlive)).toEqual([]);
    expect(existsSync(short.folder)).toBe(false);
  });

  test.for(['kill', 'closeStdin'] as const)(
    'leaves nothing behind when its starter is ended by %s',
    async (end) => {
      const main = await startMain({ ...process.env, ...bare });
      expect(await isListening(main.printed.url)).toBe(true);
      main[end]();
      await expect.poll(() => isListening(main.printed.url), SOON).toBe(false);
      await expect.poll(() => existsSync(dirname(main.printed.kubeconfig)), SOON).toBe(false);
    },
  );

  test('is away during an outage and comes back at its address with all its objects', async () => {
    const { apiServer, admin, url } = cluster;
    await createConfigMap(admin, 'kept');
    await apiServer?.stop();
    expect(await isListening(url)).toBe(false);
    await expect(listConfigMaps(admin)).rejects.toThrow('ECONNREFUSED');
    await apiServer?.start();
    expect(namesOf(await listConfigMaps(admin))).toContain('kept');
  });

  test('answers 410 to an old continue token and an old watch after compaction and a restart', async () => {
    const { apiServer, admin } = cluster;
    for (const name of ['a', 'b', 'c']) await createConfigMap(admin, name);
    const page = await listConfigMaps(admin, '?limit=1');
    await createConfigMap(admin, 'd');
    await apiServer?.compactEtcd();
    await apiServer?.restart();
    const next = `${CONFIG_MAPS}?limit=1&continue=${page.metadata.continue}`;
    expect((await admin.request({ method: 'GET', path: next, accept: [410] })).status).toBe(410);
    const { resourceVersion } = page.metadata;
    const watch = `${CONFIG_MAPS}?watch=true&timeoutSeconds=5&resourceVersion=${resourceVersion}`;
    const reply = await admin.request({ method: 'GET', path: watch });
    expect(reply.body).toMatchObject({ type: 'ERROR', object: { code: 410, reason: 'Expired' } });
  });

  test('is empty of our objects and the tests’ namespaces after a reset, finalizers or not', async () => {
    const { admin } = cluster;
    const stdin = JSON.stringify({
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: 'rentals.gpurental.dev' },
      spec: {
        group: 'gpurental.dev',
        scope: 'Namespaced',
        names: { kind: 'Rental', plural: 'rentals' },
        versions: [
          {
            name: 'v1alpha1',
            served: true,
            storage: true,
            schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
          },
        ],
      },
    });
    await cluster.kubectl(['apply', '-f', '-'], { stdin });
    const path = '/apis/gpurental.dev/v1alpha1';
    await untilServed(admin, `${path}/rentals`);
    const namespace = await cluster.createNamespace('messy');
    for (const where of [namespace, 'default']) {
      await admin.request({
        method: 'POST',
        path: `${path}/namespaces/${where}/rentals`,
        body: {
          apiVersion: 'gpurental.dev/v1alpha1',
          kind: 'Rental',
          metadata: { name: 'held', finalizers: ['gpurental.dev/destroy'] },
        },
      });
    }
    await cluster.reset();
    expect(list.parse((await admin.request({ method: 'GET', path: `${path}/rentals` })).body).items).toEqual(
      [],
    );
    const gone = { method: 'GET', path: `/api/v1/namespaces/${namespace}`, accept: [404] } as const;
    expect((await admin.request(gone)).status).toBe(404);
  });
});

describe('the ways to a cluster', () => {
  test('take the programs of KUBEBUILDER_ASSETS before anything that happens to be there', async ({
    skip,
  }) => {
    if (!isBuilt(process.env)) skip('no etcd and kube-apiserver were built here');
    const env = { ...process.env, USE_EXISTING_CLUSTER: '', KUBEBUILDER_ASSETS: builtFolder(process.env) };
    const cluster = await start({ env });
    expect(cluster.source).toBe('kubebuilder-assets');
    expect(namesOf(await listConfigMaps(cluster.admin))).toEqual([]);
  });

  test('refuse a KUBEBUILDER_ASSETS without programs instead of going another way', async () => {
    const env = { ...bare, KUBEBUILDER_ASSETS: tmpdir() };
    await expect(startCluster({ env })).rejects.toThrow('has no executable etcd and no kube-apiserver');
  });

  test('take an existing cluster when configured to, and leave it as it was', async () => {
    const shared = sharedCluster();
    vi.stubEnv('KUBECONFIG', shared.kubeconfigPath);
    const bystander = await shared.createNamespace('bystander');
    const namespaces = () => shared.kubectl(['get', 'namespaces', '-o', 'name']);
    // Those of other tests may be going.
    const staying = () =>
      shared.kubectl(['get', 'namespaces', '-o', 'name', '--field-selector', 'status.phase=Active']);
    const before = await staying();

    const cluster = await startCluster({ env: { ...process.env, USE_EXISTING_CLUSTER: 'true' } });
    expect([cluster.source, cluster.disposable]).toEqual(['existing-cluster', false]);
    await cluster.kubeconfigFor({ user: 'jane' });
    const made = await cluster.createNamespace('made');
    await cluster.reset();
    expect(await namespaces()).not.toContain(made);
    await cluster.stop();

    await expect.poll(namespaces, SOON).not.toContain(cluster.id);
    expect(await staying()).toBe(before);
    expect(before).toContain(bystander);
    expect(await shared.kubectl(['get', 'clusterroles', '-o', 'name'])).not.toContain(cluster.id);
    await shared.kubectl(['delete', 'namespace', bystander, '--wait=false']);
    await shared.disconnect();
  });

  test('end in one message that names all four when none can be gone', async () => {
    const nothing = mkdtempSync(join(tmpdir(), 'no-cache-'));
    const env = { PATH: '', XDG_CACHE_HOME: nothing };
    const message = await startCluster({ env }).catch((error: Error) => error.message);
    rmSync(nothing, { recursive: true });
    expect(message).toMatch(
      /USE_EXISTING_CLUSTER=true.*KUBEBUILDER_ASSETS=.*Docker engine.*Go 1\.26 or newer/s,
    );
  });
});
