import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import { OperatorBench } from '../../../test/builders/running-operator.ts';
import { until } from '../../../test/builders/until.ts';
import type { ClusterAccess } from '../../../test/cluster/connect.ts';
import { sharedCluster } from '../../../test/cluster/shared-cluster.ts';
import { identityOf, lists } from '../../../test/integration/gpu-instance-bench.ts';
import { gpuInstanceResource, marketplaceAccountResource } from '../../api/v1alpha1/names.ts';
import { statusCodec } from '../../api/v1alpha1/status-codec.ts';
import { IDENTITY_SECRET, newIdentity } from '../../ownership/identity.ts';
import { makeLabel } from '../../ownership/label.ts';
import { secretResource } from '../../runtime/kube/core-resources.ts';
import { isKubeError } from '../../runtime/kube/kube-error.ts';

let cluster: ClusterAccess;
beforeAll(() => {
  cluster = sharedCluster();
});

const benches: OperatorBench[] = [];
afterEach(async () => {
  for (const bench of benches.splice(0)) await bench.close();
});

/** Returns an operator that destroys orphans, and one running machine. */
async function withMachine(
  spec: Record<string, unknown> = { orphanPolicy: 'Destroy' },
): Promise<OperatorBench> {
  const bench = await OperatorBench.open(cluster);
  benches.push(bench);
  await bench.putKey(bench.simulator.apiKey);
  await bench.createAccount(spec);
  await bench.start();
  await bench.createInstance('worker');
  await until('the machine runs', async () => (await bench.instance('worker'))?.status?.phase === 'Running');
  await until(
    'the rental is on record',
    async () => (await bench.account())?.status?.lastRentalAt !== undefined,
  );
  return bench;
}

/** Takes the object away without its teardown, as a person with too much patience does. */
/** Removes the finalizers by hand and deletes the object before the operator restores them. */
async function removeByHand(bench: OperatorBench, name = 'worker'): Promise<void> {
  const ref = { namespace: bench.namespace, name };
  await until('the object is deleted while nothing guards it', async () => {
    const body = { metadata: { finalizers: null } };
    const { metadata } = await bench.kube.patch(gpuInstanceResource, ref, { type: 'merge', body });
    const { resourceVersion } = metadata;
    return bench.kube.delete(gpuInstanceResource, ref, { resourceVersion }).catch((error: unknown) => {
      if (isKubeError(error, 'conflict')) return false;
      throw error;
    });
  });
  await until('the object is gone', async () => (await bench.instance(name)) === undefined);
}

async function orphans(bench: OperatorBench): Promise<number | undefined> {
  return (await bench.account())?.status?.machines?.orphaned;
}

const eventsOf = (bench: OperatorBench) => cluster.kubectl(['get', 'events', '-n', bench.namespace]);

const destroys = (bench: OperatorBench) => bench.callsTo('DELETE', /instances\/[1-9]/).length;

/** Puts a contract with this label beside the others, as another program or cluster would. */
function addMachine(bench: OperatorBench, label: string | null): number {
  const { store } = bench.simulator;
  const [contract] = Object.values(bench.simulator.world().tables.contracts);
  if (!contract) throw new Error('there is no contract to copy');
  const id = contract.id + 5000;
  store.put('contracts', { ...contract, id, label });
  return id;
}

/** Waits for more complete lists than any sweep needs. */
async function severalSweeps(bench: OperatorBench): Promise<void> {
  const before = lists(bench);
  await until('several lists', () => lists(bench) >= before + 5);
}

describe('scenario 63: a finalizer removed by hand', () => {
  test('with orphanPolicy Destroy the machine is destroyed, reported by event and metric', async () => {
    const bench = await withMachine();
    await removeByHand(bench);
    await until('the machine is gone', () => bench.billing().length === 0);
    await until('events recordEvent it', async () => (await eventsOf(bench)).includes('OrphanDestroyed'));
    expect(await eventsOf(bench)).toContain('OrphanFound');
    expect(await bench.metrics()).toMatch(/gpu_rental_orphans_destroyed_total\{.*\} 1/);
    expect(destroys(bench)).toBe(1);
  });

  test('with orphanPolicy Report it is reported and never touched', async () => {
    const bench = await withMachine({});
    await removeByHand(bench);
    await until('it is counted', async () => (await orphans(bench)) === 1);
    await severalSweeps(bench);
    expect(bench.billing()).toHaveLength(1);
    expect(destroys(bench)).toBe(0);
    expect(await bench.metrics()).toMatch(/gpu_rental_orphans\{.*\} 1/);
  });
});

test('scenario 61: in a crash loop an orphan is still found, since its age is its own', async () => {
  const bench = await withMachine();
  await removeByHand(bench);
  for (let round = 0; round < 8 && bench.billing().length > 0; round += 1) {
    await bench.crash();
    await bench.start();
    const before = lists(bench);
    await until('it has looked', () => bench.billing().length === 0 || lists(bench) >= before + 3);
  }
  expect(bench.billing()).toHaveLength(0);
});

test('scenario 65: a cluster restored from a backup destroys nothing until a person confirms', async () => {
  const bench = await withMachine();
  await bench.stop();
  await removeByHand(bench);
  const account = await bench.account();
  if (!account) throw new Error('There is no account.');
  const ref = { namespace: bench.namespace, name: 'default' };
  const { status: older } = statusCodec.encode({
    ...account,
    status: { ...account.status, lastRentalAt: '2020-01-01T00:00:00Z' },
  });
  await bench.kube.patch(marketplaceAccountResource, ref, {
    type: 'merge',
    body: { status: older },
    subresource: 'status',
  });
  await bench.start();
  const stalled = await until('it stalls', async () => {
    const conditions = (await bench.account())?.status?.conditions ?? [];
    return conditions.find(({ type, reason }) => type === 'Stalled' && reason === 'OrphansHeld');
  });
  expect(stalled.message).toContain(String(bench.billing()[0]?.id));
  await severalSweeps(bench);
  expect(bench.billing()).toHaveLength(1);
  const metadata = { annotations: { 'gpurental.dev/confirm-rollback': 'seen' } };
  await bench.kube.patch(marketplaceAccountResource, ref, { type: 'merge', body: { metadata } });
  await until('the machine is gone', () => bench.billing().length === 0);
});

test('scenario 66: a machine of another installation is counted as foreign and never touched', async () => {
  const bench = await withMachine();
  const stranger = newIdentity(
    { id: new Uint8Array(16).fill(7), key: new Uint8Array(32).fill(9) },
    { kubeSystemUid: undefined, scope: '*' },
  );
  addMachine(bench, makeLabel(stranger, { uid: 'aaaa-bbbb', attempt: 1, issuedAt: Date.now() - 1000 }));
  await until('it is counted', async () => (await bench.account())?.status?.machines?.foreign === 1);
  await severalSweeps(bench);
  expect(bench.billing()).toHaveLength(2);
  expect(destroys(bench)).toBe(0);
});

test('scenario 67: a cluster cloned with its Secret sweeps nothing and says so', async () => {
  const bench = await withMachine();
  await bench.stop();
  const ref = { namespace: bench.namespace, name: IDENTITY_SECRET };
  await bench.kube.patch(secretResource, ref, {
    type: 'merge',
    body: { stringData: { kubeSystemUid: 'of-another-cluster' } },
  });
  await removeByHand(bench);
  await bench.start();
  await until('it stalls', async () => {
    const conditions = (await bench.account())?.status?.conditions ?? [];
    return conditions.some(({ type, reason }) => type === 'Stalled' && reason === 'IdentityInvalid');
  });
  await severalSweeps(bench);
  expect(bench.billing()).toHaveLength(1);
  expect(destroys(bench)).toBe(0);
});

describe('scenario 68: our label on a machine that we did not rent', () => {
  test.each([
    [
      'a late rental, whose label is an hour old, is reported and not swept before its time',
      1,
      'OrphanFound',
    ],
    ['a copy, whose label is older than a day, is reported and never touched', 25, 'OrphanFound'],
  ] as const)('%s', async (_, hours, reason) => {
    const bench = await withMachine();
    const old = makeLabel(await identityOf(bench), {
      uid: 'aaaa-bbbb',
      attempt: 1,
      issuedAt: Date.now() - hours * 3_600_000,
    });
    addMachine(bench, old);
    await until('an event tells it', async () => (await eventsOf(bench)).includes(reason));
    await severalSweeps(bench);
    expect(bench.billing()).toHaveLength(2);
    expect(destroys(bench)).toBe(0);
  });

  test('an edited label is reported and never touched', async () => {
    const bench = await withMachine();
    const [machine] = bench.billing();
    addMachine(bench, (machine?.label ?? '').replace(/:1:/, ':2:'));
    await until('an event tells it', async () => (await eventsOf(bench)).includes('OrphanFound'));
    await severalSweeps(bench);
    expect(bench.billing()).toHaveLength(2);
    expect(destroys(bench)).toBe(0);
  });
});

test('an identity that is lost beside rentals is missed loudly and never replaced', async () => {
  const bench = await withMachine();
  await bench.stop();
  await bench.kube.delete(secretResource, { namespace: bench.namespace, name: IDENTITY_SECRET });
  await bench.start();
  const stalled = await until('it stalls', async () => {
    const conditions = (await bench.account())?.status?.conditions ?? [];
    return conditions.find(({ type, reason }) => type === 'Stalled' && reason === 'IdentityInvalid');
  });
  expect(stalled.message).toContain('reset identity');
  expect(
    await bench.kube.get(secretResource, { namespace: bench.namespace, name: IDENTITY_SECRET }),
  ).toBeUndefined();
  expect(bench.billing()).toHaveLength(1);
});
