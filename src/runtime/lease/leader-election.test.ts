import { expect, test } from 'vitest';
import { createLeaseApi, type LeaseApi, type LeaseNetwork } from '../../../test/builders/lease-api.ts';
import { createVirtualClock, type VirtualClock } from '../../../test/builders/virtual-clock.ts';
import { sleep } from '../../lib/clock.ts';
import { type LogFields, silentLogger } from '../../lib/logger.ts';
import { seededRandom } from '../../lib/random.ts';
import type { EventFacts } from '../events.ts';
import type { KubeClient } from '../kube/kube-client.ts';
import { KubeError } from '../kube/kube-error.ts';
import type { KubeObject, Resource } from '../kube/kube-object.ts';
import { createLeaderElection, type LeaderElectionOptions } from './leader-election.ts';

interface CandidateOptions extends Partial<LeaderElectionOptions> {
  readonly network?: LeaseNetwork;
}

function candidate(
  api: LeaseApi,
  clock: VirtualClock,
  { network, identity = 'one', ...rest }: CandidateOptions = {},
) {
  const election = createLeaderElection({
    client: api.clientOf(network),
    lease: { namespace: 'ns', name: 'lease' },
    clock,
    random: seededRandom(identity.length),
    log: silentLogger,
    identity,
    ...rest,
  });
  let leads = false;
  return {
    election,
    leads: () => leads,
    acquire: (signal?: AbortSignal) =>
      election.acquire(signal).then(() => {
        leads = true;
      }),
  };
}

/** Returns a client whose requests of one verb take three seconds to arrive. */
function slowly(clock: VirtualClock, client: KubeClient, verb: 'get' | 'replace'): KubeClient {
  const arrival = (sent: 'get' | 'replace') => (sent === verb ? sleep(clock, 3_000) : undefined);
  return {
    ...client,
    async get<T extends KubeObject>(...parameters: Parameters<KubeClient['get']>) {
      await arrival('get');
      return client.get<T>(...parameters);
    },
    async replace<T extends KubeObject>(resource: Resource, object: T) {
      await arrival('replace');
      return client.replace<T>(resource, object);
    },
  };
}

/** Returns a client whose requests are never answered once `network.hangs` is set. */
function hanging(client: KubeClient, network: { readonly hangs: boolean }): KubeClient {
  const answered = () => (network.hangs ? new Promise<never>(() => {}) : undefined);
  return {
    ...client,
    async get<T extends KubeObject>(...parameters: Parameters<KubeClient['get']>) {
      await answered();
      return client.get<T>(...parameters);
    },
    async replace<T extends KubeObject>(resource: Resource, object: T) {
      await answered();
      return client.replace<T>(resource, object);
    },
  };
}

test('the first candidate makes the lease and renews it every two seconds', async () => {
  const clock = createVirtualClock({ startMs: Date.UTC(2026, 10, 20, 10) });
  const api = createLeaseApi();
  const one = candidate(api, clock);
  await one.acquire();
  expect(api.lease()?.spec).toEqual({
    holderIdentity: 'one',
    leaseDurationSeconds: 15,
    acquireTime: '2026-11-20T10:00:00.000000Z',
    renewTime: '2026-11-20T10:00:00.000000Z',
    leaseTransitions: 0,
  });
  expect(one.election.leaseRemainingMs()).toBe(15_000);
  await clock.advance(1000);
  expect(one.election.leaseRemainingMs()).toBe(14_000);
  await clock.advance(9000);
  expect(api.writes()).toBe(6);
  expect(api.lease()?.spec).toMatchObject({
    acquireTime: '2026-11-20T10:00:00.000000Z',
    renewTime: '2026-11-20T10:00:10.000000Z',
    leaseTransitions: 0,
  });
  await one.election.release();
});

test('another takes it only when it has not changed for its duration, on its own clock, whatever the record says', async () => {
  const api = createLeaseApi();
  const skewed = createVirtualClock({ startMs: Date.UTC(2031, 0, 1) });
  const network = { down: false };
  const one = candidate(api, createVirtualClock(), { network });
  await one.acquire();
  const two = candidate(api, skewed, { identity: 'two' });
  void two.acquire();
  await skewed.advance(14_900);
  expect(two.leads()).toBe(false);
  await skewed.advance(4500);
  expect(two.leads()).toBe(true);
  expect(api.lease()?.spec).toMatchObject({ holderIdentity: 'two', leaseTransitions: 1 });
  await two.election.release();
});

test('a process whose predecessor was the holder leads at once, and no other does', async () => {
  const clock = createVirtualClock();
  const api = createLeaseApi();
  const network = { down: false };
  const former = candidate(api, clock, { identity: 'pod_1', network });
  await former.acquire();
  network.down = true;
  const hasEnded = (holder: string): boolean => holder.startsWith('pod_');
  const other = candidate(api, clock, { identity: 'other_1', hasEnded: () => false });
  void other.acquire();
  const next = candidate(api, clock, { identity: 'pod_2', hasEnded });
  void next.acquire();
  await clock.advance(0);
  expect([next.leads(), other.leads()]).toEqual([true, false]);
  expect(api.lease()?.spec).toMatchObject({ holderIdentity: 'pod_2', leaseTransitions: 1 });
  await next.election.release();
});

test('no other candidate leads while the holder renews', async () => {
  const clock = createVirtualClock();
  const api = createLeaseApi();
  const one = candidate(api, clock);
  await one.acquire();
  const two = candidate(api, clock, { identity: 'two' });
  void two.acquire().catch(() => {});
  await clock.advance(300_000);
  expect(two.leads()).toBe(false);
  expect(two.election.holder()).toBe('one');
  await one.election.release();
});

test('a candidate whose reads find no lease takes none that is held', async () => {
  const clock = createVirtualClock();
  const api = createLeaseApi();
  const one = candidate(api, clock);
  await one.acquire();
  const client: KubeClient = { ...api.clientOf(), get: async () => undefined };
  const two = candidate(api, clock, { identity: 'two', client });
  void two.acquire().catch(() => {});
  await clock.advance(60_000);
  expect([one.election.isLeader(), two.leads()]).toEqual([true, false]);
  await one.election.release();
});

test('a candidate that watches renewals sends no request, and leads the moment the lease expires', async () => {
  const clock = createVirtualClock();
  const api = createLeaseApi();
  const network = { down: false };
  const one = candidate(api, clock, { network });
  await one.acquire();
  const two = candidate(api, clock, { identity: 'two', network: { down: false, watch: 'tells' } });
  void two.acquire();
  await clock.advance(10_000);
  const reads = api.reads();
  await clock.advance(300_000);
  expect(api.reads()).toBe(reads);
  network.down = true;
  await clock.advance(14_990);
  expect(two.leads()).toBe(false);
  await clock.advance(20);
  expect(two.leads()).toBe(true);
  await two.election.release();
});

test('a silent watch neither takes the lease from the holder that renews it nor hides that it expired', async () => {
  const clock = createVirtualClock();
  const api = createLeaseApi();
  const network = { down: false };
  const hearing: LeaseNetwork = { down: false, watch: 'tells' };
  const one = candidate(api, clock, { network });
  await one.acquire();
  const two = candidate(api, clock, { identity: 'two', network: hearing });
  void two.acquire();
  await clock.advance(10_000);
  hearing.watch = 'deaf';
  await clock.advance(60_000);
  expect(two.leads()).toBe(false);
  expect(one.election.isLeader()).toBe(true);
  network.down = true;
  await clock.advance(20_000);
  expect(two.leads()).toBe(true);
  await two.election.release();
});

test('scenario 56: the lead ends 10 s after the last renewal, 5 s before another can have it', async () => {
  const clock = createVirtualClock();
  const api = createLeaseApi();
  const network = { down: false };
  const one = candidate(api, clock, { network });
  await one.acquire();
  const two = candidate(api, clock, { identity: 'two' });
  void two.acquire();
  await clock.advance(4000);
  network.down = true;
  await clock.advance(9000);
  expect(one.election.isLeader()).toBe(true);
  expect(one.election.leaseRemainingMs()).toBe(6000);
  await clock.advance(1000);
  expect(one.election.isLeader()).toBe(false);
  expect(one.election.lost.aborted).toBe(true);
  expect(one.election.leaseRemainingMs()).toBe(0);
  expect(two.leads()).toBe(false);
  await clock.advance(15_000);
  expect(two.leads()).toBe(true);
  await two.election.release();
});

test('an outage shorter than the deadline costs nothing', async () => {
  const clock = createVirtualClock();
  const network = { down: false };
  const one = candidate(createLeaseApi(), clock, { network });
  await one.acquire();
  network.down = true;
  await clock.advance(7500);
  network.down = false;
  await clock.advance(5000);
  expect(one.election.isLeader()).toBe(true);
  expect(one.election.leaseRemainingMs()).toBeGreaterThan(13_000);
  await one.election.release();
});

test('a renewal that is never answered is tried again in time, also where it was carried out', async () => {
  const clock = createVirtualClock();
  const network: LeaseNetwork = { down: false };
  const api = createLeaseApi();
  const one = candidate(api, clock, { network });
  await one.acquire();
  network.hangsOnce = true;
  await clock.advance(6_900);
  const writes = api.writes();
  expect(one.election.leaseRemainingMs()).toBe(8_100);
  await clock.advance(100);
  expect(api.writes()).toBe(writes + 1);
  expect(one.election.leaseRemainingMs()).toBe(15_000);
  await one.election.release();
});

test('scenario 55: a machine that was frozen knows at once that its lease may be gone', async () => {
  const clock = createVirtualClock();
  const one = candidate(createLeaseApi(), clock);
  await one.acquire();
  clock.jumpWallClock(60_000);
  expect(one.election.leaseRemainingMs()).toBe(0);
  expect(one.election.isLeader()).toBe(false);
  await clock.advance(2000);
  expect(one.election.lost.aborted).toBe(true);
});

test('scenario 58: a wall clock that is set back does not lengthen the lease', async () => {
  const clock = createVirtualClock();
  const network = { down: false };
  const one = candidate(createLeaseApi(), clock, { network });
  await one.acquire();
  network.down = true;
  clock.jumpWallClock(-3_600_000);
  await clock.advance(4000);
  expect(one.election.leaseRemainingMs()).toBe(11_000);
  await clock.advance(6000);
  expect(one.election.lost.aborted).toBe(true);
});

test('scenario 57: a lease given to another by hand ends the lead with the next look', async () => {
  const clock = createVirtualClock();
  const api = createLeaseApi();
  const one = candidate(api, clock);
  await one.acquire();
  api.edit({ holderIdentity: 'thief' });
  await clock.advance(2000);
  expect(one.election.lost.aborted).toBe(true);
  expect(one.election.holder()).toBe('thief');
});

/** Returns a recorder that keeps the recorded events. */
function keepEvents() {
  const kept: EventFacts[] = [];
  return { kept, events: { record: (event: EventFacts) => void kept.push(event) } };
}

test('P3: a lost lease is one event with its cause, and the next leader one with the time without a leader', async () => {
  const clock = createVirtualClock();
  const api = createLeaseApi();
  const network = { down: false };
  const { kept, events } = keepEvents();
  const gaps: number[] = [];
  const metrics = { leading() {}, ledAfter: (_: string, seconds: number) => void gaps.push(seconds) };
  await candidate(api, clock, { network, events, metrics }).acquire();
  const two = candidate(api, clock, { identity: 'two', events, metrics });
  void two.acquire();
  await clock.advance(4_000);
  network.down = true;
  await clock.advance(20_000);
  expect(two.leads()).toBe(true);
  expect(kept.map(({ type, reason, note }) => `${type} ${reason}: ${note}`)).toEqual([
    'Normal LeaderElected: one leads.',
    expect.stringMatching(
      /^Warning LeaderLost: one lost the lease 10 s after its last renewal: .*Error.*\. It ends, and is started again as a candidate\.$/,
    ),
    expect.stringMatching(
      /^Normal LeaderElected: two leads\. one renewed the lease 1[5-9] s ago for the last time\.$/,
    ),
  ]);
  expect(
    kept.every(({ regarding }) => regarding.kind === 'Lease' && regarding.metadata.name === 'lease'),
  ).toBe(true);
  expect(gaps).toEqual([0, expect.any(Number)]);
  expect(gaps[1]).toBeGreaterThanOrEqual(15);
  await two.election.release();
});

test('P3: a lease that its leader released is no loss, and its next leader names the time since', async () => {
  const clock = createVirtualClock();
  const api = createLeaseApi();
  const { kept, events } = keepEvents();
  const one = candidate(api, clock, { events });
  await one.acquire();
  await one.election.release();
  await clock.advance(7_000);
  const two = candidate(api, clock, { identity: 'two', events });
  await two.acquire();
  expect(kept.map(({ reason, note }) => `${reason}: ${note}`)).toEqual([
    'LeaderElected: one leads.',
    'LeaderElected: two leads. The lease was released 7 s ago.',
  ]);
  await two.election.release();
});

test('P3: a lost lease is logged with its cause and the time since its last renewal', async () => {
  const errors: LogFields[] = [];
  const log = {
    ...silentLogger,
    error: (message: string, fields: LogFields = {}) => {
      if (message === 'Lost the lease') errors.push(fields);
    },
  };
  const losing = async (lose: (api: LeaseApi, network: LeaseNetwork) => void, ms: number) => {
    const clock = createVirtualClock();
    const api = createLeaseApi();
    const network = { down: false };
    await candidate(api, clock, { network, log }).acquire();
    lose(api, network);
    await clock.advance(ms);
  };
  await losing((api) => api.edit({ holderIdentity: 'thief' }), 2_000);
  await losing((_, network) => {
    network.down = true;
  }, 15_000);
  expect(errors).toEqual([
    { holder: 'thief', cause: 'thief holds it', seconds: 2 },
    { holder: 'one', cause: expect.stringMatching(/Error/), seconds: 10 },
  ]);
});

test('scenario 57: a lease deleted by hand is made again', async () => {
  const clock = createVirtualClock();
  const api = createLeaseApi();
  const one = candidate(api, clock);
  await one.acquire();
  api.remove();
  await clock.advance(2000);
  expect(api.lease()?.spec).toMatchObject({ holderIdentity: 'one' });
  expect(one.election.isLeader()).toBe(true);
  await one.election.release();
});

test('a candidate whose first request fails does not lead before one succeeds', async () => {
  const clock = createVirtualClock();
  const api = createLeaseApi();
  const network: LeaseNetwork = { down: true };
  const one = candidate(api, clock, { network });
  const acquired = one.acquire();
  await clock.advance(20_000);
  expect({ leads: one.leads(), leaseMs: one.election.leaseRemainingMs() }).toEqual({
    leads: false,
    leaseMs: 0,
  });
  network.down = false;
  await clock.advance(5_000);
  await acquired;
  expect(api.lease()?.spec).toMatchObject({ holderIdentity: 'one' });
  await one.election.release();
});

test('logs a missing namespace by its name, once a minute, and waits for it', async () => {
  const clock = createVirtualClock();
  const api = createLeaseApi();
  const network: LeaseNetwork = { down: false, noNamespace: true };
  const told: unknown[] = [];
  const log = {
    ...silentLogger,
    warn: (_message: string, fields?: LogFields) => told.push(fields?.['error']),
  };
  const one = candidate(api, clock, { network, log });
  const acquired = one.acquire();
  await clock.advance(59_000);
  expect(told.map(String)).toEqual([
    'LeaseNamespaceMissing: namespace "ns" does not exist, so no replica can lead; ' +
      "create it, or name the operator's own namespace by --namespace",
  ]);
  await clock.advance(60_000);
  expect(told).toHaveLength(2);
  network.noNamespace = false;
  await clock.advance(10_000);
  await acquired;
  expect(one.leads()).toBe(true);
  await one.election.release();
});

test('release clears the holder, and the next candidate does not wait for its end', async () => {
  const clock = createVirtualClock();
  const api = createLeaseApi();
  const one = candidate(api, clock);
  await one.acquire();
  const two = candidate(api, clock, { identity: 'two' });
  void two.acquire();
  await clock.advance(10_000);
  await one.election.release();
  expect(api.lease()?.spec).toMatchObject({ holderIdentity: '', leaseDurationSeconds: 1 });
  expect(one.election.holder()).toBeUndefined();
  await clock.advance(4400);
  expect(two.leads()).toBe(true);
  await two.election.release();
});

test('a candidate that is aborted writes nothing', async () => {
  const clock = createVirtualClock();
  const api = createLeaseApi();
  const one = candidate(api, clock);
  await one.acquire();
  const giveUp = new AbortController();
  const two = candidate(api, clock, { identity: 'two' });
  const ended = two.acquire(giveUp.signal).catch((error: unknown) => error);
  await clock.advance(3000);
  giveUp.abort(new Error('shut down'));
  expect(await ended).toMatchObject({ message: 'shut down' });
  const writes = api.writes();
  await two.election.release();
  expect(api.writes()).toBe(writes);
  await one.election.release();
});

test.each([
  [{ leaseDurationMs: 10_000, renewDeadlineMs: 10_000 }, 'lease duration must be greater'],
  [{ renewDeadlineMs: 2000, retryPeriodMs: 2000 }, 'renew deadline must be greater'],
])('times that cannot work are refused: %o', (times, message) => {
  expect(() => candidate(createLeaseApi(), createVirtualClock(), times)).toThrow(message);
});

test('what is left of a lease counts from before its renewal was sent, however late the answer comes', async () => {
  const clock = createVirtualClock();
  const api = createLeaseApi();
  const slow = slowly(clock, api.clientOf(), 'replace');
  const one = candidate(api, clock, { client: slow });
  await one.acquire();
  await clock.advance(2_000);
  await clock.advance(3_000);
  expect(one.election.leaseRemainingMs()).toBe(12_000);
  const released = one.election.release();
  await clock.advance(10_000);
  await released;
});

test('renewals that are refused again and again end the lead in time, although the record still names its holder', async () => {
  const clock = createVirtualClock();
  const api = createLeaseApi();
  const client = api.clientOf();
  let refusing = false;
  const interfered: KubeClient = {
    ...client,
    async replace<T extends KubeObject>(resource: Resource, object: T) {
      if (refusing) api.edit({});
      return client.replace<T>(resource, object);
    },
  };
  const one = candidate(api, clock, { client: interfered });
  await one.acquire();
  refusing = true;
  await clock.advance(9_000);
  expect(one.election.leaseRemainingMs()).toBe(6_000);
  expect(one.election.holder()).toBe('one');
  await clock.advance(1_000);
  expect(one.election.lost.aborted).toBe(true);
});

test('release never frees the lease of another, who took it while a renewal was under way', async () => {
  const clock = createVirtualClock();
  const api = createLeaseApi();
  const one = candidate(api, clock, { client: slowly(clock, api.clientOf(), 'get') });
  const leading = one.acquire();
  await clock.advance(3_000);
  await leading;
  api.edit({ holderIdentity: 'thief' });
  await clock.advance(2_500);
  const released = one.election.release();
  await clock.advance(10_000);
  await released;
  expect(api.lease()?.spec).toMatchObject({ holderIdentity: 'thief' });
});

test('release waits for the renewal that is under way, so that the lease is free after it', async () => {
  const clock = createVirtualClock();
  const api = createLeaseApi();
  const one = candidate(api, clock, { client: slowly(clock, api.clientOf(), 'replace') });
  await one.acquire();
  await clock.advance(2_500);
  const released = one.election.release();
  await clock.advance(10_000);
  await released;
  expect(api.lease()?.spec).toMatchObject({ holderIdentity: '' });
});

test('who has lost the lead writes nothing more', async () => {
  const clock = createVirtualClock();
  const api = createLeaseApi();
  const network = { down: false };
  const one = candidate(api, clock, { network });
  await one.acquire();
  network.down = true;
  await clock.advance(10_000);
  expect(one.election.lost.aborted).toBe(true);
  network.down = false;
  const writes = api.writes();
  await one.election.release();
  expect(api.writes()).toBe(writes);
});

test('a candidate waits as long as the record of the holder says, whatever it would ask for itself', async () => {
  const clock = createVirtualClock();
  const api = createLeaseApi();
  const network = { down: false };
  const one = candidate(api, clock, { network, leaseDurationMs: 60_000 });
  await one.acquire();
  network.down = true;
  const two = candidate(api, clock, { identity: 'two' });
  void two.acquire();
  await clock.advance(59_000);
  expect(two.leads()).toBe(false);
  await clock.advance(6_000);
  expect(two.leads()).toBe(true);
  await two.election.release();
});

test('a lead whose renewals are never answered ends 10 s after the last one that was', async () => {
  const clock = createVirtualClock();
  const network = { hangs: false };
  const api = createLeaseApi();
  const one = candidate(api, clock, { client: hanging(api.clientOf(), network) });
  await one.acquire();
  await clock.advance(4_000);
  network.hangs = true;
  await clock.advance(9_990);
  expect(one.election.lost.aborted).toBe(false);
  await clock.advance(10);
  expect(one.election.lost.aborted).toBe(true);
});

test('release does not wait for an API server that does not answer', async () => {
  const clock = createVirtualClock();
  const network = { hangs: false };
  const api = createLeaseApi();
  const one = candidate(api, clock, { client: hanging(api.clientOf(), network) });
  await one.acquire();
  network.hangs = true;
  let released = false;
  void one.election.release().then(() => {
    released = true;
  });
  await clock.advance(5_000);
  expect(released).toBe(true);
});

test('a candidate that sees in the watch that the lease is free leads at that moment', async () => {
  const clock = createVirtualClock();
  const api = createLeaseApi();
  const one = candidate(api, clock);
  await one.acquire();
  const two = candidate(api, clock, { identity: 'two', network: { down: false, watch: 'tells' } });
  void two.acquire();
  await clock.advance(10_000);
  await one.election.release();
  await clock.advance(0);
  expect(two.leads()).toBe(true);
  await two.election.release();
});

test('who leads listens no more, and leaves the connection to its renewals', async () => {
  const clock = createVirtualClock();
  const api = createLeaseApi();
  const network = { down: false };
  const one = candidate(api, clock, { network });
  await one.acquire();
  const client = api.clientOf({ down: false, watch: 'tells' });
  const listening: (AbortSignal | undefined)[] = [];
  const stream: KubeClient['stream'] = (resource, request) => {
    listening.push(request.signal);
    return client.stream(resource, request);
  };
  const two = candidate(api, clock, { identity: 'two', client: { ...client, stream } });
  void two.acquire();
  network.down = true;
  await clock.advance(20_000);
  expect(two.leads()).toBe(true);
  expect(listening.map((signal) => signal?.aborted)).toEqual([true]);
  await two.election.release();
});

test('a candidate that may not listen to the lease does not go on to ask for that', async () => {
  const clock = createVirtualClock();
  const api = createLeaseApi();
  const one = candidate(api, clock);
  await one.acquire();
  let asked = 0;
  const stream: KubeClient['stream'] = () => {
    asked += 1;
    const forbidden = { kind: 'forbidden', status: 403, reason: 'Forbidden', outcome: 'refused' } as const;
    return Promise.reject(new KubeError('no', forbidden));
  };
  const two = candidate(api, clock, { identity: 'two', client: { ...api.clientOf(), stream } });
  void two.acquire();
  await clock.advance(60_000);
  expect([asked, two.leads()]).toEqual([1, false]);
  await one.election.release();
  await clock.advance(5_000);
  expect(two.leads()).toBe(true);
  await two.election.release();
});
