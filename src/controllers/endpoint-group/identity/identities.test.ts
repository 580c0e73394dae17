import { describe, expect, test } from 'vitest';
import { groupInDefault, workerInDefault } from '../../../../test/builders/group-publisher.ts';
import { type MemoryCluster, memoryCluster, refusedBy } from '../../../../test/builders/memory-cluster.ts';
import { createVirtualClock } from '../../../../test/builders/virtual-clock.ts';
import { annotations } from '../../../api/v1alpha1/names.ts';
import { isSignedBy, periodOf } from '../../../lib/certificates.ts';
import { secretResource } from '../../../runtime/kube/core-resources.ts';
import { controllerReference, type KubeObject } from '../../../runtime/kube/kube-object.ts';
import { receiptOf } from '../../../runtime/writes.ts';
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

const PARTS = { 'tls.crt': 'eA==', 'tls.key': 'eA==', 'ca.crt': 'eA==' };

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

describe('the operator calls a worker', () => {
  test('by the certificate of the gateway, and takes that worker alone for it', async () => {
    const cluster = memoryCluster();
    const identities = identitiesOf(cluster);
    await identities.ensure(group);
    const client = await dataOf(cluster, CLIENT);
    const caller = await identities.callerOf(workerOf());
    if (caller?.type !== 'tls') throw new Error('no certificate');
    expect(caller.tls).toMatchObject({
      ...{ certificate: client('tls.crt'), authorities: client('ca.crt') },
      serverName: 'uid-a.llm.default.gpurental.internal',
    });
    expect(caller.tls.key.reveal()).toBe(client('tls.key'));
    expect(JSON.stringify(caller)).not.toContain('PRIVATE');
  });

  test('without a certificate where its link is another', async () => {
    expect(await identitiesOf(memoryCluster()).callerOf(workerInDefault('a').object)).toBeUndefined();
  });

  test('by what is in the Secret half a minute later at most, and reads it once for all workers', async () => {
    const cluster = memoryCluster();
    // Of its own: in the cluster's time the garbage collector would take what has no owner there.
    const clock = createVirtualClock({ startMs: cluster.clock.now() });
    const identities = identitiesOf({ ...cluster, clock });
    expect(await identities.callerOf(workerOf())).toEqual({
      type: 'problem',
      detail: 'Secret llm-gateway-client does not exist yet.',
    });
    await identities.ensure(group);
    await clock.advance(2_000);
    cluster.sent.length = 0;
    const both = await Promise.all([identities.callerOf(workerOf()), identities.callerOf(workerOf())]);
    expect(both.map((caller) => caller?.type)).toEqual(['tls', 'tls']);
    expect(cluster.sent).toHaveLength(1);
    const body = { data: { 'ca.crt': Buffer.from('others').toString('base64') } };
    await cluster.kube.patch(secretResource, CLIENT, { type: 'merge', body });
    const authorities = async () => {
      const caller = await identities.callerOf(workerOf());
      return caller?.type === 'tls' ? caller.tls.authorities : '';
    };
    expect(await authorities()).toMatch('BEGIN CERTIFICATE');
    await clock.advance(30_000);
    expect(await authorities()).toBe('others');
  });

  test.for([
    ['is of another type', { type: 'Opaque' }, /exists and is not of this EndpointGroup/],
    ['nothing owns', { metadata: CLIENT }, /exists and is not of this EndpointGroup/],
    ['lacks its key', { data: {} }, /lacks a certificate, its key or the authorities/],
  ] as const)('never by a Secret that %s', async ([, change, says]) => {
    const cluster = memoryCluster();
    const metadata = { ...CLIENT, ownerReferences: [controllerReference(group as KubeObject)] };
    const kept = { metadata, type: 'gpurental.dev/gateway-client', data: PARTS };
    const secret = { apiVersion: 'v1', kind: 'Secret', ...kept, ...change };
    await cluster.kube.create<SecretObject>(secretResource, secret);
    expect(await identitiesOf(cluster).callerOf(workerOf())).toMatchObject({
      type: 'problem',
      detail: expect.stringMatching(says),
    });
  });

  test('not at all while the Secret cannot be read, and says why', async () => {
    const cluster = memoryCluster();
    cluster.intercept = () => refusedBy(403, 'Forbidden', 'no right');
    expect(await identitiesOf(cluster).callerOf(workerOf())).toEqual({
      type: 'problem',
      detail: expect.stringMatching(/^Secret llm-gateway-client cannot be read: .*no right/),
    });
  });
});

test('takes an authority out of its Secret when it has ended, with its key', async () => {
  const cluster = memoryCluster();
  const clock = createVirtualClock({ startMs: cluster.clock.now() });
  const identities = identitiesOf({ ...cluster, clock });
  const seen: string[] = [];
  for (let year = 0; year < 9; year++) {
    expect(await identities.ensure(group)).toBeUndefined();
    const { data = {} } = (await cluster.kube.get<SecretObject>(secretResource, CA)) ?? {};
    seen.push(Object.keys(data).sort().join(' '));
    const trusted = (await dataOf(cluster, CLIENT))('ca.crt');
    const kept = await dataOf(cluster, CA);
    const certificates = Object.keys(data).filter((key) => key.endsWith('.crt'));
    expect(trusted).toBe(certificates.map(kept).join(''));
    await clock.advance(367 * DAY_MS);
  }
  expect(seen.slice(0, 2)).toEqual(['1.crt 1.key', '1.crt 1.key 2.crt 2.key']);
  expect(seen[4]).toBe('2.crt 2.key 3.crt 3.key 4.crt 4.key 5.crt 5.key');
  expect(seen[8]).toBe('6.crt 6.key 7.crt 7.key 8.crt 8.key 9.crt 9.key');
});

test('a certificate lasts a year, however short a life the worker has by its spec', async () => {
  const cluster = memoryCluster();
  const identities = identitiesOf(cluster);
  await identities.ensure(group);
  const worker = workerOf();
  const issued = await identities.issue({ ...worker, spec: { ...worker.spec, maxLifetime: '1h' } });
  if (issued?.type !== 'issued') throw new Error('nothing was issued');
  const certificate = Buffer.from(issued.env['GPURENTAL_TLS_CERT'] ?? '', 'base64').toString();
  expect(periodOf(certificate).until - cluster.clock.now()).toBe(365 * DAY_MS);
});

test('a machine that is rented while the Secrets of its group are made waits for them', async () => {
  const cluster = memoryCluster();
  const identities = identitiesOf(cluster);
  identities.check(receiptOf(group), () => {});
  expect((await identities.issue(workerOf()))?.type).toBe('issued');
});

test.for([409, 500])('tries once more after a conflict, and rejects by other answers: %i', async (status) => {
  const cluster = memoryCluster();
  let refusals = 1;
  cluster.intercept = ({ method }) =>
    method === 'POST' && refusals-- > 0 ? refusedBy(status, status === 409 ? 'Conflict' : 'x') : undefined;
  const done = identitiesOf(cluster).ensure(group);
  if (status === 409) expect(await done).toBeUndefined();
  else await expect(done).rejects.toThrow();
  expect((await cluster.kube.get(secretResource, CLIENT)) !== undefined).toBe(status === 409);
});

test('checks the Secrets after five seconds while that fails, and after ten minutes else', async () => {
  const cluster = memoryCluster();
  const identities = identitiesOf(cluster);
  let changes = 0;
  const checked = async () => {
    if (identities.view(group).isDue) identities.check(receiptOf(group), () => changes++);
    await cluster.clock.settle();
    return identities.view(group).problem;
  };
  cluster.intercept = () => refusedBy(403, 'Forbidden', 'no right');
  expect([await checked(), changes]).toEqual([expect.stringMatching('no right'), 1]);
  await cluster.clock.advance(6_000);
  expect([await checked(), changes]).toEqual([expect.stringMatching('no right'), 1]);
  cluster.intercept = () => undefined;
  expect([await checked(), changes]).toEqual([expect.stringMatching('no right'), 1]);
  await cluster.clock.advance(6_000);
  expect([await checked(), changes]).toEqual([undefined, 2]);
  cluster.sent.length = 0;
  await cluster.clock.advance(500_000);
  await checked();
  expect(cluster.sent).toEqual([]);
  await cluster.clock.advance(101_000);
  await checked();
  expect(cluster.sent.length).toBeGreaterThan(0);
});

test('says which right is missing', async () => {
  const cluster = memoryCluster();
  cluster.intercept = ({ method }) => (method === 'POST' ? refusedBy(403, 'Forbidden') : undefined);
  expect(await identitiesOf(cluster).ensure(group)).toMatch(
    /^The Secrets of its gateway cannot be written: /,
  );
});
