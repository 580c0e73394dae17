import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  eventually,
  installWidgets,
  openWidgetClient,
  type Widget,
  widget,
  widgets,
} from '../../test/builders/widgets.ts';
import { type Cluster, startCluster } from '../../test/cluster/cluster.ts';
import { systemClock } from '../lib/clock.ts';
import { silentLogger } from '../lib/logger.ts';
import { systemRandom } from '../lib/random.ts';
import { createLeaderElection } from './lease/leader-election.ts';
import { createInformer } from './list-watch/informer.ts';

/** A cluster of its own, because the test stops its API server and compacts its etcd. */
let cluster: Cluster;
beforeAll(async () => {
  cluster = await startCluster();
  if (cluster.apiServer) await installWidgets(cluster);
}, 120_000);
afterAll(() => cluster.stop());

const env = { clock: systemClock, random: systemRandom, log: silentLogger };

test('scenarios 42 and 51: the API server goes and comes back with its history compacted, and nothing is lost', async ({
  skip,
}) => {
  const { apiServer } = cluster;
  if (!apiServer) return skip('this API server cannot be taken away');
  const namespace = await cluster.createNamespace('restart');
  const { client, requests, close } = openWidgetClient(cluster);
  for (const name of ['goes', 'stays']) await client.create(widgets, widget(namespace, name));
  const informer = createInformer<Widget>({ ...env, client, resource: widgets });
  const told: string[] = [];
  informer.onChange((change) => told.push(`${change.type} ${change.object.metadata.name}`));
  informer.start();
  await informer.synced;

  await apiServer.stop();
  await eventually('the failure shows', () => informer.health().failure !== undefined);
  expect(informer.list()).toHaveLength(2);
  await apiServer.start();
  const other = openWidgetClient(cluster);
  await other.client.delete(widgets, { namespace, name: 'goes' });
  await other.client.create(widgets, widget(namespace, 'comes'));
  await apiServer.compactEtcd();
  await apiServer.restart();

  await eventually('the copy converges', () => told.includes('added comes') && told.includes('deleted goes'));
  expect(
    informer
      .list()
      .map((object) => object.metadata.name)
      .toSorted(),
  ).toEqual(['comes', 'stays']);
  expect(told.toSorted()).toEqual(['added comes', 'added goes', 'added stays', 'deleted goes']);
  expect(requests.length).toBeLessThan(60);
  await informer.stop();
  await close();
  await other.close();
});

test('scenario 43: a page that expires under a list makes it begin again, and the deletion between is noticed', async ({
  skip,
}) => {
  const { apiServer } = cluster;
  if (!apiServer) return skip('this API server cannot be taken away');
  const namespace = await cluster.createNamespace('pages');
  const admin = openWidgetClient(cluster);
  const names = Array.from({ length: 501 }, (_, at) => `w${String(at).padStart(3, '0')}`);
  for (let at = 0; at < names.length; at += 50) {
    await Promise.all(
      names.slice(at, at + 50).map((name) => admin.client.create(widgets, widget(namespace, name))),
    );
  }
  let expired = false;
  const { client, requests, close } = openWidgetClient(cluster, {
    intercept: async (request, send) => {
      if (!expired && request.path.includes('continue=')) {
        expired = true;
        await admin.client.delete(widgets, { namespace, name: 'w000' });
        await apiServer.compactEtcd();
        await apiServer.restart();
      }
      return send(request);
    },
  });
  const listed = await client.list(widgets, { namespace });
  expect(listed.items.map((object) => object.metadata.name)).toEqual(names.slice(1));
  expect(requests.filter((request) => !request.path.includes('continue='))).toHaveLength(2);
  await close();
  await admin.close();
});

test('a leader gives up within its deadline when the API server is gone, before another could lead', async ({
  skip,
}) => {
  const { apiServer } = cluster;
  if (!apiServer) return skip('this API server cannot be taken away');
  const namespace = await cluster.createNamespace('lease');
  const { client, close } = openWidgetClient(cluster);
  const lease = { namespace, name: 'runtime' };
  const times = { leaseDurationMs: 9000, renewDeadlineMs: 5000, retryPeriodMs: 500 };
  const leader = createLeaderElection({ ...env, client, lease, identity: 'one', ...times });
  await leader.acquire();
  await apiServer.stop();
  const begun = performance.now();
  await eventually('the lease is lost', () => leader.lost.aborted);
  expect(performance.now() - begun).toBeLessThan(times.leaseDurationMs);
  expect(leader.leaseRemainingMs()).toBe(0);
  await apiServer.start();

  const again = createLeaderElection({ ...env, client, lease, identity: 'two', ...times });
  await again.acquire();
  expect(again.isLeader()).toBe(true);
  await again.release();
  await close();
});
