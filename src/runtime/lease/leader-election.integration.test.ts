import { afterAll, beforeAll, expect, test } from 'vitest';
import { until } from '../../../test/builders/until.ts';
import { eventually, openWidgetClient } from '../../../test/builders/widgets.ts';
import { sharedCluster } from '../../../test/cluster/shared-cluster.ts';
import { systemClock } from '../../lib/clock.ts';
import { type LogFields, silentLogger } from '../../lib/logger.ts';
import { systemRandom } from '../../lib/random.ts';
import { createEventRecorder } from '../events.ts';
import { createLeaderElection, type LeaderElection } from './leader-election.ts';

const cluster = sharedCluster();
let namespace = '';
beforeAll(async () => {
  namespace = await cluster.createNamespace('election');
});
afterAll(() => cluster.disconnect());

const times = { leaseDurationMs: 4000, renewDeadlineMs: 3000, retryPeriodMs: 500 };
/** A lease duration longer than a test. */
const LONG = { ...times, leaseDurationMs: 600_000, renewDeadlineMs: 500_000 };

/** Returns a candidate whose network can be cut, as if its machine had failed. */
function candidate(name: string, identity: string, lasting = times) {
  let dead = false;
  const widgetClient = openWidgetClient(cluster, {
    intercept: (request, send) => (dead ? new Promise(() => {}) : send(request)),
  });
  const client = widgetClient.client;
  const parts = { client, clock: systemClock, random: systemRandom, log: silentLogger };
  const events = createEventRecorder({ ...parts, controller: 'gpurental.dev/operator', instance: identity });
  const election: LeaderElection = createLeaderElection({
    client,
    events,
    lease: { namespace, name },
    identity,
    clock: systemClock,
    random: systemRandom,
    log: silentLogger,
    ...lasting,
  });
  return {
    election,
    events,
    close: () => widgetClient.close(),
    die() {
      dead = true;
    },
  };
}

test('of two candidates one leads, and a release hands over at once', async () => {
  const one = candidate('handover', 'one', LONG);
  const two = candidate('handover', 'two', LONG);
  await one.election.acquire();
  let twoLeads = false;
  const waiting = two.election.acquire().then(() => {
    twoLeads = true;
  });
  await eventually('two has looked', () => two.election.holder() === 'one');
  await new Promise((resolve) => setTimeout(resolve, 1500));
  expect(twoLeads).toBe(false);
  const lessThanASecondOld = () => one.election.leaseRemainingMs() > LONG.leaseDurationMs - 1000;
  await eventually('it was renewed meanwhile', lessThanASecondOld);
  expect(two.election.leaseRemainingMs()).toBe(0);

  await one.election.release();
  await waiting;
  expect(one.election.lost.aborted).toBe(true);
  expect(two.election.isLeader()).toBe(true);
  await two.election.release();
  await Promise.all([one.close(), two.close()]);
});

/** Returns the events about that Lease, in order, with their type. */
async function eventsOn(lease: string): Promise<readonly string[]> {
  const path = `/apis/events.k8s.io/v1/namespaces/${namespace}/events`;
  const { body } = await cluster.admin.request({ method: 'GET', path });
  const { items } = body as { readonly items: readonly LeaseEvent[] };
  return items
    .filter(({ regarding }) => regarding.kind === 'Lease' && regarding.name === lease)
    .toSorted((a, b) => a.eventTime.localeCompare(b.eventTime))
    .map(({ type, reason, note }) => `${type} ${reason} ${note}`);
}

interface LeaseEvent {
  readonly type: string;
  readonly reason: string;
  readonly note: string;
  readonly eventTime: string;
  readonly regarding: { readonly kind: string; readonly name: string };
}

test('scenario 56: a leader that cannot renew stops leading before the other begins, whose event says since when (P3)', async () => {
  const one = candidate('crash', 'one');
  const two = candidate('crash', 'two');
  await one.election.acquire();
  let endedAt = 0;
  one.election.lost.addEventListener('abort', () => {
    endedAt = performance.now();
  });
  const waiting = two.election.acquire();
  await eventually('two has looked', () => two.election.holder() === 'one');
  const begun = performance.now();
  one.die();
  await waiting;
  const tookOverMs = performance.now() - begun;
  expect(endedAt).toBeGreaterThan(0);
  expect(endedAt).toBeLessThan(performance.now());
  expect(tookOverMs).toBeLessThan(2 * times.leaseDurationMs);
  await two.events.flush();
  expect(await eventsOn('crash')).toContainEqual(
    expect.stringMatching(
      /^Normal LeaderElected two leads\. one renewed the lease [45] s ago for the last time\.$/,
    ),
  );
  await two.election.release();
  await Promise.all([one.close(), two.close()]);
});

test('scenario 57: a lease deleted by hand is made again by its leader', async () => {
  const one = candidate('deleted', 'one');
  await one.election.acquire();
  const path = `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases/deleted`;
  await cluster.admin.request({ method: 'DELETE', path });
  const isBack = async () =>
    (await cluster.admin.request({ method: 'GET', path, accept: [404] })).status === 200;
  await until('the lease is back', isBack);
  expect(one.election.isLeader()).toBe(true);
  await one.election.release();
  await one.close();
});

test('scenario 57: a leader whose lease was given to another by hand stops at once, with one event (P3)', async () => {
  const one = candidate('stolen', 'one', LONG);
  await one.election.acquire();
  const path = `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases/stolen`;
  await cluster.admin.request({ method: 'PATCH', path, body: { spec: { holderIdentity: 'thief' } } });
  await eventually('it has stopped', () => one.election.lost.aborted);
  expect(one.election.leaseRemainingMs()).toBe(0);
  await one.events.flush();
  expect(await eventsOn('stolen')).toEqual([
    'Normal LeaderElected one leads.',
    expect.stringMatching(
      /^Warning LeaderLost one lost the lease \d s after its last renewal: thief holds it\. It ends/,
    ),
  ]);
  await one.close();
});

test('a namespace that does not exist is named as what keeps everybody from leading', async () => {
  const { client, close } = openWidgetClient(cluster);
  const lease = { namespace: 'nowhere', name: 'lease' };
  const told: unknown[] = [];
  const log = {
    ...silentLogger,
    warn: (_message: string, fields?: LogFields) => told.push(fields?.['error']),
  };
  const given = { client, lease, identity: 'one', clock: systemClock, random: systemRandom, log, ...times };
  const giveUp = new AbortController();
  const acquiring = createLeaderElection(given).acquire(giveUp.signal);
  await eventually('it is told', () => told.length > 0);
  giveUp.abort(new Error('enough'));
  await expect(acquiring).rejects.toThrow('enough');
  expect(String(told[0])).toContain('namespace "nowhere" does not exist');
  await close();
});
