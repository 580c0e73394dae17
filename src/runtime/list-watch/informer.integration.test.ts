import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { startCuttingProxy } from '../../../test/builders/cutting-proxy.ts';
import {
  followsOneName,
  followsSelectedField,
  reportsRefusedField,
} from '../../../test/builders/field-selection.ts';
import {
  eventually,
  hastyClock,
  installWidgets,
  openWidgetClient,
  type Widget,
  type WidgetClientOptions,
  widget,
  widgets,
} from '../../../test/builders/widgets.ts';
import { sharedCluster } from '../../../test/cluster/shared-cluster.ts';
import { type Clock, systemClock } from '../../lib/clock.ts';
import { silentLogger } from '../../lib/logger.ts';
import { systemRandom } from '../../lib/random.ts';
import { Secret } from '../../lib/secret.ts';
import { tokenFileCredentials } from '../kube/credentials.ts';
import { createInformer, type InformerOptions } from './informer.ts';

const cluster = sharedCluster();
const admin = openWidgetClient(cluster);
beforeAll(() => installWidgets(cluster));
afterAll(async () => {
  await admin.close();
  await cluster.disconnect();
});

interface FollowOptions extends WidgetClientOptions {
  readonly informer?: Partial<InformerOptions<Widget>>;
}

/** Returns an informer of one namespace and all changes that it reports. */
async function follow(namespace: string, options: FollowOptions = {}) {
  const clock: Clock = options.clock ?? systemClock;
  const widgetClient = openWidgetClient(cluster, options);
  const informer = createInformer<Widget>({
    client: widgetClient.client,
    resource: widgets,
    namespace,
    clock,
    random: systemRandom,
    log: silentLogger,
    ...options.informer,
  });
  const told: string[] = [];
  informer.onChange((change) => told.push(`${change.type} ${change.object.metadata.name}`));
  onTestFinished(async () => {
    await informer.stop();
    await widgetClient.close();
  });
  informer.start();
  await informer.synced;
  return { informer, told, requests: widgetClient.requests };
}

const namesOf = (objects: readonly Widget[]): string[] =>
  objects.map((object) => object.metadata.name).toSorted();

test.each(['auto', 'paged'] as const)(
  'initial state %s: sees 1,100 objects and every later change once',
  async (initialState) => {
    const namespace = await cluster.createNamespace('informer');
    const names = Array.from({ length: 1100 }, (_, at) => `w${String(at).padStart(4, '0')}`);
    for (let at = 0; at < names.length; at += 50) {
      await Promise.all(
        names.slice(at, at + 50).map((name) => admin.client.create(widgets, widget(namespace, name))),
      );
    }
    const { informer, told, requests } = await follow(namespace, { informer: { initialState } });
    expect(namesOf(informer.list())).toEqual(names);
    expect(informer.list().every((object) => !('managedFields' in object.metadata))).toBe(true);
    const limits = requests.flatMap(({ path }) => /[?&]limit=(\d+)/.exec(path)?.[1] ?? []);
    expect(limits).toEqual(initialState === 'paged' ? ['100', '500', '500'] : []);

    const created = await admin.client.create(widgets, widget(namespace, 'later'));
    const updated = await admin.client.replace(widgets, { ...created, spec: { size: 2 } });
    expect(updated.metadata.resourceVersion).not.toBe(created.metadata.resourceVersion);
    await admin.client.delete(widgets, { namespace, name: 'later' });
    await eventually('the deletion is told', () => told.at(-1) === 'deleted later');
    expect(told.slice(1100)).toEqual(['added later', 'updated later', 'deleted later']);
  },
);

test('scenario 41, reset: a watch that breaks loses nothing, and a recreated object comes as deleted and added', async () => {
  const namespace = await cluster.createNamespace('informer');
  const proxy = await startCuttingProxy(cluster.url);
  onTestFinished(() => proxy.close());
  for (const name of ['goes', 'recreated', 'stays'])
    await admin.client.create(widgets, widget(namespace, name));
  const { informer, told } = await follow(namespace, { url: proxy.url });
  const before = told.length;

  proxy.swallow();
  proxy.cut();
  await admin.client.delete(widgets, { namespace, name: 'goes' });
  await admin.client.delete(widgets, { namespace, name: 'recreated' });
  await admin.client.create(widgets, widget(namespace, 'recreated', 2));
  proxy.heal();
  proxy.cut();
  await eventually('the copy converges', () => informer.get(`${namespace}/recreated`)?.spec?.size === 2);
  await eventually('the deletion is told', () => told.includes('deleted goes'));
  expect(namesOf(informer.list())).toEqual(['recreated', 'stays']);
  expect(told.slice(before).toSorted()).toEqual(['added recreated', 'deleted goes', 'deleted recreated']);
});

test('scenario 41, silence: a watch that dies without saying so is given up', async () => {
  const namespace = await cluster.createNamespace('informer');
  const proxy = await startCuttingProxy(cluster.url);
  onTestFinished(() => proxy.close());
  const { informer } = await follow(namespace, { url: proxy.url, clock: hastyClock(45) });
  proxy.swallow();
  await admin.client.create(widgets, widget(namespace, 'unheard'));
  proxy.heal();
  await eventually('the object is seen', () => informer.list().length === 1, 30_000);
});

test('scenario 42: a version that has expired leads to one list, and only differences are reported', async () => {
  const namespace = await cluster.createNamespace('informer');
  for (const name of ['goes', 'stays']) await admin.client.create(widgets, widget(namespace, name));
  const proxy = await startCuttingProxy(cluster.url);
  onTestFinished(() => proxy.close());
  let tooOld = false;
  const { informer, told, requests } = await follow(namespace, {
    url: proxy.url,
    informer: { initialState: 'paged' },
    intercept: async (request, send) => {
      if (!tooOld || !request.path.includes('watch=true')) return send(request);
      const path = request.path.replace(/resourceVersion=\d+/, 'resourceVersion=1');
      const reply = await send({ ...request, path });
      // A dropped event is not answered; the next one is the expired one.
      tooOld = false;
      return reply;
    },
  });
  await eventually('the watch is open', () =>
    requests.some((request) => request.path.includes('watch=true')),
  );
  tooOld = true;
  proxy.swallow();
  proxy.cut();
  await admin.client.delete(widgets, { namespace, name: 'goes' });
  proxy.heal();
  proxy.cut();
  await eventually('the deletion is told', () => told.includes('deleted goes'));
  expect(namesOf(informer.list())).toEqual(['stays']);
  expect(told).toEqual(['added goes', 'added stays', 'deleted goes']);
  const relist = requests.filter((request) => request.path.includes('resourceVersionMatch=NotOlderThan'));
  expect(relist.length).toBe(1);
});

test('scenario 53: a token that was changed is read again on 401, and nothing else notices', async () => {
  const namespace = await cluster.createNamespace('informer');
  let token = 'expired';
  let reads = 0;
  const credentials = tokenFileCredentials(systemClock, async () => {
    reads++;
    const current = token;
    token = cluster.adminToken;
    return current;
  });
  const { informer } = await follow(namespace, { credentials });
  expect(informer.hasSynced()).toBe(true);
  expect(reads).toBe(2);
  expect(new Secret(token).equals(new Secret(cluster.adminToken))).toBe(true);
});

test('an own write is not current until it is seen, and is then', async () => {
  const namespace = await cluster.createNamespace('informer');
  const { informer } = await follow(namespace);
  const created = await admin.client.create(widgets, widget(namespace, 'own'));
  const key = `${namespace}/own`;
  informer.wrote(created);
  if (!informer.isCurrent(key)) expect(informer.get(key)).toBeUndefined();
  await eventually('the write is seen', () => informer.isCurrent(key));
  expect(informer.get(key)?.metadata.resourceVersion).toBe(created.metadata.resourceVersion);
});

test('the audit asks for names and versions only, and finds a sound cache sound', async () => {
  const namespace = await cluster.createNamespace('informer');
  await admin.client.create(widgets, widget(namespace, 'one'));
  const { informer, requests } = await follow(namespace, {
    clock: hastyClock(100),
    informer: { auditIntervalMs: 60_000 },
  });
  const audits = () =>
    requests.filter((request) => request.headers.accept?.includes('PartialObjectMetadataList'));
  await eventually('three audits', () => audits().length >= 3);
  // Each audit waits until the cache reaches its list; a write makes it do so now.
  await admin.client.create(widgets, widget(namespace, 'two'));
  await eventually('the write is seen', () => informer.list().length === 2);
  await eventually('another audit', () => audits().length >= 5);
  expect(informer.health().divergences).toBe(0);
});

test.each(['auto', 'paged'] as const)(
  'reports objects that enter and leave the selection of a field, with initial state %s',
  async (initialState) => {
    const namespace = await cluster.createNamespace('selection');
    await followsSelectedField({ client: admin.client, namespace }, initialState);
  },
);

test('follows one object by its name, and audits it alone', async () => {
  const namespace = await cluster.createNamespace('selection');
  await followsOneName({ client: admin.client, namespace });
});

test('reports a field that the kind does not select by', async () => {
  const namespace = await cluster.createNamespace('selection');
  await reportsRefusedField({ client: admin.client, namespace });
});
