import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { LOGIN } from '../../test/builders/observed-account.ts';
import { selfSigned } from '../../test/builders/self-signed.ts';
import { until } from '../../test/builders/until.ts';
import type { ClusterAccess } from '../../test/cluster/connect.ts';
import { sharedCluster } from '../../test/cluster/shared-cluster.ts';
import { MachineLogs } from '../accounts/machine-logs.ts';
import { LOG_READER, metricsGrants } from '../api/access.ts';
import type { GpuInstance } from '../api/v1alpha1/gpu-instance.ts';
import { parseConfig } from '../config.ts';
import { systemClock } from '../lib/clock.ts';
import { silentLogger } from '../lib/logger.ts';
import { systemRandom } from '../lib/random.ts';
import { Secret } from '../lib/secret.ts';
import { makeClaim } from '../ownership/claim.ts';
import { newIdentity } from '../ownership/identity.ts';
import { tokenCredentials } from '../runtime/kube/credentials.ts';
import { createKubeClient } from '../runtime/kube/kube-client.ts';
import { type ClosableTransport, createTransport } from '../runtime/kube/undici-transport.ts';
import { createMetricRegistry } from '../server/metric-registry.ts';
import type { Operator } from './operator.ts';
import { type PageSet, servePageSet } from './page-set.ts';

/* The logs of an operator whose ServiceAccount may review tokens and nothing else, on a real API server. */

const RBAC = 'rbac.authorization.k8s.io';
const DAY = 86_400_000;
const certificate = selfSigned({
  notBefore: new Date(Date.now() - DAY),
  notAfter: new Date(Date.now() + DAY),
});
const identity = newIdentity(
  { id: new Uint8Array(16).fill(1), key: new Uint8Array(32).fill(2) },
  { kubeSystemUid: undefined, scope: '*' },
);

let cluster: ClusterAccess;
let namespace = '';
let other = '';
let folder = '';
let transport: ClosableTransport;
let pages: PageSet;
let reads = 0;
let isLeading = true;
let isAway = false;

const apply = (...objects: readonly object[]) =>
  cluster.kubectl(['apply', '-f', '-'], { stdin: objects.map((one) => JSON.stringify(one)).join('\n---\n') });

/** Creates a ServiceAccount in the namespace; returns its token. */
async function account(name: string): Promise<string> {
  await apply({ apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name, namespace } });
  return (await cluster.kubeconfigFor({ serviceAccount: { namespace, name } })).token;
}

/** Grants rules to an account in a namespace; all objects of that Role have its name. */
async function grant(name: string, where: string, rules: readonly object[]): Promise<void> {
  await apply(
    { apiVersion: `${RBAC}/v1`, kind: 'Role', metadata: { name, namespace: where }, rules },
    {
      ...{ apiVersion: `${RBAC}/v1`, kind: 'RoleBinding', metadata: { name, namespace: where } },
      subjects: [{ kind: 'ServiceAccount', name, namespace }],
      roleRef: { apiGroup: RBAC, kind: 'Role', name },
    },
  );
}

/** Returns what arrived, as it arrives. */
function get(path: string, token?: string) {
  const state = { status: 0, text: '', isOver: false };
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const { port } = new URL(pages.urls['logs'] ?? '');
  const client = request({ host: '127.0.0.1', port, path, headers, ca: certificate.cert }, (reply) => {
    state.status = reply.statusCode ?? 0;
    reply.setEncoding('utf8').on('data', (chunk: string) => (state.text += chunk));
    reply.on('end', () => (state.isOver = true)).on('error', () => {});
  });
  client.on('error', () => {}).end();
  return { state, close: () => client.destroy() };
}

async function reply(path: string, token?: string) {
  const { state } = get(path, token);
  await until('the end of the reply', async () => state.isOver);
  return state;
}

function machineOf(where: string): GpuInstance {
  const facts = {
    login: LOGIN,
    uid: `uid-${where}`,
    attempt: 1,
    instanceId: where === namespace ? '7' : '8',
  };
  return {
    metadata: { name: 'trainer', namespace: where, uid: facts.uid },
    spec: { accountRef: { name: 'account' } },
    status: {
      ...{ instanceId: facts.instanceId, claim: makeClaim(identity.keys, facts), attempt: 1 },
      ...{ actualStatus: 'running', runningAt: '2026-11-30T00:00:00Z' },
    },
    // The logs look at these fields alone.
  } as unknown as GpuInstance;
}

beforeAll(async () => {
  cluster = sharedCluster();
  namespace = await cluster.createNamespace('logs');
  other = await cluster.createNamespace('logs-other');
  folder = mkdtempSync(join(tmpdir(), 'log-tls-'));
  writeFileSync(join(folder, 'tls.crt'), certificate.cert);
  writeFileSync(join(folder, 'tls.key'), certificate.key);
  const token = await account('operator');
  const name = `${namespace}-operator`;
  const rules = metricsGrants.map(({ group, resources, verbs }) => ({
    apiGroups: [group],
    resources,
    verbs,
  }));
  await apply(
    { apiVersion: `${RBAC}/v1`, kind: 'ClusterRole', metadata: { name }, rules },
    {
      ...{ apiVersion: `${RBAC}/v1`, kind: 'ClusterRoleBinding', metadata: { name } },
      subjects: [{ kind: 'ServiceAccount', name: 'operator', namespace }],
      roleRef: { apiGroup: RBAC, kind: 'ClusterRole', name },
    },
  );
  transport = createTransport({ ca: cluster.caPem, connections: 4 });
  const kube = createKubeClient({
    transport: (sent) => (isAway ? Promise.reject(new Error('away')) : transport(sent)),
    origin: cluster.url,
    credentials: tokenCredentials(new Secret(token)),
    ...{ clock: systemClock, random: systemRandom, log: silentLogger },
  });
  const readLog = async (id: string) => {
    reads += 1;
    return `log of machine ${id}\n`;
  };
  const session = { login: LOGIN, identity, market: { about: { name: 'Vast' }, readLog } };
  const objects = new Map([namespace, other].map((where) => [`${where}/trainer`, machineOf(where)]));
  const logs = new MachineLogs({
    clock: systemClock,
    instanceOf: (key) => objects.get(key),
    accounts: { get: () => ({ type: 'ready', session: session as never }) },
    isLeading: () => isLeading,
  });
  const off = { healthProbeBindAddress: '0', metricsBindAddress: '0', workerReportBindAddress: '0' };
  pages = await servePageSet({
    config: parseConfig({ ...off, logBindAddress: '127.0.0.1:0', logTlsDirectory: folder }, {}),
    operator: { caches: {}, kube, logs } as unknown as Operator,
    registry: createMetricRegistry(),
    ...{ clock: systemClock, log: silentLogger },
  });
});
afterAll(async () => {
  await pages?.close();
  await transport?.close();
  rmSync(folder, { recursive: true });
  const name = `${namespace}-operator`;
  await cluster.kubectl([
    'delete',
    '--ignore-not-found',
    `clusterrole/${name}`,
    `clusterrolebinding/${name}`,
  ]);
  await cluster.disconnect();
});

test('a log is shown to a user who may get gpuinstances/log in that namespace, and to no other', async () => {
  const reader = await account('reader');
  const viewer = await account('viewer');
  await grant('reader', namespace, [LOG_READER]);
  await grant('viewer', namespace, [{ ...LOG_READER, resources: ['gpuinstances'] }]);
  const path = `/log/${namespace}/trainer`;
  expect(await reply(path)).toMatchObject({ status: 401 });
  expect(await reply(path, 'made-up')).toMatchObject({ status: 401 });
  const refused = await reply(path, viewer);
  expect(refused).toMatchObject({
    status: 403,
    text: `Forbidden: the user of this token may not get gpuinstances/log of gpurental.dev in namespace ${namespace}.\n`,
  });
  expect(reads).toBe(0);
  expect(await reply(path, reader)).toMatchObject({ status: 200, text: 'log of machine 7\n' });
  expect(await reply(`/log/${other}/trainer`, reader)).toMatchObject({ status: 403 });
  for (const trick of [
    `${namespace}/../${other}`,
    `${namespace}%2F..%2F${other}`,
    `${namespace}/%2e%2e/${other}`,
  ])
    expect(await reply(`/log/${trick}/trainer`, reader)).toMatchObject({ status: 404 });
  expect(reads).toBe(1);
});

test('a right for one name opens the log of that object alone', async () => {
  const narrow = await account('narrow');
  await grant('narrow', namespace, [{ ...LOG_READER, resourceNames: ['trainer'] }]);
  expect(await reply(`/log/${namespace}/trainer`, narrow)).toMatchObject({ status: 200 });
  expect(await reply(`/log/${namespace}/second`, narrow)).toMatchObject({ status: 403 });
});

test('a hundred followers with one token cost one read of the log, and a standby none', async () => {
  const many = await account('many');
  await grant('many', namespace, [LOG_READER]);
  const path = `/log/${namespace}/trainer?follow=true`;
  await until('the log was read long ago', async () => {
    const { text } = await reply(`/log/${namespace}/trainer`, many);
    return text !== '';
  });
  const before = reads;
  const all = Array.from({ length: 100 }, () => get(path, many));
  await until('all have the text', async () => all.every(({ state }) => state.text === 'log of machine 7\n'));
  expect(reads - before).toBeLessThanOrEqual(2);
  isLeading = false;
  await until('all have ended', async () => all.every(({ state }) => state.isOver));
  const after = reads;
  expect(await reply(path, many)).toMatchObject({
    status: 503,
    text: expect.stringContaining('Connect again'),
  });
  expect(reads).toBe(after);
  isLeading = true;
});

test('an unknown token is refused while the API server does not answer', async () => {
  const late = await account('late');
  await grant('late', namespace, [LOG_READER]);
  isAway = true;
  const refused = await reply(`/log/${namespace}/trainer`, late);
  expect(refused).toMatchObject({ status: 503 });
  expect(refused.text).not.toContain(late);
  isAway = false;
  expect(await reply(`/log/${namespace}/trainer`, late)).toMatchObject({ status: 200 });
});
