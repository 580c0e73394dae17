import { describe, expect, test } from 'vitest';
import { memoryCluster, refusedBy } from '../../../test/builders/memory-cluster.ts';
import { type Given, given, withMachine } from '../../../test/builders/observed.ts';
import type { TransportRequest } from '../../lib/transport.ts';
import { vastFacts } from '../../markets/vast/facts.ts';
import {
  endpointSliceResource,
  namespaceResource,
  secretResource,
  serviceResource,
} from '../../runtime/kube/core-resources.ts';
import type { KubeObject, Resource } from '../../runtime/kube/kube-object.ts';
import { ObjectMemory, SteadyClock } from './memory.ts';
import { readPreflight } from './preflight-reads.ts';

const serving: Given = { spec: { ssh: true, ports: [{ name: 'http', containerPort: 8080 }] } };
const bound = withMachine({}, { ...serving, status: { binding: { name: 'job-connection' } } });

/** Returns a namespace with these objects, and the checks of one GpuInstance there. */
async function bench(
  situation: Given,
  present: readonly (readonly [Resource, string, owner?: string | undefined])[] = [],
) {
  const cluster = memoryCluster();
  const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'team' } };
  await cluster.kube.create(namespaceResource, namespace);
  for (const [resource, name, owner] of present) {
    const { group, version, kind } = resource;
    const ownerReferences = owner ? [{ apiVersion: 'v1', kind: 'X', name: 'x', uid: owner }] : [];
    const object: KubeObject = {
      apiVersion: group ? `${group}/${version}` : version,
      kind,
      metadata: { name, namespace: 'team', ownerReferences },
      ...(kind === 'EndpointSlice' && { addressType: 'IPv4', endpoints: [] }),
      ...(kind === 'Service' && { spec: { ports: [{ port: 80 }] } }),
    };
    await cluster.kube.create(resource, object);
  }
  cluster.sent.length = 0;
  const memory = new ObjectMemory();
  const steady = new SteadyClock(cluster.clock);
  const login = { url: 'https://market.example', userId: '1' };
  const session = { login, market: { about: vastFacts } };
  const ports = { cluster: cluster.kube, memory, steady, issueIdentity: undefined, session };
  const check = (seen: Given = situation) => readPreflight(given(seen), ports);
  return { ...cluster, cluster, check };
}

const isTrial = ({ method, path }: TransportRequest) => method === 'POST' && path.includes('dryRun=All');

describe('B05: the checks before a rental', () => {
  test.each<[string, Resource, string]>([
    ['Secret', secretResource, 'job-connection'],
    ['Service', serviceResource, 'job'],
    ['EndpointSlice', endpointSliceResource, 'job-direct'],
    ['EndpointSlice', endpointSliceResource, 'job-ssh'],
  ])('fail when a foreign %s has the name of a child', async (kind, resource, name) => {
    const detail = `${kind} ${name} exists and does not belong to this object.`;
    for (const owner of [undefined, 'another']) {
      const { check } = await bench(serving, [[resource, name, owner]]);
      expect(await check()).toEqual({ type: 'problem', reason: 'NameTaken', detail });
    }
    const { check } = await bench(bound, [[resource, name]]);
    expect(await check()).toEqual({ type: 'problem', reason: 'NameTaken', detail });
  });

  test('pass when the children are there and are its own', async () => {
    const uid = given(bound).purchase.uid;
    const { check, sent } = await bench(bound, [
      [secretResource, 'job-connection', uid],
      [serviceResource, 'job', uid],
      [endpointSliceResource, 'job-direct', uid],
      [endpointSliceResource, 'job-ssh', uid],
    ]);
    expect(await check()).toMatchObject({ type: 'ready' });
    expect(sent.map((line) => line.split(' ')[0])).toEqual(['GET', 'GET', 'GET', 'GET']);
  });

  test('ignore the name of a Service when the object wants none', async () => {
    const off: Given = { spec: { ...serving.spec, service: { enabled: false } } };
    const { check, sent } = await bench(off, [[serviceResource, 'job']]);
    expect(await check()).toMatchObject({ type: 'ready' });
    expect(sent).toHaveLength(1);
  });

  test('store nothing, and cost one request when only a Secret is needed', async () => {
    const { check, sent, kube } = await bench({});
    expect(await check()).toMatchObject({ type: 'ready' });
    expect(sent).toEqual(['POST /api/v1/namespaces/team/secrets?dryRun=All&fieldValidation=Strict']);
    expect(await kube.get(secretResource, { namespace: 'team', name: 'job-connection' })).toBeUndefined();
  });

  test('ask again for another generation or after five minutes, not at each search', async () => {
    const { check, sent, clock } = await bench({});
    await check();
    await check();
    expect(sent).toHaveLength(1);
    const { object } = given({});
    await check({ observed: { object: { ...object, metadata: { ...object.metadata, generation: 2 } } } });
    expect(sent).toHaveLength(2);
    await clock.advance(300_000);
    await check();
    expect(sent).toHaveLength(3);
  });

  test('ask again at once after a problem', async () => {
    const { check, kube } = await bench({}, [[secretResource, 'job-connection']]);
    expect(await check()).toMatchObject({ reason: 'NameTaken' });
    expect(await check()).toMatchObject({ reason: 'NameTaken' });
    await kube.delete(secretResource, { namespace: 'team', name: 'job-connection' });
    expect(await check()).toMatchObject({ type: 'ready' });
  });

  test.each([
    'secrets "job-connection" is forbidden: exceeded quota: none, requested: secrets=1, used: secrets=0, limited: secrets=0',
    'secrets is forbidden: User "operator" cannot create resource "secrets" in API group "" in the namespace "team"',
  ])('fail in the words of the API server when it refuses a child: %s', async (message) => {
    const { check, cluster } = await bench({});
    cluster.intercept = (request) => (isTrial(request) ? refusedBy(403, 'Forbidden', message) : undefined);
    expect(await check()).toEqual({
      type: 'problem',
      reason: 'NotPermitted',
      detail: `Cannot write Secret job-connection: ${message}`,
    });
  });

  test.each([
    ['trial of a child', isTrial],
    ['read of a Secret', ({ path }: TransportRequest) => path.includes('secrets/login')],
  ])('scenario 114: delay the rental when the API server does not answer the %s', async (_, fails) => {
    const env = [
      { name: 'TOKEN', valueFrom: { secretKeyRef: { name: 'login', key: 'token', optional: true } } },
    ];
    const { check, cluster, clock } = await bench({ spec: { env } });
    const message = 'Internal error occurred: failed calling webhook "policy.example.com"';
    cluster.intercept = (request) => (fails(request) ? refusedBy(500, 'InternalError', message) : undefined);
    const answer = check();
    await clock.advance(10_000);
    expect(await answer).toEqual({
      type: 'problem',
      reason: 'ReconcileError',
      detail: `Kubernetes did not answer the checks before a rental: ${message}`,
      retryAfterMs: 10_000,
    });
    cluster.intercept = () => undefined;
    expect(await check()).toMatchObject({ type: 'ready' });
  });
});
