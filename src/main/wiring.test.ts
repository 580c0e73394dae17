import { afterEach, describe, expect, test, vi } from 'vitest';
import { memoryCluster } from '../../test/builders/memory-cluster.ts';
import { given } from '../../test/builders/observed.ts';
import { accountWith } from '../../test/builders/observed-account.ts';
import { PROVEN, type Wired, wiredUnder } from '../../test/builders/wired.ts';
import { LoginConnections } from '../accounts/connection.ts';
import { statusCodec } from '../api/v1alpha1/status-codec.ts';
import type { RawOptions } from '../config.ts';
import { formatTime } from '../lib/time.ts';
import { type Transport, TransportError } from '../lib/transport.ts';
import { defaultConstants } from '../ownership/constants.ts';

let wired: Wired | undefined;
afterEach(() => wired?.end());

function wiringOf(...given: Parameters<typeof wiredUnder>): Wired {
  wired = wiredUnder(...given);
  return wired;
}

/** Returns the objects that count for an account of `red` that any namespace may use; both namespaces have one. */
async function countedUnder(flags: RawOptions): Promise<readonly string[]> {
  const { wiring, create, sync } = wiringOf(flags);
  const { spec } = given({ spec: { accountRef: { name: 'default', namespace: 'red' } } }).object;
  for (const namespace of ['red', 'blue'])
    create('gpuinstances', {
      ...{ apiVersion: 'gpurental.dev/v1alpha1', kind: 'GpuInstance', spec },
      metadata: { name: 'job', namespace },
    });
  await wiring.installation.resolve();
  await sync();
  const account = accountWith({
    metadata: { namespace: 'red' },
    spec: { allowedNamespaces: { from: 'All' } },
  });
  return wiring.registry
    .objectsOf(account)
    .all()
    .map(({ key }) => key)
    .toSorted();
}

describe('each timing flag reaches the constants', () => {
  test.each([
    ['lateCall', 'lateCallMs'],
    ['listLag', 'listLagMs'],
    ['goneSpacing', 'goneSpacingMs'],
    ['orphanAge', 'orphanAgeMs'],
    ['lateOrphanAge', 'lateOrphanAgeMs'],
  ] as const)('%s', (flag, name) => {
    expect(wiringOf({ [flag]: '77s' }).wiring.constants).toEqual({ ...defaultConstants, [name]: 77_000 });
  });
});

describe('an account that any namespace may use', () => {
  test('is used from all of them where all are watched', async () => {
    expect(await countedUnder({})).toEqual(['blue/job', 'red/job']);
  });

  test('is used from its own alone where namespaces are named: labels of others cannot be read', async () => {
    expect(await countedUnder({ watchNamespace: ['red', 'blue'] })).toEqual(['red/job']);
  });
});

test('running machines count for a month until the time of the service, whatever the clock of the process', async () => {
  const { wiring, memory, create, sync, clock } = wiringOf({});
  const now = clock.now();
  const kind = { apiVersion: 'gpurental.dev/v1alpha1', kind: 'GpuInstance' };
  create('gpuinstances', { ...kind, spec: given().object.spec, metadata: { name: 'job', namespace: 'red' } });
  const cost = { pricePerHour: '2', accrued: '0', since: formatTime(now - 3_600_000) };
  const { status } = statusCodec.encode({ ...kind, status: { instanceId: '1', cost } });
  memory.writes.update(
    { kind: memory.kind('gpuinstances'), namespace: 'red', name: 'job' },
    (current) => ({ ...current, status }),
    'status',
  );
  await wiring.installation.resolve();
  await sync();
  vi.spyOn(wiring.registry, 'spendingTime').mockReturnValue(now + 3_600_000);
  const account = accountWith({ metadata: { namespace: 'red' } });
  const { spentThisMonth } = wiring.registry.objectsOf(account).sums(now, []);
  expect(spentThisMonth).toBe(4_000_000);
});

test('without an election there is none; with one it is for the lease of the operator’s own namespace', () => {
  expect(wiringOf({ leaderElect: 'false' }).wiring.election).toBeUndefined();
  expect(wiringOf({}).wiring.election?.leaseRemainingMs()).toBe(0);
});

test('the lease is asked for by connections of its own, where there are some', async () => {
  const asked: string[] = [];
  const leaseTransport: Transport = async ({ path }) => {
    asked.push(path);
    throw new TransportError('no answer', { sent: false });
  };
  const { wiring, clock } = wiringOf({}, { leaseTransport });
  const waiting = new AbortController();
  const acquired = wiring.election?.acquire(waiting.signal).catch(() => 'given up');
  await clock.advance(1_000);
  waiting.abort(new Error('enough'));
  expect(await acquired).toBe('given up');
  expect(asked[0]).toContain('/namespaces/gpu-rental-system/leases/');
});

describe('the lease', () => {
  const kindOf = (memory: Wired['memory']) => ({
    kind: memory.kind('leases'),
    namespace: 'gpu-rental-system',
    name: 'gpu-rental-operator',
  });

  test('lasts as long as the flag says', async () => {
    const { wiring, memory, clock } = wiringOf({ leaderElectLeaseDuration: '60s' });
    const acquired = wiring.election?.acquire();
    await clock.advance(1_000);
    await acquired;
    expect(memory.writes.read(kindOf(memory))).toMatchObject({ spec: { leaseDurationSeconds: 60 } });
    expect(wiring.election?.leaseRemainingMs()).toBeGreaterThan(50_000);
    await Promise.all([wiring.election?.release(), clock.advance(1_000)]);
  });

  test('is renewed as often as the flag says, and given up when it could not be for as long as another one says', async () => {
    let isDown = false;
    let writes = 0;
    const { memory: served } = memoryCluster();
    const leaseTransport: Transport = (request) => {
      if (isDown) return Promise.reject(new TransportError('no answer', { sent: false }));
      if (request.method !== 'GET') writes += 1;
      return served.transport(request);
    };
    const flags = {
      ...{ leaderElectLeaseDuration: '60s', leaderElectRenewDeadline: '40s' },
      leaderElectRetryPeriod: '10s',
    };
    const { wiring, clock } = wiringOf(flags, { leaseTransport });
    const address = { kind: served.kind('namespaces'), namespace: undefined, name: 'gpu-rental-system' };
    served.writes.create(address, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: address.name } });
    const acquired = wiring.election?.acquire();
    await clock.advance(1_000);
    await acquired;
    writes = 0;
    await clock.advance(100_000);
    expect(writes).toBe(10);
    isDown = true;
    await clock.advance(30_000);
    expect(wiring.election?.lost.aborted).toBe(false);
    await clock.advance(25_000);
    expect(wiring.election?.lost.aborted).toBe(true);
  });

  test.each([
    ['a former process of this very pod is taken over at once', 'pod-a_uid_before', true],
    ['a process of another pod is not', 'pod-b_uid_before', false],
    ['a process of a pod whose name only begins alike is not', 'pod-a_uid2_before', false],
  ])('of %s', async (_, holderIdentity, leads) => {
    const { wiring, memory, clock } = wiringOf({}, { pod: 'pod-a_uid' });
    const renewTime = '2026-11-20T12:00:00.000000Z';
    const spec = { holderIdentity, leaseDurationSeconds: 15, acquireTime: renewTime, renewTime };
    const metadata = { name: 'gpu-rental-operator' };
    const lease = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata, spec };
    memory.writes.create(kindOf(memory), lease);
    const waiting = new AbortController();
    const acquired = wiring.election?.acquire(waiting.signal).catch(() => {});
    await clock.advance(2_000);
    expect((wiring.election?.leaseRemainingMs() ?? 0) > 0).toBe(leads);
    waiting.abort(new Error('enough'));
    await acquired;
    await Promise.all([wiring.election?.release(), clock.advance(1_000)]);
  });
});

test('no account is polled more often than the flag allows', () => {
  const { wiring } = wiringOf({ minPollInterval: '7s' });
  const account = accountWith({ spec: { pollInterval: '1s' } });
  const open = vi.spyOn(LoginConnections.prototype, 'open');
  wiring.registry.connect(account, PROVEN);
  expect(open).toHaveBeenCalledWith(PROVEN.login, expect.objectContaining({ pollIntervalMs: 7_000 }));
  open.mockRestore();
});
