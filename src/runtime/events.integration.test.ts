import { afterAll, beforeAll, expect, test } from 'vitest';
import { until } from '../../test/builders/until.ts';
import { createVirtualClock } from '../../test/builders/virtual-clock.ts';
import {
  installWidgets,
  openWidgetClient,
  type Widget,
  widget,
  widgets,
} from '../../test/builders/widgets.ts';
import { sharedCluster } from '../../test/cluster/shared-cluster.ts';
import { systemClock } from '../lib/clock.ts';
import { type LogFields, type Logger, silentLogger } from '../lib/logger.ts';
import { systemRandom } from '../lib/random.ts';
import { createEventRecorder } from './events.ts';
import { eventResource } from './kube/core-resources.ts';
import type { KubeObject } from './kube/kube-object.ts';

interface Event extends KubeObject {
  readonly note?: string;
  readonly reason?: string;
  readonly series?: { readonly count: number; readonly lastObservedTime: string };
  readonly regarding?: { readonly uid?: string };
}

const cluster = sharedCluster();
const { client, close } = openWidgetClient(cluster);
beforeAll(() => installWidgets(cluster));
afterAll(async () => {
  await close();
  await cluster.disconnect();
});

function collectingLogger(lines: unknown[]): Logger {
  const keep = (message: string, fields?: LogFields) => void lines.push([message, fields]);
  return { ...silentLogger, warn: keep, error: keep, child: () => collectingLogger(lines) };
}

function recorder(lines: unknown[] = [], clock = systemClock) {
  return createEventRecorder({
    client,
    controller: 'runtime.test/operator',
    instance: `pod-${'x'.repeat(200)}`,
    clock,
    random: systemRandom,
    log: collectingLogger(lines),
  });
}

const eventsOf = async (namespace: string): Promise<readonly Event[]> =>
  (await client.list<Event>(eventResource, { namespace })).items;

test('equal events become a series whose count the API server shows, and a note of any length is taken', async () => {
  const namespace = await cluster.createNamespace('events');
  const regarding = await client.create<Widget>(widgets, widget(namespace, 'subject'));
  const lines: unknown[] = [];
  const events = recorder(lines);
  const event = {
    regarding,
    type: 'Warning',
    reason: 'PriceCapExceeded',
    action: 'Renting',
    note: '💸'.repeat(500),
  } as const;
  for (let time = 0; time < 5; time++) events.record(event);
  events.record({
    ...event,
    type: 'Normal',
    reason: 'InstanceRented',
    note: 'Rented offer 7',
    related: regarding,
  });
  await events.flush();
  const found = await eventsOf(namespace);
  expect(lines).toEqual([]);
  expect(found).toHaveLength(2);
  const series = found.find((one) => one.reason === 'PriceCapExceeded');
  expect(series?.series?.count).toBe(5);
  expect(series?.regarding?.uid).toBe(regarding.metadata.uid);
  expect(Buffer.byteLength(series?.note ?? '')).toBeLessThanOrEqual(1024);
  expect(series?.note?.endsWith('💸…')).toBe(true);
  expect(found.find((one) => one.reason === 'InstanceRented')?.series).toBeUndefined();
  const shown = await cluster.kubectl(['get', 'events', '-n', namespace]);
  expect(shown).toContain('PriceCapExceeded');
});

test('in a terminating namespace an event is dropped without a word', async () => {
  const namespace = await cluster.createNamespace('events');
  const held = widget(namespace, 'held');
  const regarding = await client.create<Widget>(widgets, {
    ...held,
    metadata: { ...held.metadata, finalizers: ['runtime.test/hold'] },
  });
  await cluster.admin.request({ method: 'DELETE', path: `/api/v1/namespaces/${namespace}` });
  const lines: unknown[] = [];
  const events = recorder(lines);
  events.record({ regarding, type: 'Normal', reason: 'InstanceDestroyed', action: 'Deleting', note: 'gone' });
  await events.flush();
  expect(lines).toEqual([]);
  const refused = client.create(widgets, widget(namespace, 'child'));
  await expect(refused).rejects.toMatchObject({ kind: 'terminating', outcome: 'refused' });
  await client.patch(widgets, regarding.metadata, {
    type: 'merge',
    body: { metadata: { finalizers: null } },
  });
});

test('an event that repeats after its series has ended is a new event', async () => {
  const namespace = await cluster.createNamespace('events');
  const regarding = await client.create<Widget>(widgets, widget(namespace, 'subject'));
  const clock = createVirtualClock({ startMs: Date.now() });
  const events = recorder([], clock);
  const event = { regarding, type: 'Normal', reason: 'Waiting', action: 'Renting', note: 'again' } as const;
  events.record(event);
  await clock.advance(420_000);
  events.record(event);
  await events.flush();
  await until('both are there', async () => (await eventsOf(namespace)).length === 2);
});
