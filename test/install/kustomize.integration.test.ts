import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import * as z from 'zod';
import { REPOSITORY } from '../../scripts/generate/artifact.ts';
import { definitions } from '../../src/api/v1alpha1/definitions.ts';
import { openAdminClient } from '../cluster/admin-client.ts';
import type { ClusterAccess } from '../cluster/connect.ts';
import { sharedCluster } from '../cluster/shared-cluster.ts';
import { allowedTo, type Question } from './allowed.ts';

/** `deploy/base` as a person applies it, under names of this run: the cluster may have a real one. */
let cluster: ClusterAccess;
let namespace = '';
let overlay = '';
let rendered = '';

const NAME = 'gpu-rental-operator';
const prefixed = (name: string): string => `${namespace}-${name}`;

beforeAll(async () => {
  cluster = sharedCluster();
  namespace = await cluster.createNamespace('deploy');
  overlay = mkdtempSync(join(tmpdir(), 'overlay-'));
  const base = relative(overlay, join(REPOSITORY, 'deploy/base'));
  const lines = [`namespace: ${namespace}`, `namePrefix: ${namespace}-`, `resources: ["${base}"]`];
  writeFileSync(join(overlay, 'kustomization.yaml'), `${lines.join('\n')}\n`);
  rendered = await cluster.kubectl(['kustomize', overlay]);
});
afterAll(async () => {
  rmSync(overlay, { recursive: true });
  const roles = ['clusterrole', 'clusterrolebinding'].map((kind) => `${kind}/${prefixed(NAME)}`);
  await cluster.kubectl(['delete', '--ignore-not-found', ...roles]);
  await cluster.kubectl(['delete', 'namespace', namespace, '--wait=false']);
  await cluster.disconnect();
});

const shape = z.looseObject({ kind: z.string(), metadata: z.looseObject({ name: z.string() }) });

function objects() {
  return parseAllDocuments(rendered).map((document) => shape.parse(document.toJS()));
}

describe('deploy/base', () => {
  test('is taken by the API server with strict validation', async () => {
    const args = ['apply', '--server-side', '--force-conflicts', '--validate=strict', '-f', '-'];
    const said = await cluster.kubectl(args, { stdin: rendered });
    for (const { metadata } of objects()) expect(said).toContain(metadata.name);
  });

  test('holds our kinds, a namespace, an account, its rights, the operator and its metrics', () => {
    expect(
      objects()
        .map(({ kind }) => kind)
        .toSorted(),
    ).toEqual([
      'ClusterRole',
      'ClusterRoleBinding',
      ...definitions.map(() => 'CustomResourceDefinition'),
      'Deployment',
      'Namespace',
      'Role',
      'RoleBinding',
      'Service',
      'ServiceAccount',
    ]);
  });

  test('runs where Pod Security enforces "restricted"', async () => {
    const deployment = objects().find(({ kind }) => kind === 'Deployment');
    const { template } = z
      .looseObject({ template: z.looseObject({ spec: z.unknown() }) })
      .parse(deployment?.spec);
    const labels = { 'pod-security.kubernetes.io/enforce': 'restricted' };
    const path = `/api/v1/namespaces/${namespace}`;
    await cluster.admin.request({ method: 'PATCH', path, body: { metadata: { labels } } });
    const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'operator' }, spec: template.spec };
    const reply = await cluster.admin.request({ method: 'POST', path: `${path}/pods?dryRun=All`, body: pod });
    expect(reply.status).toBe(201);
  });
});

const may: readonly Question[] = [
  {
    group: 'gpurental.dev',
    resource: 'gpuinstances',
    verbs: ['get', 'list', 'watch', 'patch', 'create', 'delete'],
  },
  {
    group: 'gpurental.dev',
    resource: 'marketplaceaccounts',
    verbs: ['get', 'list', 'watch', 'patch'],
  },
  { group: 'gpurental.dev', resource: 'endpointgroups', verbs: ['list', 'watch', 'patch'] },
  { group: 'gpurental.dev', resource: 'gpuinstances', subresource: 'status', verbs: ['update'] },
  { group: '', resource: 'secrets', verbs: ['get', 'create', 'patch', 'delete'] },
  { group: '', resource: 'services', verbs: ['get', 'create', 'patch', 'delete'] },
  { group: '', resource: 'configmaps', verbs: ['get', 'create', 'patch', 'delete'] },
  { group: 'discovery.k8s.io', resource: 'endpointslices', verbs: ['get', 'create', 'patch', 'delete'] },
  { group: 'events.k8s.io', resource: 'events', verbs: ['create', 'patch'] },
  { group: '', resource: 'namespaces', name: 'kube-system', verbs: ['get'] },
];

const mayNot: readonly Question[] = [
  { group: '', resource: 'secrets', verbs: ['list', 'watch', 'deletecollection'] },
  { group: '', resource: 'configmaps', verbs: ['list', 'watch', 'deletecollection'] },
  { group: '', resource: 'pods', verbs: ['get', 'create', 'delete'] },
  { group: '', resource: 'namespaces', verbs: ['list', 'delete', 'update'] },
  { group: 'gpurental.dev', resource: 'marketplaceaccounts', verbs: ['create', 'delete'] },
  { group: 'gpurental.dev', resource: 'endpointgroups', verbs: ['create', 'delete'] },
  { group: 'gpurental.dev', resource: 'gpuinstances', verbs: ['deletecollection'] },
  { group: 'rbac.authorization.k8s.io', resource: 'clusterroles', verbs: ['get', 'bind', 'escalate'] },
  { group: 'apiextensions.k8s.io', resource: 'customresourcedefinitions', verbs: ['get', 'delete'] },
  { group: 'coordination.k8s.io', resource: 'leases', verbs: ['create'] },
];

describe('the ServiceAccount of deploy/base, in any namespace', () => {
  const account = () => `system:serviceaccount:${namespace}:${prefixed(NAME)}`;

  test.each(may)('may $verbs $resource $subresource', async (question) => {
    // The API server learns of a binding a moment after it is stored.
    const allowed = () => allowedTo(cluster.admin, account(), question, 'default');
    await expect.poll(allowed, { timeout: 30_000 }).toEqual(question.verbs);
  });

  test.each(mayNot)('may not $verbs $resource', async (question) => {
    expect(await allowedTo(cluster.admin, account(), question, 'default')).toEqual([]);
  });

  test('may hold its one lease in its own namespace, and no other', async () => {
    const lease = { group: 'coordination.k8s.io', resource: 'leases', verbs: ['get', 'update', 'watch'] };
    const held = { ...lease, name: NAME };
    const other = { ...lease, name: 'kube-scheduler' };
    expect(await allowedTo(cluster.admin, account(), held, namespace)).toEqual(lease.verbs);
    expect(await allowedTo(cluster.admin, account(), other, namespace)).toEqual([]);
  });

  test('may read its one lease by name, and not all', async () => {
    const { token } = await cluster.kubeconfigFor({ serviceAccount: { namespace, name: prefixed(NAME) } });
    const itself = openAdminClient({ ...cluster, credential: { type: 'token', token } });
    const leases = `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases?watch=true&timeoutSeconds=1`;
    const statusOf = async (path: string) =>
      (await itself.request({ method: 'GET', path, accept: [403] })).status;
    expect(await statusOf(`${leases}&fieldSelector=metadata.name%3D${NAME}`)).toBe(200);
    expect(await statusOf(leases)).toBe(403);
    await itself.close();
  });
});
