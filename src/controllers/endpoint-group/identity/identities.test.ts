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

test('creates an authority and a gateway certificate, and issues a certificate to a worker', async () => {
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

test('writes no Secret and issues no certificate for a group without TLS', async () => {
  const cluster = memoryCluster();
  const identities = identitiesOf(cluster);
  expect(await identities.ensure(groupInDefault({ gateway: { enabled: true } }))).toBeUndefined();
  expect(await identities.issue(workerInDefault('a').object)).toBeUndefined();
  expect(await cluster.kube.get(secretResource, CA)).toBeUndefined();
});

test.for([CA, CLIENT])('reports $name of another owner and leaves it unchanged', async (at) => {
  const cluster = memoryCluster();
  const foreign = { apiVersion: 'v1', kind: 'Secret', metadata: at, type: 'Opaque', data: { own: 'eA==' } };
  await cluster.kube.create<SecretObject>(secretResource, foreign);
  const problem = `Secret ${at.name} does not belong to this EndpointGroup; delete it so that the operator can issue certificates.`;
  expect(await identitiesOf(cluster).ensure(group)).toBe(problem);
  expect(await cluster.kube.get<SecretObject>(secretResource, at)).toMatchObject({ data: { own: 'eA==' } });
});

test.for([
  { part: 'the key of the authority', at: CA, key: '1.key', text: 'no key' },
  { part: 'the certificate of the authority', at: CA, key: '1.crt', text: 'no certificate' },
  { part: 'the key of the gateway', at: CLIENT, key: 'tls.key', text: 'no key' },
  { part: 'the authorities of the gateway', at: CLIENT, key: 'ca.crt', text: '' },
])('repairs $part after a manual change', async ({ at, key, text }) => {
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

test('renews the gateway certificate from the same authority when a third of its validity is left', async () => {
  const cluster = memoryCluster();
  // A separate clock: with the cluster's clock the garbage collector would delete the Secrets, whose owner does not exist there.
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

describe('the caller of a worker', () => {
  test('has the gateway certificate and the DNS name of that worker', async () => {
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

  test('has no certificate when the group has no TLS', async () => {
    expect(await identitiesOf(memoryCluster()).callerOf(workerInDefault('a').object)).toBeUndefined();
  });

  test('follows a changed Secret within 30 s, with one read for all workers', async () => {
    const cluster = memoryCluster();
    // A separate clock: with the cluster's clock the garbage collector would delete the Secrets, whose owner does not exist there.
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
    ['has another type', { type: 'Opaque' }, /does not belong to this EndpointGroup/],
    ['has no owner', { metadata: CLIENT }, /does not belong to this EndpointGroup/],
    ['has no key', { data: {} }, /has no certificate, no key or no authorities/],
  ] as const)('is a problem when the Secret %s', async ([, change, says]) => {
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

  test('reports the error when the Secret cannot be read', async () => {
    const cluster = memoryCluster();
    cluster.intercept = () => refusedBy(403, 'Forbidden', 'no right');
    expect(await identitiesOf(cluster).callerOf(workerOf())).toEqual({
      type: 'problem',
      detail: expect.stringMatching(/^Cannot read Secret llm-gateway-client: .*no right/),
    });
  });
});

test('removes an expired authority and its key from the Secret', async () => {
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

test('issues a certificate for a year when the worker has a short maxLifetime', async () => {
  const cluster = memoryCluster();
  const identities = identitiesOf(cluster);
  await identities.ensure(group);
  const worker = workerOf();
  const issued = await identities.issue({ ...worker, spec: { ...worker.spec, maxLifetime: '1h' } });
  if (issued?.type !== 'issued') throw new Error('nothing was issued');
  const certificate = Buffer.from(issued.env['GPURENTAL_TLS_CERT'] ?? '', 'base64').toString();
  expect(periodOf(certificate).until - cluster.clock.now()).toBe(365 * DAY_MS);
});

test('waits with a certificate while a check creates the Secrets of the group', async () => {
  const cluster = memoryCluster();
  const identities = identitiesOf(cluster);
  identities.check(receiptOf(group), () => {});
  expect((await identities.issue(workerOf()))?.type).toBe('issued');
});

test.for([409, 500])('retries once after a conflict and rejects on other errors: %i', async (status) => {
  const cluster = memoryCluster();
  let refusals = 1;
  cluster.intercept = ({ method }) =>
    method === 'POST' && refusals-- > 0 ? refusedBy(status, status === 409 ? 'Conflict' : 'x') : undefined;
  const done = identitiesOf(cluster).ensure(group);
  if (status === 409) expect(await done).toBeUndefined();
  else await expect(done).rejects.toThrow();
  expect((await cluster.kube.get(secretResource, CLIENT)) !== undefined).toBe(status === 409);
});

test('checks the Secrets again 5 s after a failure and 10 min after a success', async () => {
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

test('reports a missing permission', async () => {
  const cluster = memoryCluster();
  cluster.intercept = ({ method }) => (method === 'POST' ? refusedBy(403, 'Forbidden') : undefined);
  expect(await identitiesOf(cluster).ensure(group)).toMatch(/^Cannot write the Secrets of its gateway: /);
});
