import { describe, expect, test } from 'vitest';
import { memoryCluster, refusedBy } from '../../../test/builders/memory-cluster.ts';
import { given, holding, withMachine } from '../../../test/builders/observed.ts';
import {
  endpointSliceResource,
  namespaceResource,
  secretResource,
  serviceResource,
} from '../../runtime/kube/core-resources.ts';
import type { KubeObject, Resource } from '../../runtime/kube/kube-object.ts';
import { writeChild } from './child-writes.ts';
import { connectionSecret, endpointSlices, instanceService } from './children.ts';

const owner = given(
  withMachine({}, { spec: { ssh: true, ports: [{ name: 'http', containerPort: 8080 }] } }),
).object;
const publication = {
  fields: {
    ...holding(),
    ssh: { host: '203.0.113.5', port: 20_022 },
    publicAddress: '203.0.113.5',
    ports: [{ containerPort: 8080, protocol: 'TCP' as const, publicPort: 20_080, name: 'http' }],
  },
  serving: true,
  ready: true,
};
const secret = connectionSecret(owner, publication, { workerToken: 't', instanceApiKey: undefined });
const service = instanceService(owner) ?? secret;
const [slice = secret] = endpointSlices(owner, publication, { allowPrivate: false });

/** Returns a cluster with this child, as changed by another writer. */
async function clusterWith(resource: Resource, child: KubeObject, patch: Record<string, unknown> = {}) {
  const cluster = memoryCluster();
  const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'team' } };
  await cluster.kube.create(namespaceResource, namespace);
  await cluster.kube.create(resource, child);
  const ref = { namespace: 'team', name: child.metadata.name };
  await cluster.kube.patch(resource, ref, { type: 'merge', body: patch });
  cluster.sent.length = 0;
  const write = (mayExist = true) => writeChild(resource, child, { cluster: cluster.kube, owner, mayExist });
  const present = () => cluster.kube.get<KubeObject & Record<string, unknown>>(resource, ref);
  const verbs = () => cluster.sent.map((line) => line.split(' ')[0]);
  return { cluster, write, present, verbs };
}

describe('a child that is there', () => {
  test.each<[string, Resource, KubeObject, Record<string, unknown>]>([
    ['a Secret', secretResource, secret, {}],
    [
      'a Service with the defaults of the API server',
      serviceResource,
      service,
      { spec: { sessionAffinity: 'None' } },
    ],
    [
      'a slice with what the API server adds to its conditions',
      endpointSliceResource,
      slice,
      { endpoints: [{ addresses: ['203.0.113.5'], conditions: { ready: true, serving: true } }] },
    ],
    ['a Secret that somebody has marked', secretResource, secret, { metadata: { labels: { theirs: 'x' } } }],
  ])('and says all that it should is read and not written: %s', async (_, resource, child, patch) => {
    const { write, verbs } = await clusterWith(resource, child, patch);
    expect(await write()).toBeUndefined();
    expect(verbs()).toEqual(['GET']);
  });

  test.each<[string, Resource, KubeObject, Record<string, unknown>]>([
    [
      'a Service with another port',
      serviceResource,
      service,
      { spec: { ports: [{ name: 'http', port: 81, protocol: 'TCP' }] } },
    ],
    [
      'a Service with one port more',
      serviceResource,
      service,
      {
        spec: {
          ports: [
            { name: 'http', port: 8080, protocol: 'TCP' },
            { name: 'ssh', port: 22, protocol: 'TCP' },
            { name: 'more', port: 23, protocol: 'TCP' },
          ],
        },
      },
    ],
    ['a Service without ports', serviceResource, service, { spec: { ports: null } }],
    [
      'a slice to another address',
      endpointSliceResource,
      slice,
      { endpoints: [{ addresses: ['203.0.113.9'], conditions: { ready: true } }] },
    ],
    [
      'a slice that is not ready',
      endpointSliceResource,
      slice,
      { endpoints: [{ addresses: ['203.0.113.5'], conditions: { ready: false } }] },
    ],
    ['a slice to nowhere', endpointSliceResource, slice, { endpoints: [], ports: null }],
    ['a Secret with another host', secretResource, secret, { data: { host: 'eA==' } }],
    ['a Secret with more in it', secretResource, secret, { data: { more: 'eA==' } }],
    ['a Secret without its data', secretResource, secret, { data: null }],
  ])('and another client changed is repaired: %s', async (_, resource, child, patch) => {
    const { write, present } = await clusterWith(resource, child, patch);
    expect(await write()).toBeUndefined();
    const { apiVersion: _version, kind: _kind, metadata: _meta, ...parts } = child;
    expect(await present()).toMatchObject(parts);
    expect((await present())?.['data']).toEqual(child === secret ? secret.data : undefined);
  });

  test('and was unknown is found by creating it', async () => {
    const { write, verbs } = await clusterWith(secretResource, secret);
    expect(await write(false)).toBeUndefined();
    expect(verbs()).toEqual(['POST', 'GET']);
  });

  test('and has another owner is named, and left alone', async () => {
    const { write, verbs } = await clusterWith(serviceResource, service, {
      metadata: { ownerReferences: [] },
    });
    const detail = 'Service job exists and does not belong to this object.';
    expect(await write()).toEqual({ type: 'nameTaken', detail });
    expect(await write(false)).toEqual({ type: 'nameTaken', detail });
    expect(verbs()).toEqual(['GET', 'POST', 'GET']);
  });

  test('and is replaced meanwhile by that of another owner is not deleted for its addresses', async () => {
    const { cluster, write, present } = await clusterWith(endpointSliceResource, slice, {
      addressType: 'FQDN',
    });
    const { uid } = (await present())?.metadata ?? {};
    const bodies: string[] = [];
    cluster.intercept = ({ method, body }) => {
      if (method === 'DELETE') bodies.push(String(body));
      return undefined;
    };
    await write();
    expect(bodies).toEqual([expect.stringContaining(uid ?? 'a uid')]);
  });
});

describe('a child that cannot be made', () => {
  const refusal = async (status: number, reason: string, message?: string) => {
    const bench = await clusterWith(secretResource, {
      ...secret,
      metadata: { ...secret.metadata, name: 'other' },
    });
    bench.cluster.intercept = ({ method }) =>
      method === 'POST' ? refusedBy(status, reason, message) : undefined;
    return writeChild(secretResource, secret, { cluster: bench.cluster.kube, owner, mayExist: false });
  };

  test('because a right or a quota forbids it is said in the words of the API server', async () => {
    const message = 'secrets "job-connection" is forbidden: exceeded quota: none';
    const detail = `Cannot write Secret job-connection: ${message}`;
    expect(await refusal(403, 'Forbidden', message)).toEqual({ type: 'failed', detail });
  });

  test('because of what it is called is said', async () => {
    const detail = 'Secret job-connection cannot be made under the name of this object.';
    expect(await refusal(422, 'Invalid')).toEqual({ type: 'nameTaken', detail });
  });

  test('because the API server fails is tried again by the next pass', async () => {
    await expect(refusal(500, 'InternalError')).rejects.toThrow('500');
  });
});
