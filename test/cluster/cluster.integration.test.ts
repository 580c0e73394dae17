import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { allowedTo } from '../install/allowed.ts';
import { openAdminClient } from './admin-client.ts';
import { readAuditLog } from './audit-log.ts';
import type { ClusterAccess } from './connect.ts';
import { sharedCluster } from './shared-cluster.ts';

const SOON = { timeout: 30_000, interval: 100 };

let cluster: ClusterAccess;
let namespace = '';

beforeAll(async () => {
  cluster = sharedCluster();
  namespace = await cluster.createNamespace('cluster');
});
afterAll(async () => {
  await cluster.admin.request({ method: 'DELETE', path: `/api/v1/namespaces/${namespace}` });
  await cluster.disconnect();
});

const created = z.object({ metadata: z.object({ uid: z.string() }) });

function apply(...objects: readonly object[]): Promise<string> {
  const stdin = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects });
  return cluster.kubectl(['apply', '-f', '-'], { stdin });
}

function aConfigMap(name: string, metadata: object = {}): object {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace, ...metadata } };
}

const configMapPath = (name: string) => `/api/v1/namespaces/${namespace}/configmaps/${name}`;

async function statusOf(path: string): Promise<number> {
  return (await cluster.admin.request({ method: 'GET', path, accept: [404] })).status;
}

async function uidOf(path: string): Promise<string> {
  return created.parse((await cluster.admin.request({ method: 'GET', path })).body).metadata.uid;
}

function aBinding(name: string, roleRef: object, subject: object): object {
  return {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'RoleBinding',
    metadata: { name, namespace },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', ...roleRef },
    subjects: [subject],
  };
}

test('applies an object and reads it back', async () => {
  await apply({ ...aConfigMap('applied'), data: { answer: '42' } });
  const args = ['get', 'configmap', 'applied', '-n', namespace, '-o', 'jsonpath={.data.answer}'];
  expect(await cluster.kubectl(args)).toBe('42');
});

test('really finishes the deletion of a namespace that holds objects', async ({ skip }) => {
  if (!cluster.collectsGarbage) skip('nobody finishes namespace deletion in this cluster');
  const name = await cluster.createNamespace('doomed');
  await apply({ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'left', namespace: name } });
  const path = `/api/v1/namespaces/${name}`;
  await cluster.admin.request({ method: 'DELETE', path });
  await expect.poll(() => statusOf(path), SOON).toBe(404);
});

test('really collects what a deleted owner leaves, and nothing else', async ({ skip }) => {
  if (!cluster.collectsGarbage) skip('nobody follows owner references in this cluster');
  await apply(aConfigMap('owner'), aConfigMap('bystander'));
  const uid = await uidOf(configMapPath('owner'));
  const ownerReferences = [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'owner', uid }];
  await apply(aConfigMap('owned', { ownerReferences }));
  await cluster.admin.request({ method: 'DELETE', path: configMapPath('owner') });
  await expect.poll(() => statusOf(configMapPath('owned')), SOON).toBe(404);
  expect(await statusOf(configMapPath('bystander'))).toBe(200);
});

test('collects what a custom resource leaves whose definition is a moment old', async ({ skip }) => {
  if (!cluster.collectsGarbage) skip('nobody follows owner references in this cluster');
  const group = `${namespace}.example.com`;
  const schema = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
  await apply({
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `rentals.${group}` },
    spec: {
      group,
      scope: 'Namespaced',
      names: { kind: 'Rental', plural: 'rentals' },
      versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: schema } }],
    },
  });
  const rental = { apiVersion: `${group}/v1`, kind: 'Rental', metadata: { name: 'one', namespace } };
  const isTaken = () =>
    apply(rental).then(
      () => true,
      () => false,
    );
  await expect.poll(isTaken, SOON).toBe(true);
  const path = `/apis/${group}/v1/namespaces/${namespace}/rentals/one`;
  const owner = { apiVersion: `${group}/v1`, kind: 'Rental', name: 'one', uid: await uidOf(path) };
  await apply(aConfigMap('of-rental', { ownerReferences: [owner] }));
  await cluster.admin.request({ method: 'DELETE', path });
  await expect.poll(() => statusOf(configMapPath('of-rental')), SOON).toBe(404);
  await cluster.kubectl(['delete', `crd/rentals.${group}`]);
});

test('refuses a person what no role grants', async () => {
  const { kubeconfigPath } = await cluster.kubeconfigFor({ user: 'jane', groups: ['team'] });
  const reading = cluster.kubectl(['get', 'configmaps', '-n', namespace], { kubeconfigPath });
  await expect(reading).rejects.toThrow('User "jane" cannot list resource "configmaps"');
});

test('allows a person what the built-in role of their group grants, and no more', async () => {
  const group = { apiGroup: 'rbac.authorization.k8s.io', kind: 'Group', name: 'readers' };
  await apply(aBinding('readers', { kind: 'ClusterRole', name: 'view' }, group));
  const { kubeconfigPath } = await cluster.kubeconfigFor({ user: 'joe', groups: ['readers'] });
  const may = (verb: string, resource: string) =>
    cluster
      .kubectl(['auth', 'can-i', verb, resource, '-n', namespace, '--quiet'], { kubeconfigPath })
      .then(() => true)
      .catch(() => false);
  await expect.poll(() => may('list', 'configmaps'), SOON).toBe(true);
  expect(await may('list', 'secrets')).toBe(false);
  expect(await may('delete', 'configmaps')).toBe(false);
});

test('lets a client that ignores impersonation do nothing at all', async () => {
  const { token } = await cluster.kubeconfigFor({ user: 'root', groups: ['system:masters'] });
  const careless = openAdminClient({ ...cluster, credential: { type: 'token', token } });
  const path = '/api/v1/namespaces';
  const reply = await careless.request({ method: 'GET', path, accept: [403] });
  await careless.close();
  expect(reply.status).toBe(403);
});

test('gives a ServiceAccount a signed token with exactly its rights, and audits what it did', async ({
  skip,
}) => {
  const name = 'robot';
  const rules = [{ apiGroups: [''], resources: ['configmaps'], verbs: ['get'] }];
  await apply(
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name, namespace } },
    { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'Role', metadata: { name, namespace }, rules },
    aBinding(name, { kind: 'Role', name }, { kind: 'ServiceAccount', name, namespace }),
    aConfigMap('readable'),
  );
  const user = `system:serviceaccount:${namespace}:${name}`;
  const mayRead = () =>
    allowedTo(cluster.admin, user, { group: '', resource: 'configmaps', verbs: ['get'] }, namespace);
  // The API server learns of a binding a moment after it is stored.
  await expect.poll(mayRead, SOON).toEqual(['get']);
  const { token } = await cluster.kubeconfigFor({ serviceAccount: { namespace, name } });
  const robot = openAdminClient({ ...cluster, credential: { type: 'token', token } });
  const read = await robot.request({ method: 'GET', path: configMapPath('readable') });
  const removed = await robot.request({ method: 'DELETE', path: configMapPath('readable'), accept: [403] });
  await robot.close();
  expect([read.status, removed.status]).toEqual([200, 403]);

  if (cluster.auditLogPath === undefined) return skip('this cluster gives no audit log');
  const events = readAuditLog(cluster.auditLogPath, user);
  expect(
    events.map(({ verb, objectRef, responseStatus }) => [verb, objectRef?.name, responseStatus?.code]),
  ).toEqual([
    ['get', 'readable', 200],
    ['delete', 'readable', 403],
  ]);
});

test('enforces Pod Security as a real cluster does', async () => {
  const labels = { 'pod-security.kubernetes.io/enforce': 'restricted' };
  const restricted = await cluster.createNamespace('restricted', labels);
  const container = { name: 'c', image: 'none', securityContext: { privileged: true } };
  const pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'privileged', namespace: restricted },
    spec: { containers: [container] },
  };
  await expect(apply(pod)).rejects.toThrow('violates PodSecurity "restricted:latest"');
});

test('enforces a ValidatingAdmissionPolicy as a real cluster does', async () => {
  const name = `${namespace}-policy`;
  const policy = {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingAdmissionPolicy',
    metadata: { name },
    spec: {
      matchConstraints: {
        namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': namespace } },
        resourceRules: [
          { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['configmaps'] },
        ],
      },
      validations: [{ expression: "object.metadata.name != 'forbidden'", message: 'not that name' }],
    },
  };
  const binding = {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingAdmissionPolicyBinding',
    metadata: { name },
    spec: { policyName: name, validationActions: ['Deny'] },
  };
  await apply(policy, binding);
  const dryRun = ['create', 'configmap', 'forbidden', '-n', namespace, '--dry-run=server'];
  const attempt = () => cluster.kubectl(dryRun).catch((error: Error) => error.message);
  await expect.poll(attempt, SOON).toContain('not that name');
  await cluster.kubectl(['delete', 'validatingadmissionpolicybinding,validatingadmissionpolicy', name]);
});
