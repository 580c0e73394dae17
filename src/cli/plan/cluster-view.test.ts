import { expect, test } from 'vitest';
import { answeredBy, memoryCluster, refusedBy } from '../../../test/builders/memory-cluster.ts';
import type { TransportRequest } from '../../lib/transport.ts';
import type { ClusterSession } from '../sessions/cluster-session.ts';
import { askServer } from './cluster-view.ts';
import type { PlannedObject } from './manifests.ts';

type Manifest = PlannedObject['manifest'];

const MANIFEST = {
  apiVersion: 'gpurental.dev/v1alpha1',
  kind: 'GpuInstance',
  metadata: { name: 'job', labels: { team: 'gpu' } },
  spec: { accountRef: { name: 'default' }, image: 'example/work:1' },
} as unknown as Manifest;

type Refusal = readonly [status: number, reason: string, message: string];

/** What the API server is asked of a manifest, and what becomes of its answer. */
async function asked(refusal?: Refusal, manifest = MANIFEST) {
  const cluster = memoryCluster();
  const requests: TransportRequest[] = [];
  cluster.intercept = (request) => {
    requests.push(request);
    return refusal ? refusedBy(...refusal) : answeredBy(200, manifest);
  };
  const session = { kube: cluster.kube, namespace: 'own' } as unknown as ClusterSession;
  return { verdict: await askServer(session, { manifest, namespace: 'team' }), requests };
}

test('stores nothing, and reports unknown fields', async () => {
  const { verdict, requests } = await asked();
  expect(verdict).toEqual({ type: 'accepted', object: MANIFEST });
  expect(requests.map(({ method }) => method)).toEqual(['PATCH']);
  const [path, query] = requests[0]?.path.split('?') ?? [];
  expect(path).toBe('/apis/gpurental.dev/v1alpha1/namespaces/team/gpuinstances/job');
  expect(Object.fromEntries(new URLSearchParams(query))).toEqual({
    dryRun: 'All',
    fieldValidation: 'Strict',
    fieldManager: 'gpu-rent',
    force: 'true',
  });
  expect(requests[0]?.headers).toMatchObject({ 'content-type': 'application/apply-patch+yaml' });
});

test('an object without a name is not asked about', async () => {
  const nameless = { ...MANIFEST, metadata: {} } as Manifest;
  const { verdict, requests } = await asked(undefined, nameless);
  expect([verdict.type, requests]).toEqual(['unasked', []]);
});

test.each<[string, Refusal, string]>([
  ['a rule that spans fields', [422, 'Invalid', 'spec.offers: Required value'], 'refused'],
  ['a field that is not known', [400, 'BadRequest', 'unknown field "spec.imgae"'], 'refused'],
  ['an admission policy', [403, 'Forbidden', 'denied by policy "cheap"'], 'refused'],
  ['a missing right', [403, 'Forbidden', 'User "ops" cannot patch resource "gpuinstances"'], 'unasked'],
])('a refusal by %s', async (_, refusal, type) => {
  expect((await asked(refusal)).verdict).toEqual({ type, why: expect.stringContaining(refusal[2]) });
});
