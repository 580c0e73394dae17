import { expect, test } from 'vitest';
import { createLeaseApi, type LeaseNetwork } from '../../test/builders/lease-api.ts';
import { createVirtualClock } from '../../test/builders/virtual-clock.ts';
import { silentLogger } from '../lib/logger.ts';
import { seededRandom } from '../lib/random.ts';
import { createLeaderElection } from './lease/leader-election.ts';
import { createManager, type LeaderTask, type SyncedSource } from './manager.ts';

function setUp({
  elected = true,
  network = { down: false } as LeaseNetwork,
  tasks = [] as LeaderTask[],
  lastContactAt = (): number | undefined => undefined,
} = {}) {
  const clock = createVirtualClock();
  const api = createLeaseApi();
  const steps: string[] = [];
  const syncs: Record<string, () => void> = {};
  const source = (name: string): SyncedSource => ({
    name,
    start: () => void steps.push(`start ${name}`),
    stop: async () => void steps.push(`stop ${name}`),
    synced: new Promise((resolve) => {
      syncs[name] = resolve;
    }),
    health: () => ({ lastContactAt: lastContactAt() }),
  });
  const task = (name: string): LeaderTask => ({
    name,
    start: () => void steps.push(`start ${name}`),
    stop: async () =>
      void steps.push(`stop ${name}, held by ${api.lease()?.spec?.holderIdentity ?? 'nobody'}`),
  });
  const election = createLeaderElection({
    client: api.clientOf(network),
    lease: { namespace: 'ns', name: 'lease' },
    identity: 'me',
    clock,
    random: seededRandom(1),
    log: silentLogger,
  });
  const manager = createManager({
    sources: [source('pods'), source('nodes')],
    tasks: [task('feed'), task('controller'), ...tasks],
    ...(elected && { election }),
    clock,
    log: silentLogger,
  });
  return { clock, api, manager, steps, syncs, election };
}

test('waits for sources before it acquires the lease, and for the lease before it runs tasks', async () => {
  const { clock, api, manager, steps, syncs } = setUp();
  const ended = manager.run();
  await clock.settle();
  expect(steps).toEqual(['start pods', 'start nodes']);
  syncs.pods?.();
  await clock.settle();
  expect(api.lease()).toBeUndefined();
  expect(manager.isReady()).toBe(false);
  syncs.nodes?.();
  await clock.settle();
  expect({ ready: manager.isReady(), leading: manager.isLeading() }).toEqual({ ready: true, leading: true });
  expect(steps.slice(2)).toEqual(['start feed', 'start controller']);

  await manager.stop();
  expect(await ended).toBe('stopped');
  expect(steps.slice(4)).toEqual([
    'stop controller, held by me',
    'stop feed, held by me',
    'stop pods',
    'stop nodes',
  ]);
  expect(api.lease()?.spec?.holderIdentity).toBe('');
});

test('a follower is ready, and ends without having led', async () => {
  const { clock, api, manager, steps, syncs } = setUp();
  const other = createLeaderElection({
    client: api.clientOf(),
    lease: { namespace: 'ns', name: 'lease' },
    identity: 'other',
    clock,
    random: seededRandom(2),
    log: silentLogger,
  });
  await other.acquire();
  const ended = manager.run();
  syncs.pods?.();
  syncs.nodes?.();
  await clock.advance(60_000);
  expect({ ready: manager.isReady(), leading: manager.isLeading() }).toEqual({ ready: true, leading: false });
  await manager.stop();
  expect(await ended).toBe('stopped');
  expect(steps).toEqual(['start pods', 'start nodes', 'stop pods', 'stop nodes']);
  expect(api.lease()?.spec?.holderIdentity).toBe('other');
  await other.release();
});

test('scenario 56: a lost lease ends everything', async () => {
  const network = { down: false };
  const { clock, manager, steps, syncs } = setUp({ network });
  const ended = manager.run();
  syncs.pods?.();
  syncs.nodes?.();
  await clock.settle();
  network.down = true;
  await clock.advance(12_000);
  expect(await ended).toBe('lost');
  expect(steps.slice(4).map((step) => step.split(',')[0])).toEqual([
    'stop controller',
    'stop feed',
    'stop pods',
    'stop nodes',
  ]);
});

test('a source that is never complete is named', async () => {
  const { clock, manager, steps, syncs } = setUp();
  const ended = manager.run().catch((error: unknown) => error);
  syncs.pods?.();
  await clock.advance(120_000);
  expect(await ended).toMatchObject({ message: 'No complete list of nodes within 120000 ms' });
  expect(steps.slice(2)).toEqual(['stop pods', 'stop nodes']);
});

test('waits for sources as long as the API server goes on, ten minutes at most', async () => {
  const heard = { at: 0 };
  const { clock, manager, syncs } = setUp({ lastContactAt: () => heard.at });
  const ended = manager.run().catch((error: unknown) => error);
  for (let minute = 0; minute < 9; minute++) {
    await clock.advance(60_000);
    heard.at = clock.now();
  }
  syncs.pods?.();
  await clock.advance(60_000);
  expect(await ended).toMatchObject({ message: 'No complete list of nodes within 600000 ms' });
});

test('a stop while sources are not complete yet waits for none of them', async () => {
  const { clock, manager, steps } = setUp();
  const ended = manager.run();
  await clock.settle();
  const stopped = manager.stop();
  await clock.advance(1);
  await stopped;
  expect(await ended).toBe('stopped');
  expect(steps.slice(2)).toEqual(['stop pods', 'stop nodes']);
});

test('it lives once, however often it is asked to, and its stop is over when it has ended', async () => {
  const ending = Promise.withResolvers<void>();
  const slow: LeaderTask = { name: 'slow', start() {}, stop: () => ending.promise };
  const { clock, manager, steps, syncs } = setUp({ elected: false, tasks: [slow] });
  const ended = [manager.run(), manager.run()];
  syncs.pods?.();
  syncs.nodes?.();
  await clock.settle();
  expect(steps).toEqual(['start pods', 'start nodes', 'start feed', 'start controller']);
  let isStopped = false;
  const stopped = manager.stop().then(() => {
    isStopped = true;
  });
  await clock.settle();
  expect(isStopped).toBe(false);
  ending.resolve();
  await stopped;
  expect(await Promise.all(ended)).toEqual(['stopped', 'stopped']);
});

test('a task that cannot start ends the others and gives the lease up', async () => {
  const failing: LeaderTask = {
    name: 'bad',
    start: () => Promise.reject(new Error('no port')),
    stop: () => Promise.reject(new Error('never started')),
  };
  const { clock, api, manager, steps, syncs } = setUp({ tasks: [failing] });
  const ended = manager.run().catch((error: unknown) => error);
  syncs.pods?.();
  syncs.nodes?.();
  await clock.settle();
  expect(await ended).toMatchObject({ message: 'no port' });
  expect(steps.slice(4)).toEqual([
    'stop controller, held by me',
    'stop feed, held by me',
    'stop pods',
    'stop nodes',
  ]);
  expect(api.lease()?.spec?.holderIdentity).toBe('');
});

test('a lease that is lost while a task starts starts no other, and that one is stopped', async () => {
  const started = Promise.withResolvers<void>();
  const stopped: string[] = [];
  const slow: LeaderTask = {
    name: 'slow',
    start: () => started.promise,
    stop: () => void stopped.push('slow'),
  };
  const late: LeaderTask = {
    name: 'late',
    start: () => void stopped.push('never to be started'),
    stop: () => {},
  };
  const network = { down: false };
  const { clock, manager, syncs } = setUp({ network, tasks: [slow, late] });
  const ended = manager.run();
  syncs.pods?.();
  syncs.nodes?.();
  await clock.settle();
  network.down = true;
  await clock.advance(12_000);
  started.resolve();
  expect(await ended).toBe('lost');
  expect(stopped).toEqual(['slow']);
});

test('a task that cannot start is stopped: it may have begun', async () => {
  const stopped: string[] = [];
  const half: LeaderTask = {
    name: 'half',
    start: () => Promise.reject(new Error('no port')),
    stop: () => void stopped.push('half'),
  };
  const { clock, manager, syncs } = setUp({ tasks: [half] });
  const ended = manager.run().catch(() => 'failed');
  syncs.pods?.();
  syncs.nodes?.();
  await clock.settle();
  expect([await ended, stopped]).toEqual(['failed', ['half']]);
});

test('does not report itself as leader any more while its tasks end', async () => {
  const seen: boolean[] = [];
  const task: LeaderTask = {
    name: 'asks',
    start: () => void seen.push(manager.isLeading()),
    stop: () => void seen.push(manager.isLeading()),
  };
  const { clock, manager, syncs } = setUp({ tasks: [task] });
  void manager.run();
  syncs.pods?.();
  syncs.nodes?.();
  await clock.settle();
  await manager.stop();
  expect(seen).toEqual([true, false]);
});

test('without an election it leads as soon as its sources are complete', async () => {
  const { clock, api, manager, syncs } = setUp({ elected: false });
  void manager.run();
  syncs.pods?.();
  syncs.nodes?.();
  await clock.settle();
  expect(manager.isLeading()).toBe(true);
  expect(api.writes()).toBe(0);
  await manager.stop();
});
