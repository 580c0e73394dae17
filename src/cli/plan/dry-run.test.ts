import { describe, expect, test } from 'vitest';
import { answeredBy, memoryCluster, refusedBy } from '../../../test/builders/memory-cluster.ts';
import type { TransportRequest } from '../../lib/transport.ts';
import type { ClusterSession } from '../sessions/cluster-session.ts';
import { askServer, LAST_APPLIED } from './dry-run.ts';
import type { PlannedObject } from './manifests.ts';

type Manifest = PlannedObject['manifest'];

const MANIFEST = {
  apiVersion: 'gpurental.dev/v1alpha1',
  kind: 'GpuInstance',
  metadata: { name: 'job', labels: { team: 'gpu' } },
  spec: { accountRef: { name: 'default' }, image: 'example/work:1' },
} as unknown as Manifest;

type Refusal = readonly [status: number, reason: string, message: string];

/** Returns the request to the API server for a manifest, and the verdict from its answer. */
async function asked({
  refusal,
  manifest = MANIFEST,
  stored,
}: {
  readonly refusal?: Refusal;
  readonly manifest?: Manifest;
  readonly stored?: object;
} = {}) {
  const cluster = memoryCluster();
  const requests: TransportRequest[] = [];
  cluster.intercept = (request) => {
    requests.push(request);
    if (request.method === 'GET') return stored ? answeredBy(200, stored) : refusedBy(404, 'NotFound');
    return refusal ? refusedBy(...refusal) : answeredBy(200, manifest);
  };
  const session = { kube: cluster.kube, namespace: 'own' } as unknown as ClusterSession;
  const verdict = await askServer(session, { manifest, namespace: 'team' });
  const patch = requests[1];
  return {
    verdict,
    requests,
    manager: new URLSearchParams(patch?.path.split('?')[1]).get('fieldManager'),
    type: patch?.headers['content-type'],
    body: JSON.parse(String(patch?.body ?? 'null')),
  };
}

test('stores nothing, and reports unknown fields', async () => {
  const { verdict, requests } = await asked();
  expect(verdict).toEqual({ type: 'accepted', applied: { before: undefined, after: MANIFEST } });
  expect(requests.map(({ method }) => method)).toEqual(['GET', 'PATCH']);
  const [path, query] = requests[1]?.path.split('?') ?? [];
  expect(path).toBe('/apis/gpurental.dev/v1alpha1/namespaces/team/gpuinstances/job');
  expect(Object.fromEntries(new URLSearchParams(query))).toEqual({
    dryRun: 'All',
    fieldValidation: 'Strict',
    fieldManager: 'gpu-rent',
    force: 'true',
  });
  expect(requests[1]?.headers).toMatchObject({ 'content-type': 'application/apply-patch+yaml' });
});

test('an object without a name is not asked about', async () => {
  const { verdict, requests } = await asked({ manifest: { ...MANIFEST, metadata: {} } as Manifest });
  expect([verdict.type, requests]).toEqual(['unasked', []]);
});

test.each<[string, Refusal, string]>([
  ['a rule that spans fields', [422, 'Invalid', 'spec.offers: Required value'], 'refused'],
  ['a field that is not known', [400, 'BadRequest', 'unknown field "spec.imgae"'], 'refused'],
  ['an admission policy', [403, 'Forbidden', 'denied by policy "cheap"'], 'refused'],
  ['a missing right', [403, 'Forbidden', 'User "ops" cannot patch resource "gpuinstances"'], 'unasked'],
])('a refusal by %s', async (_, refusal, type) => {
  expect((await asked({ refusal })).verdict).toEqual({ type, why: expect.stringContaining(refusal[2]) });
});

describe('a field that the manifest names no more', () => {
  const stored = (metadata: object) => ({ ...MANIFEST, metadata: { ...MANIFEST.metadata, ...metadata } });
  const applied = {
    metadata: { name: 'job', labels: { team: 'gpu', old: 'x' }, annotations: {} },
    spec: {
      image: 'example/work:1',
      disk: '50G',
      offers: [{ gpuNames: ['A'], maxPricePerHour: '1' }],
      timeouts: { loading: '1h', provisioning: '1h' },
    },
  };

  test('is removed if kubectl apply wrote it, as by kubectl apply', async () => {
    const manifest = {
      ...MANIFEST,
      spec: { image: 'example/work:2', offers: [{ maxPricePerHour: '2' }], timeouts: { loading: '2h' } },
    };
    const { type, manager, body } = await asked({
      manifest,
      stored: stored({ annotations: { [LAST_APPLIED]: JSON.stringify(applied), other: 'y' } }),
    });
    expect([type, manager]).toEqual(['application/merge-patch+json', 'kubectl-client-side-apply']);
    expect(body).toEqual({
      metadata: { labels: { team: 'gpu', old: null }, annotations: {} },
      spec: {
        image: 'example/work:2',
        disk: null,
        offers: [{ maxPricePerHour: '2' }],
        timeouts: { loading: '2h', provisioning: null },
      },
    });
  });

  test.each([
    ['kubectl', ['argocd-controller', 'kubectl'], 'kubectl'],
    ['Argo CD', ['argocd-controller'], 'argocd-controller'],
    ['the operator alone', ['gpu-rental-operator/status'], 'gpu-rent'],
  ])('is left to the API server if it was applied there by %s', async (_, managers, manager) => {
    const managedFields = [
      ...managers.map((name) => ({ manager: name, operation: 'Apply' })),
      { manager: 'kubectl-edit', operation: 'Update' },
      { manager: 'status-writer', operation: 'Apply', subresource: 'status' },
    ];
    const found = await asked({ stored: stored({ managedFields }) });
    expect([found.type, found.manager]).toEqual(['application/apply-patch+yaml', manager]);
    expect(found.body).toMatchObject({ metadata: { name: 'job', namespace: 'team' }, spec: MANIFEST.spec });
  });

  test.each([
    'null',
    '"x"',
    '{"spec":7,"metadata":null}',
    '{"spec":{"constructor":1},"metadata":{"labels":[1]}}',
  ])('is removed by what a record names, whatever it holds: %s', async (record) => {
    const found = await asked({ stored: stored({ annotations: { [LAST_APPLIED]: record } }) });
    expect(found.manager).toBe('kubectl-client-side-apply');
    expect(found.body.metadata.labels).toMatchObject({ team: 'gpu' });
    expect(Object.keys(found.body.spec).includes('constructor')).toBe(record.includes('constructor'));
  });

  test('stays if the record of kubectl cannot be read', async () => {
    const found = await asked({ stored: stored({ annotations: { [LAST_APPLIED]: '{' } }) });
    expect(found.manager).toBe('gpu-rent');
  });
});
