import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ClusterAccess } from '../../test/cluster/connect.ts';
import { findFreePort } from '../../test/cluster/free-port.ts';
import { sharedCluster } from '../../test/cluster/shared-cluster.ts';
import { GATEWAY_REPORTER, type Grant, METRICS_READER, metricsGrants } from '../api/access.ts';
import { GATEWAY_REPORTS_PATH } from '../api/gateway-report.ts';
import { parseConfig } from '../config.ts';
import { GatewayIntake } from '../controllers/endpoint-group/load/gateway-intake.ts';
import { LoadStore } from '../controllers/endpoint-group/load/state.ts';
import { defaultTimes } from '../controllers/endpoint-group/times.ts';
import { systemClock } from '../lib/clock.ts';
import { silentLogger } from '../lib/logger.ts';
import { systemRandom } from '../lib/random.ts';
import { Secret } from '../lib/secret.ts';
import { TransportError } from '../lib/transport.ts';
import { tokenCredentials } from '../runtime/kube/credentials.ts';
import { createKubeClient } from '../runtime/kube/kube-client.ts';
import { type ClosableTransport, createTransport } from '../runtime/kube/undici-transport.ts';
import { createMetricRegistry } from '../server/metric-registry.ts';
import type { Operator } from './operator.ts';
import { type PageSet, servePageSet } from './page-set.ts';

/* The pages of an operator whose ServiceAccount may review tokens and nothing else, on a real API server. */

const RBAC = 'rbac.authorization.k8s.io';
let cluster: ClusterAccess;
let namespace = '';
let transport: ClosableTransport;
let pages: PageSet;
/** Requests to the API server, by path. */
const asked: string[] = [];
let isAway = false;
let isLeading = true;

const ruleOf = ({ group, resources, verbs }: Grant) => ({ apiGroups: [group], resources, verbs });

/** Creates a ServiceAccount with a ClusterRole of these rules; returns its token. */
async function accountWith(name: string, rules: readonly unknown[]): Promise<string> {
  const role = `${namespace}-${name}`;
  const subjects = [{ kind: 'ServiceAccount', name, namespace }];
  const objects = [
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name, namespace } },
    { apiVersion: `${RBAC}/v1`, kind: 'ClusterRole', metadata: { name: role }, rules },
    {
      ...{ apiVersion: `${RBAC}/v1`, kind: 'ClusterRoleBinding', metadata: { name: role }, subjects },
      roleRef: { apiGroup: RBAC, kind: 'ClusterRole', name: role },
    },
  ];
  await cluster.kubectl(['apply', '-f', '-'], {
    stdin: objects.map((one) => JSON.stringify(one)).join('\n---\n'),
  });
  return (await cluster.kubeconfigFor({ serviceAccount: { namespace, name } })).token;
}

const get = async (page: string, token?: string) => {
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const reply = await fetch(`${pages.urls['healthProbeBindAddress']}${page}`, { headers });
  return { status: reply.status, text: await reply.text() };
};

const report = async (token?: string) => {
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const body = JSON.stringify({ picker: 'picker-1', groups: [] });
  const url = `${pages.urls['healthProbeBindAddress']}${GATEWAY_REPORTS_PATH}`;
  const reply = await fetch(url, { method: 'POST', headers, body });
  return { status: reply.status, text: await reply.text() };
};

beforeAll(async () => {
  cluster = sharedCluster();
  namespace = await cluster.createNamespace('metrics');
  const token = await accountWith('operator', metricsGrants.map(ruleOf));
  transport = createTransport({ ca: cluster.caPem, connections: 2 });
  const kube = createKubeClient({
    transport: (request) => {
      if (isAway) throw new TransportError('connect ECONNREFUSED', { sent: false });
      asked.push(request.path);
      return transport(request);
    },
    origin: cluster.url,
    credentials: tokenCredentials(new Secret(token)),
    ...{ clock: systemClock, random: systemRandom, log: silentLogger },
  });
  const at = `127.0.0.1:${await findFreePort()}`;
  const review = { metricsAuthentication: 'kubernetes', gatewayReports: 'kubernetes' };
  const flags = { ...review, workerReportBindAddress: '0' };
  const gatewayIntake = new GatewayIntake({
    ...{ clock: systemClock, loadStore: new LoadStore(), times: defaultTimes },
    groupOf: () => undefined,
    isLeading: () => isLeading,
    onHeld: () => {},
  });
  pages = await servePageSet({
    config: parseConfig({ ...flags, metricsBindAddress: at, healthProbeBindAddress: at }, {}),
    operator: { caches: {}, kube, gatewayIntake } as unknown as Operator,
    registry: createMetricRegistry(),
    ...{ clock: systemClock, log: silentLogger },
  });
});
afterAll(async () => {
  await pages?.close();
  await transport?.close();
  const roles = ['operator', 'prometheus', 'stranger', 'picker'].flatMap((name) => [
    `clusterrole/${namespace}-${name}`,
    `clusterrolebinding/${namespace}-${name}`,
  ]);
  await cluster.kubectl(['delete', '--ignore-not-found', ...roles]);
  await cluster.disconnect();
});

test('metrics are shown to a token that may get /metrics and to no other, also while the API server is away', async () => {
  const prometheus = await accountWith('prometheus', [METRICS_READER]);
  const stranger = await accountWith('stranger', [{ ...METRICS_READER, nonResourceURLs: ['/version'] }]);
  expect(await get('/metrics')).toMatchObject({ status: 401 });
  expect(await get('/metrics', 'made-up')).toMatchObject({ status: 401 });
  expect(await get('/metrics', stranger)).toMatchObject({ status: 403 });
  const shown = await get('/metrics', prometheus);
  expect(shown.status).toBe(200);
  const before = asked.length;
  expect(await get('/metrics', prometheus)).toMatchObject({ status: 200 });
  expect(asked.length).toBe(before);
  isAway = true;
  expect(await get('/metrics', prometheus)).toMatchObject({ status: 200 });
  const unknown = await cluster.kubeconfigFor({ serviceAccount: { namespace, name: 'prometheus' } });
  const refused = await get('/metrics', unknown.token);
  expect(refused.status).toBe(503);
  isAway = false;
  expect(await get('/metrics', unknown.token)).toMatchObject({ status: 200 });
  for (const { text } of [refused, shown]) expect(text).not.toContain(unknown.token);
});

test('reports are taken of a token that may post them and of no other, by the replica that leads', async () => {
  const picker = await accountWith('picker', [GATEWAY_REPORTER]);
  const { token: reader } = await cluster.kubeconfigFor({
    serviceAccount: { namespace, name: 'prometheus' },
  });
  expect(await report()).toMatchObject({ status: 401 });
  expect(await report('made-up')).toMatchObject({ status: 401 });
  expect(await report(reader)).toMatchObject({ status: 403 });
  const taken = await report(picker);
  expect([taken.status, JSON.parse(taken.text)]).toEqual([200, { pickers: 1, groups: [] }]);
  expect(await get('/metrics', picker)).toMatchObject({ status: 403 });
  isLeading = false;
  expect(await report(picker)).toMatchObject({ status: 503 });
  isLeading = true;
});

test('health pages on the same port need no token', async () => {
  expect(await get('/healthz')).toMatchObject({ status: 200 });
});
