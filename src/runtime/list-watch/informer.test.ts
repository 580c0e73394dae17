import { expect, test } from 'vitest';
import { noCredentials } from '../../../test/builders/no-credentials.ts';
import { createScriptedTransport, type ScriptedBody } from '../../../test/builders/scripted-transport.ts';
import { createVirtualClock } from '../../../test/builders/virtual-clock.ts';
import { type LogFields, type Logger, silentLogger } from '../../lib/logger.ts';
import { seededRandom } from '../../lib/random.ts';
import { createKubeClient } from '../kube/kube-client.ts';
import type { KubeObject, Resource } from '../kube/kube-object.ts';
import { createInformer, type InformerOptions } from './informer.ts';

const widgets: Resource = {
  group: 'example.dev',
  version: 'v1',
  plural: 'widgets',
  kind: 'Widget',
  namespaced: true,
};

interface Widget extends KubeObject {
  readonly spec?: { readonly size: number };
}

function widget(name: string, resourceVersion: string, { uid = `uid-${name}`, size = 1 } = {}): Widget {
  return {
    apiVersion: 'example.dev/v1',
    kind: 'Widget',
    metadata: { name, namespace: 'default', uid, resourceVersion },
    spec: { size },
  };
}

const page = (items: readonly Widget[], resourceVersion: string, next?: string) => ({
  items,
  metadata: { resourceVersion, ...(next && { continue: next }) },
});
const gone = { kind: 'Status', code: 410, reason: 'Expired', message: 'too old resource version' };
const bookmark = (resourceVersion: string, annotations?: Record<string, string>) => ({
  type: 'BOOKMARK',
  object: { metadata: { resourceVersion, annotations } },
});

function setUp(options: Partial<InformerOptions<Widget>> = {}) {
  const clock = createVirtualClock();
  const api = createScriptedTransport();
  const random = seededRandom(7);
  const shared = { clock, random, log: silentLogger };
  const client = createKubeClient({
    ...shared,
    transport: api.transport,
    origin: 'https://api.test',
    credentials: noCredentials,
  });
  const informer = createInformer<Widget>({
    ...shared,
    client,
    resource: widgets,
    initialState: 'paged',
    auditIntervalMs: 0,
    ...options,
  });
  const changes: string[] = [];
  informer.onChange((change) =>
    changes.push(`${change.type} ${change.key} ${change.object.metadata.resourceVersion}`),
  );
  return { clock, api, informer, changes };
}

type Fixture = ReturnType<typeof setUp>;

/** Lists and starts watching; returns the watch. */
async function watching(
  { clock, api, informer }: Fixture,
  items: readonly Widget[],
  rv = '10',
): Promise<ScriptedBody> {
  informer.start();
  await clock.settle();
  api.take().reply(200, page(items, rv));
  await clock.settle();
  const body = api.take().stream();
  await clock.settle();
  return body;
}

test.each([
  [404, 'install it'],
  [403, undefined],
])(
  'says what to do in its log when a list answers %i only if the resource is not served',
  async (status, remedy) => {
    const warnings: LogFields[] = [];
    const log: Logger = {
      ...silentLogger,
      warn: (_message, fields = {}) => warnings.push(fields),
      child: () => log,
    };
    const { clock, api, informer } = setUp({ log, remedyIfUnserved: 'install it' });
    informer.start();
    await clock.settle();
    api.take().reply(status, { kind: 'Status', code: status });
    await clock.settle();
    expect(warnings.map((fields) => fields['remedy'])).toEqual([remedy]);
    await informer.stop();
  },
);

test('lists, then watches from the version of the list', async () => {
  const fixture = setUp();
  const { api, informer, clock, changes } = fixture;
  informer.start();
  await clock.settle();
  const list = api.take();
  expect(list.url.pathname).toBe('/apis/example.dev/v1/widgets');
  expect(Object.fromEntries(list.url.searchParams)).toEqual({ limit: '100' });
  expect(informer.hasSynced()).toBe(false);
  list.reply(200, page([widget('a', '5')], '10'));
  await informer.synced;
  await clock.settle();

  const watch = api.take();
  expect(watch.url.searchParams.get('resourceVersion')).toBe('10');
  expect(watch.url.searchParams.get('allowWatchBookmarks')).toBe('true');
  const timeout = Number(watch.url.searchParams.get('timeoutSeconds'));
  expect(timeout).toBeGreaterThanOrEqual(290);
  expect(timeout).toBeLessThanOrEqual(580);
  const body = watch.stream();
  body.push({ type: 'MODIFIED', object: widget('a', '11') });
  body.push({ type: 'ADDED', object: widget('b', '12') });
  body.push({ type: 'DELETED', object: widget('a', '13') });
  await clock.settle();
  expect(changes).toEqual([
    'added default/a 5',
    'updated default/a 11',
    'added default/b 12',
    'deleted default/a 13',
  ]);
  expect(informer.list().map((object) => object.metadata.name)).toEqual(['b']);
  await informer.stop();
});

test('is not synced before the last of 1,200 objects is in the copy', async () => {
  const { api, informer, clock } = setUp();
  const held: number[] = [];
  void informer.synced.then(() => held.push(informer.list().length));
  let leastWhenSynced = Number.POSITIVE_INFINITY;
  informer.onChange(() => {
    if (informer.hasSynced()) leastWhenSynced = Math.min(leastWhenSynced, informer.list().length);
  });
  informer.start();
  await clock.settle();
  api.take().reply(
    200,
    page(
      Array.from({ length: 1_200 }, (_, index) => widget(`w${index}`, '5')),
      '10',
    ),
  );
  await clock.settle();
  await clock.advance(0);
  expect(informer.hasSynced() && informer.list().length < 1_200).toBe(false);
  await clock.advance(1_000);
  expect({ held, leastWhenSynced }).toEqual({ held: [1_200], leastWhenSynced: Number.POSITIVE_INFINITY });
  await informer.stop();
});

test('watches on from the newest bookmark when the server ends the watch', async () => {
  const fixture = setUp();
  const body = await watching(fixture, []);
  await fixture.clock.advance(60_000);
  body.push(bookmark('99'));
  await fixture.clock.settle();
  body.end();
  await fixture.clock.settle();
  expect(fixture.api.take().url.searchParams.get('resourceVersion')).toBe('99');
  await fixture.informer.stop();
});

test('scenario 46: splits a change of uid into a deletion and an addition', async () => {
  const fixture = setUp();
  const body = await watching(fixture, [widget('a', '5', { uid: 'first' })]);
  body.push({ type: 'MODIFIED', object: widget('a', '12', { uid: 'second' }) });
  await fixture.clock.settle();
  expect(fixture.changes).toEqual(['added default/a 5', 'deleted default/a 5', 'added default/a 12']);
  await fixture.informer.stop();
});

test('scenario 45: ignores states that are repeated or older than the one it holds', async () => {
  const fixture = setUp();
  const body = await watching(fixture, [widget('a', '9')]);
  body.push({ type: 'MODIFIED', object: widget('a', '9') });
  body.push({ type: 'MODIFIED', object: widget('a', '8', { size: 2 }) });
  body.push({ type: 'DELETED', object: widget('a', '7', { uid: 'older' }) });
  await fixture.clock.settle();
  expect(fixture.changes).toEqual(['added default/a 9']);
  await fixture.informer.stop();
});

test('takes a longer resource version for the newer one', async () => {
  const fixture = setUp();
  const body = await watching(fixture, [widget('a', '99')], '99');
  body.push({ type: 'MODIFIED', object: widget('a', '100') });
  await fixture.clock.settle();
  expect(fixture.informer.get('default/a')?.metadata.resourceVersion).toBe('100');
  await fixture.informer.stop();
});

const expiries = [
  [
    'as the status of the watch',
    (fixture: Fixture, body: ScriptedBody) => {
      body.end();
      return fixture.clock.settle().then(() => fixture.api.take().reply(410, gone));
    },
  ],
  [
    'as an ERROR event',
    async (_fixture: Fixture, body: ScriptedBody) => body.push({ type: 'ERROR', object: gone }),
  ],
] as const;

test.each(expiries)(
  'scenario 42: lists "not older" when its version has expired %s, and reports the deletions',
  async (_how, expire) => {
    const fixture = setUp();
    const { api, clock, changes, informer } = fixture;
    const body = await watching(fixture, [widget('a', '5'), widget('b', '6')]);
    await clock.advance(2000);
    await expire(fixture, body);
    await clock.advance(2000);
    const list = api.take();
    expect(list.url.searchParams.get('resourceVersion')).toBe('10');
    expect(list.url.searchParams.get('resourceVersionMatch')).toBe('NotOlderThan');
    list.reply(200, page([widget('b', '6')], '20'));
    await clock.settle();
    expect(changes).toEqual(['added default/a 5', 'added default/b 6', 'deleted default/a 5']);
    expect(api.take().url.searchParams.get('resourceVersion')).toBe('20');
    await informer.stop();
  },
);

test('lists the newest state when "not older" is refused too', async () => {
  const fixture = setUp();
  const { api, clock, informer } = fixture;
  const body = await watching(fixture, []);
  body.push({ type: 'ERROR', object: gone });
  await clock.advance(2000);
  api.take().reply(504, { code: 504, reason: 'Timeout', message: 'Too large resource version' });
  await clock.advance(4000);
  expect(Object.fromEntries(api.take().url.searchParams)).toEqual({ limit: '100' });
  await informer.stop();
});

test('scenario 43: begins a list again from its first page when a later page has expired, and notices a deletion between', async () => {
  const { api, clock, informer } = setUp();
  informer.start();
  await clock.settle();
  api.take().reply(200, page([widget('a', '5')], '10', 'token'));
  await clock.settle();
  const second = api.take();
  expect(second.url.searchParams.get('continue')).toBe('token');
  second.reply(410, { ...gone, metadata: { continue: 'inconsistent' } });
  await clock.settle();
  const again = api.take();
  expect(again.url.searchParams.get('continue')).toBeNull();
  again.reply(200, page([widget('b', '6')], '12'));
  await clock.settle();
  expect(informer.list().map((object) => object.metadata.name)).toEqual(['b']);
  await informer.stop();
});

test('scenario 47: refuses a list that is older than what it has seen, and asks again', async () => {
  const fixture = setUp();
  const { api, clock, informer, changes } = fixture;
  const body = await watching(fixture, [widget('a', '5')], '10');
  body.push({ type: 'ERROR', object: gone });
  await clock.advance(2000);
  api.take().reply(200, page([], '9'));
  await clock.settle();
  expect(changes).toEqual(['added default/a 5']);
  expect(informer.health().failure).toContain('StaleListError');
  expect(informer.health().rewoundSince).toBe(clock.now());
  await clock.advance(5000);
  api.take().reply(200, page([], '11'));
  await clock.settle();
  expect(changes).toEqual(['added default/a 5', 'deleted default/a 5']);
  expect(informer.health().rewoundSince).toBeUndefined();
  await informer.stop();
});

const failures = [
  [
    'an ERROR event of 500',
    (body: ScriptedBody) => body.push({ type: 'ERROR', object: { code: 500, reason: 'InternalError' } }),
  ],
  ['a line that is no JSON', (body: ScriptedBody) => body.push('{"type":"ADDED","obj\n')],
  [
    'an event of an unknown type',
    (body: ScriptedBody) => body.push({ type: 'WHAT', object: widget('x', '50') }),
  ],
  ['an event without an object', (body: ScriptedBody) => body.push({ type: 'ADDED' })],
  ['a connection that breaks', (body: ScriptedBody) => body.fail()],
] as const;

test.each(failures)(
  'scenario 44: waits after %s, then watches on from the last good version',
  async (_what, fail) => {
    const fixture = setUp();
    const { api, clock, informer } = fixture;
    const body = await watching(fixture, []);
    body.push({ type: 'ADDED', object: widget('a', '15') });
    await clock.settle();
    fail(body);
    await clock.settle();
    expect(api.waiting()).toBe(0);
    await clock.advance(799);
    expect(api.waiting()).toBe(0);
    await clock.advance(801);
    expect(api.take().url.searchParams.get('resourceVersion')).toBe('15');
    await informer.stop();
  },
);

test('lines that cannot be read with good ones between are no reason to list', async () => {
  const fixture = setUp();
  const { api, clock, informer } = fixture;
  let body = await watching(fixture, []);
  for (let attempt = 1; attempt <= 4; attempt++) {
    body.push(bookmark(String(10 + attempt)));
    body.push('rubbish\n');
    await clock.advance(30_000);
    const watch = api.take();
    expect(watch.url.searchParams.get('resourceVersion')).toBe(String(10 + attempt));
    body = watch.stream();
    await clock.settle();
  }
  await informer.stop();
});

test('goes on from the newest version that it received, whatever an older bookmark says', async () => {
  const fixture = setUp();
  const { api, clock, informer } = fixture;
  const body = await watching(fixture, []);
  body.push({ type: 'ADDED', object: widget('a', '20') });
  body.push(bookmark('15'));
  body.end();
  await clock.advance(2_000);
  expect(api.take().url.searchParams.get('resourceVersion')).toBe('20');
  await informer.stop();
});

test('gives the connection of a watch back, however the watch ends', async () => {
  const fixture = setUp();
  const { api, clock, informer } = fixture;
  const bodies = [await watching(fixture, [])];
  bodies[0]?.push({ type: 'ERROR', object: { code: 500, reason: 'InternalError' } });
  await clock.advance(30_000);
  bodies.push(api.take().stream());
  await clock.settle();
  bodies[1]?.push({ type: 'MODIFIED', object: { metadata: { name: 'a', uid: 'u' } } });
  await clock.advance(30_000);
  bodies.push(api.take().stream());
  await clock.settle();
  await informer.stop();
  expect(bodies.map(({ destroyed }) => destroyed)).toEqual([true, true, true]);
});

test('an event without a version is believed in nothing: the watch begins again where it was', async () => {
  const fixture = setUp();
  const { api, clock, informer, changes } = fixture;
  const body = await watching(fixture, []);
  body.push({ type: 'ADDED', object: { metadata: { name: 'a', namespace: 'default', uid: 'u' } } });
  await clock.advance(30_000);
  expect(changes).toEqual([]);
  expect(api.take().url.searchParams.get('resourceVersion')).toBe('10');
  await informer.stop();
});

test('a listener that stops it gets nothing more, even of what came in the same piece', async () => {
  const fixture = setUp();
  const { clock, informer, changes } = fixture;
  const body = await watching(fixture, []);
  informer.onChange(() => void informer.stop());
  const lines = [widget('a', '11'), widget('b', '12')].map((object) =>
    JSON.stringify({ type: 'ADDED', object }),
  );
  body.push(`${lines.join('\n')}\n`);
  await clock.settle();
  expect(changes).toEqual(['added default/a 11']);
});

test('gives up a watch that sends one line without end, before it fills the memory', async () => {
  const fixture = setUp();
  const { clock, informer } = fixture;
  const body = await watching(fixture, [widget('a', '5')]);
  for (let sent = 0; sent <= 16; sent++) body.push('x'.repeat(1024 * 1024));
  await clock.advance(0);
  expect(informer.health().failure).toContain('a line of more than');
  expect(body.destroyed).toBe(true);
  await informer.stop();
});

test('passes a line that can never be read by with a list', async () => {
  const fixture = setUp();
  const { api, clock, informer } = fixture;
  let body = await watching(fixture, []);
  for (let attempt = 1; attempt <= 3; attempt++) {
    body.push('rubbish\n');
    await clock.advance(30_000);
    if (attempt < 3) body = api.take().stream();
    await clock.settle();
  }
  const list = api.take();
  expect(list.url.searchParams.get('watch')).toBeNull();
  expect(list.url.searchParams.get('resourceVersionMatch')).toBe('NotOlderThan');
  await informer.stop();
});

test('scenario 41: gives up a watch that is silent for 90 s, and not one that brings bookmarks', async () => {
  const fixture = setUp();
  const { api, clock, informer } = fixture;
  const body = await watching(fixture, []);
  for (let minute = 0; minute < 3; minute++) {
    await clock.advance(60_000);
    body.push(bookmark(`${20 + minute}`));
    await clock.settle();
  }
  expect(body.destroyed).toBe(false);
  await clock.advance(89_999);
  expect(body.destroyed).toBe(false);
  await clock.advance(1);
  expect(body.destroyed).toBe(true);
  await clock.advance(1600);
  expect(api.take().url.searchParams.get('resourceVersion')).toBe('22');
  await informer.stop();
});

test('scenario 44: waits longer after each failure up to 30 s, and briefly again after two well minutes', async () => {
  const fixture = setUp();
  const { api, clock, informer } = fixture;
  informer.start();
  await clock.settle();
  const waits: number[] = [];
  for (let failure = 0; failure < 9; failure++) {
    api.take().reply(500, { code: 500 });
    await clock.settle();
    waits.push(clock.nextTimerMs() ?? 0);
    await clock.advance(waits.at(-1) ?? 0);
  }
  for (const [failure, wait] of waits.entries()) {
    const base = 800 * 2 ** failure;
    expect(wait).toBeGreaterThanOrEqual(Math.min(base, 30_000));
    expect(wait).toBeLessThanOrEqual(Math.min(2 * base, 30_000));
  }
  api.take().reply(200, page([], '10'));
  await clock.settle();
  const body = api.take().stream();
  for (let minute = 1; minute <= 3; minute++) {
    await clock.advance(60_000);
    body.push(bookmark(`${10 + minute}`));
    await clock.settle();
  }
  body.fail();
  await clock.advance(1600);
  expect(api.waiting()).toBe(1);
  await informer.stop();
});

test('reports what fails for as long as it does, and when it was last answered', async () => {
  const { api, clock, informer } = setUp();
  informer.start();
  await clock.settle();
  api.take().reply(500, { code: 500, message: 'etcd has no leader' });
  await clock.settle();
  expect(informer.health()).toMatchObject({ lastContactAt: undefined });
  expect(informer.health().failure).toContain('etcd has no leader');
  await clock.advance(1600);
  api.take().reply(200, page([], '10'));
  await clock.settle();
  expect(informer.health()).toMatchObject({ failure: undefined, lastContactAt: clock.now() });
  api.take().stream();
  await clock.advance(1_000);
  expect(informer.health().failure).toBeUndefined();
  await informer.stop();
});

test('scenario 52: comes back no earlier than the server asks', async () => {
  const { api, clock, informer } = setUp();
  informer.start();
  await clock.settle();
  api.take().reply(429, { code: 429, reason: 'TooManyRequests' }, { 'retry-after': '17' });
  await clock.advance(16_999);
  expect(api.waiting()).toBe(0);
  await clock.advance(1);
  expect(api.waiting()).toBe(1);
  await informer.stop();
});

test('scenario 44: does not spin on a server that ends each watch at once', async () => {
  const fixture = setUp();
  const { api, clock, informer } = fixture;
  const body = await watching(fixture, []);
  body.end();
  for (let second = 0; second < 600; second++) {
    await clock.advance(1000);
    if (api.waiting() > 0) api.take().stream().end();
  }
  expect(api.requests.length).toBeLessThan(40);
  await informer.stop();
});

test('a listener that throws stops neither the others nor the watch', async () => {
  const fixture = setUp();
  fixture.informer.onChange(() => {
    throw new Error('listener');
  });
  const later: string[] = [];
  fixture.informer.onChange((change) => later.push(change.key));
  const body = await watching(fixture, [widget('a', '5')]);
  body.push({ type: 'ADDED', object: widget('b', '12') });
  await fixture.clock.settle();
  expect(later).toEqual(['default/a', 'default/b']);
  await fixture.informer.stop();
});

test('start twice watches once', async () => {
  const { api, clock, informer } = setUp();
  informer.start();
  informer.start();
  await clock.settle();
  expect(api.waiting()).toBe(1);
  await informer.stop();
});

const moments = [
  [
    'its list is under way',
    async ({ clock, api, informer }: Fixture) => {
      informer.start();
      await clock.settle();
      const list = api.take();
      return () => list.reply(200, page([widget('late', '5')], '10'));
    },
  ],
  [
    'it waits after a failure',
    async ({ clock, api, informer }: Fixture) => {
      informer.start();
      await clock.settle();
      api.take().reply(500, { code: 500 });
      await clock.settle();
      return () => {};
    },
  ],
  [
    'it watches',
    async (fixture: Fixture) => {
      const body = await watching(fixture, []);
      return () => body.push({ type: 'ADDED', object: widget('late', '12') });
    },
  ],
] as const;

test.each(moments)('stop while %s ends it for good', async (_moment, reach) => {
  const fixture = setUp();
  const { api, clock, informer, changes } = fixture;
  const goOn = await reach(fixture);
  const asked = api.requests.length;
  const stopped = informer.stop();
  goOn();
  await clock.settle();
  await stopped;
  await clock.advance(600_000);
  expect(api.requests.length).toBe(asked);
  expect(changes).toEqual([]);
});

test('start after stop follows again and reports only what changed meanwhile', async () => {
  const fixture = setUp();
  const { api, clock, informer, changes } = fixture;
  await watching(fixture, [widget('a', '5')]);
  await informer.stop();
  informer.start();
  await clock.settle();
  const watch = api.take();
  expect(watch.url.searchParams.get('resourceVersion')).toBe('10');
  watch.stream().push({ type: 'ADDED', object: widget('b', '12') });
  await clock.settle();
  expect(changes).toEqual(['added default/a 5', 'added default/b 12']);
  await informer.stop();
});

test('keeps only the projection, and never managedFields', async () => {
  const seen: KubeObject[] = [];
  const fixture = setUp({
    project: (object) => {
      seen.push(object);
      return widget(object.metadata.name, object.metadata.resourceVersion ?? '');
    },
  });
  const stored = { ...widget('a', '5'), metadata: { ...widget('a', '5').metadata, managedFields: [{}] } };
  await watching(fixture, [stored]);
  expect(seen[0]?.metadata).not.toHaveProperty('managedFields');
  expect(seen[0]).toMatchObject({ apiVersion: 'example.dev/v1', kind: 'Widget' });
  await fixture.informer.stop();
});

test('an object that cannot be projected is left out and stops nothing', async () => {
  const fixture = setUp({
    project: (object) => {
      if (object.metadata.name === 'bad') throw new Error('projection');
      return object;
    },
  });
  await watching(fixture, [widget('bad', '4'), widget('a', '5')]);
  expect(fixture.informer.list()).toHaveLength(1);
  await fixture.informer.stop();
});

test('finds objects by index, also after their values changed', async () => {
  const fixture = setUp({ indexes: { size: (object) => [String(object.spec?.size)] } });
  const body = await watching(fixture, [widget('a', '5', { size: 1 }), widget('b', '6', { size: 2 })]);
  body.push({ type: 'MODIFIED', object: widget('a', '12', { size: 2 }) });
  body.push({ type: 'DELETED', object: widget('b', '13', { size: 2 }) });
  await fixture.clock.settle();
  const { informer } = fixture;
  expect(informer.byIndex('size', '1')).toEqual([]);
  expect(informer.byIndex('size', '2').map((object) => object.metadata.name)).toEqual(['a']);
  expect(() => informer.byIndex('colour', 'red')).toThrow('There is no index named colour');
  await informer.stop();
});

test('a key is not current until the cache has seen the own write of it', async () => {
  const fixture = setUp();
  const { informer, clock } = fixture;
  const body = await watching(fixture, [widget('a', '5')]);
  expect(informer.isCurrent('default/a')).toBe(true);
  informer.wrote(widget('a', '12'));
  expect(informer.isCurrent('default/a')).toBe(false);
  expect(informer.isCurrent('default/b')).toBe(true);
  body.push({ type: 'MODIFIED', object: widget('a', '12') });
  await clock.settle();
  expect(informer.isCurrent('default/a')).toBe(true);
  informer.wrote(widget('gone', '14'));
  body.push(bookmark('20'));
  await clock.settle();
  expect(informer.isCurrent('default/gone')).toBe(true);
  await informer.stop();
});

test('streams its first state where the server offers it, and goes on in the same watch', async () => {
  const { api, clock, informer, changes } = setUp({ initialState: 'auto' });
  informer.start();
  await clock.settle();
  const watch = api.take();
  expect(watch.url.searchParams.get('sendInitialEvents')).toBe('true');
  expect(watch.url.searchParams.get('resourceVersionMatch')).toBe('NotOlderThan');
  const body = watch.stream();
  body.push({ type: 'ADDED', object: widget('a', '5') });
  await clock.settle();
  expect(informer.hasSynced()).toBe(false);
  expect(changes).toEqual([]);
  body.push(bookmark('10', { 'k8s.io/initial-events-end': 'true' }));
  body.push({ type: 'ADDED', object: widget('b', '11') });
  await clock.settle();
  expect(informer.hasSynced()).toBe(true);
  expect(changes).toEqual(['added default/a 5', 'added default/b 11']);
  expect(api.requests).toHaveLength(1);
  await informer.stop();
});

test('waits two minutes for the first bookmark after a streamed state', async () => {
  const { api, clock, informer } = setUp({ initialState: 'auto' });
  informer.start();
  await clock.settle();
  const body = api.take().stream();
  body.push(bookmark('10', { 'k8s.io/initial-events-end': 'true' }));
  await clock.advance(120_000);
  expect(informer.health().failure).toBeUndefined();
  body.push(bookmark('11'));
  await clock.settle();
  await clock.advance(149_999);
  expect(body.destroyed).toBe(false);
  await clock.advance(1);
  expect(body.destroyed).toBe(true);
  expect(informer.health().failure).toContain('Not a byte for 150000 ms');
  await informer.stop();
});

test('a bookmark that comes before the streamed first state is complete does not end it', async () => {
  const { api, clock, informer, changes } = setUp({ initialState: 'auto' });
  informer.start();
  await clock.settle();
  const body = api.take().stream();
  body.push({ type: 'ADDED', object: widget('a', '5') });
  body.push(bookmark('6'));
  await clock.settle();
  expect(informer.hasSynced()).toBe(false);
  body.push({ type: 'ADDED', object: widget('b', '7') });
  body.push(bookmark('10', { 'k8s.io/initial-events-end': 'true' }));
  await clock.settle();
  expect(changes).toEqual(['added default/a 5', 'added default/b 7']);
  await informer.stop();
});

const refusals = [
  [
    'ends the stream before the first state is complete',
    async (_fixture: Fixture, take: Fixture['api']['take']) => {
      const body = take().stream();
      body.push({ type: 'ADDED', object: widget('a', '5') });
      body.end();
    },
  ],
  [
    'refuses the parameter',
    async (_fixture: Fixture, take: Fixture['api']['take']) =>
      take().reply(422, { code: 422, reason: 'Invalid' }),
  ],
  [
    'does not know the parameter',
    async ({ clock }: Fixture, take: Fixture['api']['take']) => {
      const body = take().stream();
      body.push({ type: 'ADDED', object: widget('a', '5') });
      await clock.advance(60_000);
    },
  ],
] as const;

test('an object that is deleted before the streamed first state is complete is not in it', async () => {
  const { api, informer, clock, changes } = setUp({ initialState: 'auto' });
  informer.start();
  await clock.settle();
  const body = api.take().stream();
  body.push({ type: 'ADDED', object: widget('a', '5') });
  body.push({ type: 'ADDED', object: widget('b', '6') });
  body.push({ type: 'MODIFIED', object: widget('b', '8') });
  body.push({ type: 'DELETED', object: widget('a', '9') });
  body.push(bookmark('10', { 'k8s.io/initial-events-end': 'true' }));
  await clock.settle();
  expect(changes).toEqual(['added default/b 8']);
  await informer.stop();
});

test.each(refusals)('lists pages where the server %s', async (_how, refuse) => {
  const fixture = setUp({ initialState: 'auto' });
  const { api, clock, informer } = fixture;
  informer.start();
  await clock.settle();
  await refuse(fixture, api.take);
  await clock.settle();
  const list = api.take();
  expect(list.url.searchParams.get('limit')).toBe('100');
  list.reply(200, page([widget('a', '5')], '10'));
  await clock.settle();
  expect(informer.hasSynced()).toBe(true);
  await informer.stop();
});

test('takes a streamed first state that lasts as long as it brings a further object each minute', async () => {
  const { api, informer, clock } = setUp({ initialState: 'auto' });
  informer.start();
  await clock.settle();
  const body = api.take().stream();
  for (let at = 1; at <= 5; at++) {
    body.push({ type: 'ADDED', object: widget(`w${at}`, `${at}`) });
    await clock.advance(59_000);
  }
  body.push(bookmark('10', { 'k8s.io/initial-events-end': 'true' }));
  await clock.settle();
  expect([informer.hasSynced(), informer.list().length, api.waiting()]).toEqual([true, 5, 0]);
  await informer.stop();
});

test('lists pages when a streamed first state brings only changes of what it has brought', async () => {
  const { api, informer, clock } = setUp({ initialState: 'auto' });
  informer.start();
  await clock.settle();
  const body = api.take().stream();
  for (let at = 1; at <= 3; at++) {
    body.push({ type: 'MODIFIED', object: widget('a', `${at}`) });
    await clock.advance(30_000);
  }
  await clock.settle();
  expect(api.take().url.searchParams.get('limit')).toBe('100');
  await informer.stop();
});

test('scenario 45: the audit counts what the cache missed, and repairs it with a list', async () => {
  const fixture = setUp({ auditIntervalMs: 600_000 });
  const { api, clock, informer } = fixture;
  const body = await watching(fixture, [widget('a', '5'), widget('b', '6')]);
  for (let minute = 1; minute <= 11; minute++) {
    await clock.advance(60_000);
    body.push(bookmark(`${10 + minute}`));
    await clock.settle();
    if (api.waiting() > 0) break;
  }
  const audit = api.take();
  expect(audit.request.headers.accept).toContain('PartialObjectMetadataList');
  audit.reply(200, page([widget('a', '7'), widget('c', '8')], '40'));
  await clock.settle();
  expect(informer.health().divergences).toBe(0);
  body.push(bookmark('41'));
  await clock.settle();
  expect(informer.health().divergences).toBe(3);
  const list = api.take();
  expect(Object.fromEntries(list.url.searchParams)).toEqual({ limit: '100' });
  list.reply(200, page([widget('a', '7'), widget('c', '8')], '42'));
  await clock.settle();
  expect(informer.list().map((object) => object.metadata.name)).toEqual(['a', 'c']);
  await informer.stop();
});

test('the audit does not count against the cache what changed while it read', async () => {
  const fixture = setUp({ auditIntervalMs: 600_000 });
  const { api, clock, informer } = fixture;
  const body = await watching(fixture, [widget('a', '5')]);
  for (let minute = 1; minute <= 11 && api.waiting() === 0; minute++) {
    await clock.advance(60_000);
    body.push(bookmark(`${10 + minute}`));
    await clock.settle();
  }
  const audit = api.take();
  body.push({ type: 'MODIFIED', object: widget('a', '41') });
  await clock.settle();
  audit.reply(200, page([widget('a', '5')], '40'));
  await clock.settle();
  expect(informer.health().divergences).toBe(0);
  expect(api.waiting()).toBe(0);
  await informer.stop();
});

test('stop while the audit waits for the cache to catch up does not wait for it', async () => {
  const fixture = setUp({ auditIntervalMs: 600_000 });
  const { api, clock, informer } = fixture;
  const body = await watching(fixture, []);
  for (let minute = 1; minute <= 11 && api.waiting() === 0; minute++) {
    await clock.advance(60_000);
    body.push(bookmark(`${10 + minute}`));
    await clock.settle();
  }
  api.take().reply(200, page([], '90'));
  await clock.settle();
  await informer.stop();
  expect(clock.nextTimerMs()).toBeUndefined();
});
