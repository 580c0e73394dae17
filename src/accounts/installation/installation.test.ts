import { describe, expect, test } from 'vitest';
import { memoryCluster, refusedBy } from '../../../test/builders/memory-cluster.ts';
import { silentLogger } from '../../lib/logger.ts';
import { seededRandom } from '../../lib/random.ts';
import { IDENTITY_SECRET } from '../../ownership/identity.ts';
import { secretResource } from '../../runtime/kube/core-resources.ts';
import type { SecretObject } from '../api-keys.ts';
import { Installation, type RentalTraces } from './installation.ts';

const NOTHING: RentalTraces = { objectsWithRentals: 0, ownMachines: 0, unlisted: 0 };

function setUp(traces: Partial<RentalTraces> = {}) {
  const cluster = memoryCluster();
  const start = (scope = '*', seed = 1) =>
    new Installation({
      client: cluster.kube,
      namespace: 'default',
      scope,
      random: seededRandom(seed),
      log: silentLogger,
      traces: async () => ({ ...NOTHING, ...traces }),
    });
  const stored = () =>
    cluster.kube.get<SecretObject>(secretResource, { namespace: 'default', name: IDENTITY_SECRET });
  return { cluster, start, stored };
}

test('an installation that never rented draws an identity once, and a restart uses it', async () => {
  const { start, stored } = setUp();
  const first = await start().resolve();
  const second = await start('*', 2).resolve();
  expect(first).toMatchObject({ type: 'known', sweep: 'allowed' });
  expect(second.type === 'known' && second.identity.installId).toBe(
    first.type === 'known' && first.identity.installId,
  );
  expect((await stored())?.metadata.labels).toEqual({
    'app.kubernetes.io/managed-by': 'gpu-rental-operator',
  });
});

describe('without a stored identity none is drawn', () => {
  test.each([
    ['beside an object with a rental', { objectsWithRentals: 1 }, 'lost'],
    ['beside a machine of a former installation of this cluster', { ownMachines: 1 }, 'lost'],
    ['before the accounts that it rented with were listed', { unlisted: 1 }, 'pending'],
    ['beside a rental, however little is listed', { objectsWithRentals: 1, unlisted: 1 }, 'lost'],
  ] as const)('%s', async (_, traces, type) => {
    const { start, stored } = setUp(traces);
    const installation = start();
    expect((await installation.resolve()).type).toBe(type);
    expect(installation.identity()).toBeUndefined();
    expect(await stored()).toBeUndefined();
  });
});

test('names no account while the machines of former ones are listed (H7)', async () => {
  const { start } = setUp({ unlisted: 1 });
  const state = await start().resolve();
  expect(state).toMatchObject({ why: { reason: 'IdentityPending' } });
  expect(JSON.stringify(state)).not.toMatch(/[a-z]+\/[a-z]+/);
});

test('draws no identity while the API server does not answer what is on record (H7)', async () => {
  const { cluster, stored } = setUp();
  const installation = new Installation({
    client: cluster.kube,
    namespace: 'default',
    scope: '*',
    random: seededRandom(1),
    log: silentLogger,
    traces: () => Promise.reject(new Error('away')),
  });
  await expect(installation.resolve()).rejects.toThrow('away');
  expect(await stored()).toBeUndefined();
});

test('of two replicas that draw at once, one draws and the other uses it at its next look', async () => {
  const { start } = setUp();
  const [one, two] = [start('*', 1), start('*', 2)];
  await Promise.all([one.resolve(), two.resolve()]);
  await Promise.all([one.resolve(), two.resolve()]);
  expect(one.identity()?.installId).toBe(two.identity()?.installId);
});

test('a Secret that is no identity is never overwritten', async () => {
  const { cluster, start, stored } = setUp();
  const metadata = { namespace: 'default', name: IDENTITY_SECRET };
  await cluster.kube.create(secretResource, {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata,
    stringData: { installId: 'x' },
  } as SecretObject);
  expect((await start().resolve()).type).toBe('lost');
  expect(Object.keys((await stored())?.data ?? {})).toEqual(['installId']);
});

test('a scope that grew is saved, one that shrank stops sweeps', async () => {
  const { start } = setUp();
  await start('a').resolve();
  expect(await start('a,b').resolve()).toMatchObject({ sweep: 'allowed' });
  expect(await start('a').resolve()).toMatchObject({ sweep: 'scopeShrunk' });
});

test('a namespace that was watched only while another was not stops sweeps once it is not', async () => {
  const { start } = setUp();
  await start('a,b').resolve();
  expect(await start('a,c').resolve()).toMatchObject({ sweep: 'scopeShrunk' });
  expect(await start('a,b').resolve()).toMatchObject({ sweep: 'scopeShrunk' });
  expect(await start('a,b,c').resolve()).toMatchObject({ sweep: 'allowed' });
});

test('an identity is not used before it is saved that more is watched', async () => {
  const { cluster, start } = setUp();
  await start('a').resolve();
  const installation = start('a,b');
  cluster.intercept = ({ method }) => (method === 'PATCH' ? refusedBy(403, 'Forbidden') : undefined);
  await expect(installation.resolve()).rejects.toMatchObject({ kind: 'forbidden' });
  expect(installation.identity()).toBeUndefined();
});

test('another cluster stops sweeps; one that may not be read does not', async () => {
  const { cluster, start } = setUp();
  await start().resolve();
  const ref = { namespace: 'default', name: IDENTITY_SECRET };
  await cluster.kube.patch(secretResource, ref, {
    type: 'merge',
    body: { stringData: { kubeSystemUid: 'other' } },
  });
  expect(await start().resolve()).toMatchObject({ sweep: 'clusterChanged' });
  cluster.intercept = ({ path }) =>
    path.endsWith('/namespaces/kube-system') ? refusedBy(403, 'Forbidden') : undefined;
  expect(await start().resolve()).toMatchObject({ sweep: 'allowed' });
});

test.each([
  ['drawn', false],
  ['swept', true],
])('nothing is %s while the uid of the cluster cannot be read', async (_, isStored) => {
  const { cluster, start, stored } = setUp();
  if (isStored) await start().resolve();
  const installation = start();
  cluster.intercept = ({ path }) =>
    path.endsWith('/namespaces/kube-system') ? refusedBy(500, 'InternalError') : undefined;
  const looked = expect(installation.resolve()).rejects.toMatchObject({ status: 500 });
  await cluster.clock.advance(60_000);
  await looked;
  expect(installation.state().type).toBe('pending');
  expect((await stored()) !== undefined).toBe(isStored);
});

test('an API server that does not answer leaves it open', async () => {
  const { cluster, start } = setUp();
  const installation = start();
  cluster.intercept = () => refusedBy(403, 'Forbidden');
  await expect(installation.resolve()).rejects.toMatchObject({ kind: 'forbidden' });
  expect(installation.state().type).toBe('pending');
  cluster.intercept = () => undefined;
  expect((await installation.resolve()).type).toBe('known');
});

test('notifies once when the identity is known', async () => {
  const { start } = setUp();
  const installation = start();
  let told = 0;
  installation.onChange(() => {
    told += 1;
  });
  await installation.resolve();
  await installation.resolve();
  expect(told).toBe(1);
});

test('looks at the same time are one look', async () => {
  const { start, cluster } = setUp();
  const installation = start();
  cluster.sent.length = 0;
  const [first, second] = await Promise.all([installation.resolve(), installation.resolve()]);
  expect(first).toBe(second);
  expect(cluster.sent.filter((line) => line.startsWith('POST'))).toHaveLength(1);
});
