import { expect, test } from 'vitest';
import { groupInDefault, workerInDefault } from '../../../../test/builders/group-publisher.ts';
import { type MemoryCluster, memoryCluster, refusedBy } from '../../../../test/builders/memory-cluster.ts';
import { createVirtualClock } from '../../../../test/builders/virtual-clock.ts';
import { annotations } from '../../../api/v1alpha1/names.ts';
import { isSignedBy, periodOf } from '../../../lib/certificates.ts';
import { secretResource } from '../../../runtime/kube/core-resources.ts';
import { controllerReference, type KubeObject } from '../../../runtime/kube/kube-object.ts';
import { GroupIdentities } from './identities.ts';

interface SecretObject extends KubeObject {
  readonly type?: string;
  readonly data?: Readonly<Record<string, string>>;
}

const DAY_MS = 86_400_000;
const group = groupInDefault({ gateway: { enabled: true, link: 'TLS' } });
const ref = (name: string) => ({ namespace: 'default', name });
const CA = ref('llm-gateway-ca');
const CLIENT = ref('llm-gateway-client');

const identitiesOf = ({ kube, clock }: MemoryCluster) => new GroupIdentities({ cluster: kube, clock });

async function dataOf({ kube }: MemoryCluster, at: { namespace: string; name: string }) {
  const { data = {} } = (await kube.get<SecretObject>(secretResource, at)) ?? {};
  return (key: string) => Buffer.from(data[key] ?? '', 'base64').toString();
}

const workerOf = () => {
  const { object } = workerInDefault('a');
  const { metadata } = object;
  const owners = { ownerReferences: [controllerReference(group as KubeObject)] };
  return { ...object, metadata: { ...metadata, ...owners, annotations: { [annotations.link]: 'TLS' } } };
};

test('keeps an authority and the certificate of the gateway, and issues one to a worker', async () => {
  const cluster = memoryCluster();
  const identities = identitiesOf(cluster);
  expect(await identities.issue(workerOf())).toEqual({
    type: 'problem',
    detail: 'Secret llm-gateway-ca does not exist yet.',
  });
  expect(await identities.ensure(group)).toBeUndefined();
  const client = await dataOf(cluster, CLIENT);
  const authority = client('ca.crt');
  expect((await dataOf(cluster, CA))('1.crt')).toBe(authority);
  expect(isSignedBy(client('tls.crt'), authority)).toBe(true);
  const issued = await identities.issue(workerOf());
  if (issued?.type !== 'issued') throw new Error('nothing was issued');
  const { GPURENTAL_TLS_CERT: certificate = '', GPURENTAL_TLS_CA: trusted } = issued.env;
  expect(isSignedBy(Buffer.from(certificate, 'base64').toString(), authority)).toBe(true);
  expect(Buffer.from(trusted ?? '', 'base64').toString()).toBe(authority);
});

test('writes nothing for a group that is called without TLS, and issues nothing to its workers', async () => {
  const cluster = memoryCluster();
  const identities = identitiesOf(cluster);
  expect(await identities.ensure(groupInDefault({ gateway: { enabled: true } }))).toBeUndefined();
  expect(await identities.issue(workerInDefault('a').object)).toBeUndefined();
  expect(await cluster.kube.get(secretResource, CA)).toBeUndefined();
});

test.for([CA, CLIENT])('names $name when it is not of the group, and leaves it as it is', async (at) => {
  const cluster = memoryCluster();
  const foreign = { apiVersion: 'v1', kind: 'Secret', metadata: at, type: 'Opaque', data: { own: 'eA==' } };
  await cluster.kube.create<SecretObject>(secretResource, foreign);
  const problem = `Secret ${at.name} exists and is not of this EndpointGroup; delete it, so that the operator can issue certificates.`;
  expect(await identitiesOf(cluster).ensure(group)).toBe(problem);
  expect(await cluster.kube.get<SecretObject>(secretResource, at)).toMatchObject({ data: { own: 'eA==' } });
});

test.for([
  { part: 'the key of the authority', at: CA, key: '1.key', text: 'no key' },
  { part: 'the certificate of the authority', at: CA, key: '1.crt', text: 'no certificate' },
  { part: 'the key of the gateway', at: CLIENT, key: 'tls.key', text: 'no key' },
  { part: 'what the gateway believes', at: CLIENT, key: 'ca.crt', text: '' },
])('repairs what was changed by hand: $part', async ({ at, key, text }) => {
  const cluster = memoryCluster();
  await identitiesOf(cluster).ensure(group);
  const body = { data: { [key]: Buffer.from(text).toString('base64') } };
  await cluster.kube.patch(secretResource, at, { type: 'merge', body });
  expect(await identitiesOf(cluster).ensure(group)).toBeUndefined();
  const client = await dataOf(cluster, CLIENT);
  expect(client('ca.crt')).toBe((await dataOf(cluster, CA))('1.crt'));
  expect(isSignedBy(client('tls.crt'), client('ca.crt'))).toBe(true);
  expect(client('tls.key')).toContain('PRIVATE KEY');
  expect((await identitiesOf(cluster).issue(workerOf()))?.type).toBe('issued');
});

test('renews the certificate of the gateway when a third of it is left, by the same authority', async () => {
  const cluster = memoryCluster();
  // Of its own: in the cluster's time the garbage collector would take what has no owner there.
  const clock = createVirtualClock({ startMs: cluster.clock.now() });
  const identities = identitiesOf({ ...cluster, clock });
  await identities.ensure(group);
  const first = await dataOf(cluster, CLIENT);
  await clock.advance(19 * DAY_MS);
  await identities.ensure(group);
  expect((await dataOf(cluster, CLIENT))('tls.crt')).toBe(first('tls.crt'));
  await clock.advance(2 * DAY_MS);
  await identities.ensure(group);
  const second = await dataOf(cluster, CLIENT);
  expect(second('ca.crt')).toBe(first('ca.crt'));
  expect(periodOf(second('tls.crt')).until).toBeGreaterThan(periodOf(first('tls.crt')).until);
});

test('says which right is missing', async () => {
  const cluster = memoryCluster();
  cluster.intercept = ({ method }) => (method === 'POST' ? refusedBy(403, 'Forbidden') : undefined);
  expect(await identitiesOf(cluster).ensure(group)).toMatch(
    /^The Secrets of its gateway cannot be written: /,
  );
});
