import { describe, expect, test } from 'vitest';
import { memoryCluster, refusedBy } from '../../test/builders/memory-cluster.ts';
import type { MarketplaceAccount } from '../api/v1alpha1/marketplace-account.ts';
import { marketplaceAccountResource } from '../api/v1alpha1/names.ts';
import { formatTime } from '../lib/time.ts';
import type { KubeObject } from '../runtime/kube/kube-object.ts';
import { StatusWriter, withDeletedInstances, withRetained, withSwept } from './status-writer.ts';

const NOW = Date.parse('2026-11-20T12:00:00Z');
const AT = { now: NOW, month: '2026-11' };

async function setUp() {
  const cluster = memoryCluster();
  const ref = { namespace: 'default', name: 'default' };
  const created = await cluster.kube.create<KubeObject>(marketplaceAccountResource, {
    apiVersion: 'gpurental.dev/v1alpha1',
    kind: 'MarketplaceAccount',
    metadata: ref,
    spec: { apiKeySecretRef: { name: 'key' } },
  } as KubeObject);
  const written: MarketplaceAccount[] = [];
  const records = new StatusWriter({
    client: cluster.kube,
    clock: cluster.clock,
    spendingTime: () => cluster.clock.now(),
    ref: { ...ref, uid: created.metadata.uid ?? '' },
    onWritten: (account) => written.push(account),
  });
  const status = async () =>
    (await cluster.kube.get<MarketplaceAccount & KubeObject>(marketplaceAccountResource, ref))?.status;
  return { cluster, records, written, status, ref };
}

const deleted = (uid: string, spentThisMonth = 1_000_000) => ({
  uid,
  rentals: [NOW - 1_000],
  spentThisMonth,
  newestRentalAt: NOW - 1_000,
});

const numbered = (from: number, count: number) =>
  Array.from({ length: count }, (_, index) => `${from + index}`);

describe('what must outlive its object', () => {
  test('is in the status of its account before anybody goes on: what a deleted object spent', async () => {
    const { cluster, records, status } = await setUp();
    const now = cluster.clock.now();
    await records.recordDeleted({ uid: 'u', spentThisMonth: 2_000_000, rentals: [now], newestRentalAt: now });
    const month = new Date(now).toISOString().slice(0, 7);
    expect((await status())?.deletedObjects).toMatchObject({ month, spent: '2.00' });
  });

  test('is passed to the caches of the account, as it was written', async () => {
    const { records, written, status } = await setUp();
    await records.recordDeleted(deleted('u'));
    expect(written.map((account) => account.status)).toEqual([await status()]);
  });

  test('is in the status of its account before anybody goes on: a machine that is kept', async () => {
    const { records, status } = await setUp();
    const kept = { instanceId: '5', owner: 'team/job', objectUid: 'u', policy: 'Retain' } as const;
    await records.recordRetained({ ...kept, pricePerHour: undefined });
    expect((await status())?.retained).toMatchObject([{ instanceId: '5', owner: 'team/job', ownerUid: 'u' }]);
  });
});

describe('orphans that were destroyed', () => {
  const at = (ms: number) => ({ at: formatTime(NOW + ms) });

  test('are in the status of their account before the call is sent', async () => {
    const { records, status } = await setUp();
    await records.recordSwept({ instanceId: '5', at: NOW });
    expect((await status())?.orphansSwept).toEqual([{ instanceId: '5', ...at(0) }]);
  });

  test('count once, from the first try, and for an hour', () => {
    const status = {
      orphansSwept: [
        { instanceId: '4', ...at(-3_600_000) },
        { instanceId: '5', ...at(-1_000) },
      ],
    };
    expect(withSwept({ instanceId: '5', at: NOW })(status)).toBe(status);
    expect(withSwept({ instanceId: '6', at: NOW })(status).orphansSwept).toEqual([
      { instanceId: '5', ...at(-1_000) },
      { instanceId: '6', ...at(0) },
    ]);
    expect(withSwept({ instanceId: '4', at: NOW })(status).orphansSwept).toEqual([
      { instanceId: '5', ...at(-1_000) },
      { instanceId: '4', ...at(0) },
    ]);
  });

  test('are kept to as many as the status holds, the newest of them', () => {
    const orphansSwept = Array.from({ length: 256 }, (_, index) => ({
      instanceId: String(index),
      ...at(-256 + index),
    }));
    const { orphansSwept: after = [] } = withSwept({ instanceId: '999', at: NOW })({ orphansSwept });
    expect(after).toHaveLength(256);
    expect(after.at(0)?.instanceId).toBe('1');
    expect(after.at(-1)?.instanceId).toBe('999');
  });
});

describe('what deleted objects leave', () => {
  test('is added up, however many go at once, in few writes', async () => {
    const { records, status, written } = await setUp();
    const all = Array.from({ length: 200 }, (_, index) => records.recordDeleted(deleted(`u${index}`)));
    await Promise.all(all);
    expect((await status())?.deletedObjects).toMatchObject({ month: '2026-11', spent: '200.00' });
    expect((await status())?.deletedObjects?.rentals).toHaveLength(200);
    expect(written.length).toBeLessThanOrEqual(5);
  });

  test('is of the month in which it was spent, whatever our wall clock is set to', async () => {
    const { cluster, ref } = await setUp();
    const account = await cluster.kube.get<MarketplaceAccount & KubeObject>(marketplaceAccountResource, ref);
    const written: MarketplaceAccount[] = [];
    const records = new StatusWriter({
      client: cluster.kube,
      clock: cluster.clock,
      spendingTime: () => Date.parse('2026-10-31T23:30:00Z'),
      ref: { ...ref, uid: account?.metadata.uid ?? '' },
      onWritten: (object) => written.push(object),
    });
    await records.recordDeleted(deleted('u'));
    expect(written.at(-1)?.status?.deletedObjects).toMatchObject({ month: '2026-10', spent: '1.00' });
  });

  test('of the month before counts no more', async () => {
    const before = { deletedObjects: { month: '2026-10', spent: '9.00', rentals: [] } };
    const both = [deleted('u', 1_000_000), deleted('v', 2_000_000)];
    expect(withDeletedInstances(both, AT)(before).deletedObjects).toMatchObject({
      month: '2026-11',
      spent: '3.00',
    });
  });

  test('names the newest 256 machines that were destroyed with deleted objects, also in the next month', () => {
    const before = {
      deletedObjects: { month: '2026-10', spent: '9.00', rentals: [], machines: numbered(1, 255) },
    };
    const both = [
      { ...deleted('u'), destroyed: ['256', '3'] },
      { ...deleted('v'), destroyed: ['257'] },
    ];
    const machines = withDeletedInstances(both, AT)(before).deletedObjects?.machines;
    expect(machines).toEqual(['2', ...numbered(4, 252), '256', '3', '257']);
    expect(machines).toHaveLength(256);
  });

  test('names no machines when none was destroyed', () => {
    expect(withDeletedInstances([deleted('u')], AT)({}).deletedObjects).not.toHaveProperty('machines');
  });

  test('is not written to another account of the name', async () => {
    const { cluster, status, ref } = await setUp();
    const records = new StatusWriter({
      client: cluster.kube,
      clock: cluster.clock,
      spendingTime: () => cluster.clock.now(),
      ref: { ...ref, uid: 'of the one before' },
      onWritten: () => {},
    });
    await records.recordDeleted(deleted('u'));
    expect((await status())?.deletedObjects).toBeUndefined();
  });

  test('is said to be lost, so that no guard goes, where others are faster again and again', async () => {
    const { records, cluster } = await setUp();
    cluster.intercept = ({ method }) => (method === 'PUT' ? refusedBy(409, 'Conflict') : undefined);
    const writing = expect(records.recordDeleted(deleted('u'))).rejects.toThrow();
    await cluster.clock.advance(10_000);
    await writing;
  });

  test('survives a writer who was faster', async () => {
    const { records, status, cluster } = await setUp();
    let conflicts = 2;
    cluster.intercept = (request) =>
      request.method === 'PUT' && conflicts-- > 0 ? refusedBy(409, 'Conflict') : undefined;
    const writing = records.recordDeleted(deleted('u'));
    await cluster.clock.advance(1_000);
    await writing;
    expect((await status())?.deletedObjects?.spent).toBe('1.00');
  });

  test('is written also when other writes ended before it, well or not', async () => {
    const { records, status, cluster } = await setUp();
    await records.recordDeleted(deleted('u'));
    cluster.intercept = (request) => (request.method === 'PUT' ? refusedBy(403, 'Forbidden') : undefined);
    await expect(records.recordDeleted(deleted('v'))).rejects.toMatchObject({ kind: 'forbidden' });
    cluster.intercept = () => undefined;
    await records.recordDeleted(deleted('v'));
    expect((await status())?.deletedObjects?.spent).toBe('2.00');
  });

  test('rejects when the API server does not take it', async () => {
    const { records, cluster } = await setUp();
    cluster.intercept = (request) => (request.method === 'PUT' ? refusedBy(403, 'Forbidden') : undefined);
    await expect(records.recordDeleted(deleted('u'))).rejects.toMatchObject({
      kind: 'forbidden',
    });
  });

  test('is not needed once the account is gone', async () => {
    const { records, cluster, ref, written } = await setUp();
    await cluster.kube.delete(marketplaceAccountResource, ref);
    await records.recordDeleted(deleted('u'));
    expect(written).toHaveLength(0);
  });

  test('of a former month is forgotten, of the last hour kept', () => {
    const before = {
      deletedObjects: {
        month: '2026-10',
        spent: '50.00',
        rentals: ['2026-11-20T10:00:00Z', '2026-11-20T11:30:00Z'],
      },
    };
    expect(withDeletedInstances([deleted('u')], AT)(before).deletedObjects).toEqual({
      month: '2026-11',
      spent: '1.00',
      rentals: ['2026-11-20T11:30:00Z', '2026-11-20T11:59:59Z'],
    });
  });

  test('is no more than a status takes: of very many rentals the newest stay', () => {
    const rentals = Array.from({ length: 1_200 }, (_, index) => NOW - 1_300_000 + index * 1_000);
    const kept = withDeletedInstances([{ ...deleted('u'), rentals }], AT)({}).deletedObjects?.rentals ?? [];
    expect([kept.length, kept.at(-1)]).toEqual([1_000, formatTime(NOW - 101_000)]);
  });

  test('never makes the newest rental older', () => {
    const before = { lastRentalAt: '2026-11-20T12:00:00Z' };
    expect(withDeletedInstances([deleted('u')], AT)(before).lastRentalAt).toBe('2026-11-20T12:00:00Z');
  });
});

describe('a machine that is kept', () => {
  const machine = {
    instanceId: '5',
    objectUid: 'u',
    owner: 'team/a',
    policy: 'Retain',
    pricePerHour: 500_000,
  } as const;

  test('is listed with its price and owner, once', () => {
    const once = withRetained(machine, NOW)({});
    const twice = withRetained(machine, NOW + 1_000)(once);
    expect(twice.retained).toEqual([
      {
        instanceId: '5',
        owner: 'team/a',
        ownerUid: 'u',
        since: '2026-11-20T12:00:01Z',
        policy: 'Retain',
        pricePerHour: '0.50',
      },
    ]);
  });

  test('is refused with what to do when the list is full', () => {
    const entry = { owner: 'o', ownerUid: 'u', since: '2026-11-20T12:00:00Z', policy: 'Retain' as const };
    const full = {
      retained: Array.from({ length: 256 }, (_, index) => ({ ...entry, instanceId: String(index + 100) })),
    };
    expect(() => withRetained(machine, NOW)(full)).toThrow('destroy some of them at the marketplace first');
  });
});
