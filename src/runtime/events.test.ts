import { expect, test, vi } from 'vitest';
import { noCredentials } from '../../test/builders/no-credentials.ts';
import { createScriptedTransport } from '../../test/builders/scripted-transport.ts';
import { createVirtualClock } from '../../test/builders/virtual-clock.ts';
import { type LogFields, type Logger, silentLogger } from '../lib/logger.ts';
import { seededRandom } from '../lib/random.ts';
import { createEventRecorder, EventBudget } from './events.ts';
import { createKubeClient } from './kube/kube-client.ts';

const regarding = {
  apiVersion: 'example.dev/v1',
  kind: 'Widget',
  metadata: { name: 'a', namespace: 'ns', uid: 'u', resourceVersion: '5' },
};
const event = { regarding, type: 'Normal', reason: 'Rented', action: 'Renting', note: 'Offer 7' } as const;

function setUp() {
  const clock = createVirtualClock({ startMs: Date.UTC(2026, 10, 20, 10) });
  const api = createScriptedTransport();
  const lines: string[] = [];
  const log: Logger = {
    ...silentLogger,
    warn: (message: string, _fields?: LogFields) => void lines.push(message),
  };
  const shared = { clock, random: seededRandom(1), log };
  const client = createKubeClient({
    ...shared,
    transport: api.transport,
    origin: 'https://api.test',
    credentials: noCredentials,
  });
  const events = createEventRecorder({
    ...shared,
    client,
    controller: 'example.dev/operator',
    instance: 'pod',
  });
  /** Answers all waiting requests and returns the sent events. */
  const answer = async (status = 201, reply: unknown = {}) => {
    const sent: { method: string; path: string; body: Record<string, unknown> }[] = [];
    await clock.settle();
    while (api.waiting() > 0) {
      const asked = api.take();
      sent.push({
        method: asked.request.method,
        path: asked.request.path,
        body: JSON.parse(asked.request.body ?? '{}'),
      });
      asked.reply(status, reply);
      await clock.settle();
    }
    return sent;
  };
  return { clock, events, answer, lines };
}

const widget = (number: number) => ({
  ...event,
  regarding: { ...regarding, metadata: { ...regarding.metadata, name: `w${number}`, uid: `u${number}` } },
});

test('an event carries all that the API server asks for', async () => {
  const { events, answer } = setUp();
  events.record({ ...event, related: { ...regarding, kind: 'Other' } });
  const [sent] = await answer();
  expect(sent?.method).toBe('POST');
  expect(sent?.path).toBe('/apis/events.k8s.io/v1/namespaces/ns/events');
  expect(sent?.body).toEqual({
    apiVersion: 'events.k8s.io/v1',
    kind: 'Event',
    metadata: { name: expect.stringMatching(/^a\.[0-9a-f]{16}$/), namespace: 'ns' },
    eventTime: '2026-11-20T10:00:00.000000Z',
    reportingController: 'example.dev/operator',
    reportingInstance: 'pod',
    type: 'Normal',
    reason: 'Rented',
    action: 'Renting',
    note: 'Offer 7',
    regarding: {
      apiVersion: 'example.dev/v1',
      kind: 'Widget',
      name: 'a',
      namespace: 'ns',
      uid: 'u',
      resourceVersion: '5',
    },
    related: {
      apiVersion: 'example.dev/v1',
      kind: 'Other',
      name: 'a',
      namespace: 'ns',
      uid: 'u',
      resourceVersion: '5',
    },
  });
});

test('of equal events the second opens a series of 2, and only the series is sent', async () => {
  const { clock, events, answer } = setUp();
  events.record(event);
  await answer();
  await clock.advance(10_000);
  events.record(event);
  const [sent] = await answer();
  expect(sent?.method).toBe('PATCH');
  expect(sent?.body).toEqual({ series: { count: 2, lastObservedTime: '2026-11-20T10:00:10.000000Z' } });
});

test('a series that goes on is written every half hour, and once more when it ends', async () => {
  const { clock, events, answer } = setUp();
  const written: unknown[] = [];
  for (let minute = 0; minute <= 65; minute++) {
    events.record(event);
    written.push(...(await answer()).map((sent) => sent.body.series));
    await clock.advance(60_000);
  }
  expect(written).toEqual([
    undefined,
    expect.objectContaining({ count: 2 }),
    expect.objectContaining({ count: 32 }),
    expect.objectContaining({ count: 62 }),
  ]);
  await clock.advance(360_000);
  expect((await answer()).map((sent) => sent.body.series)).toEqual([expect.objectContaining({ count: 66 })]);
  expect(clock.nextTimerMs()).toBeUndefined();
});

test('what a reader sees makes the difference', async () => {
  const { events, answer } = setUp();
  events.record(event);
  events.record({ ...event, note: 'Offer 8' });
  events.record({ ...event, regarding: { ...regarding, metadata: { ...regarding.metadata, uid: 'v' } } });
  expect((await answer()).map((sent) => sent.method)).toEqual(['POST', 'POST', 'POST']);
});

test('one object gets 25 different events at once, and one more per five minutes', async () => {
  const { clock, events, answer } = setUp();
  const flood = () => {
    for (let at = 0; at < 100; at++) events.record({ ...event, note: `${clock.monotonic()} ${at}` });
  };
  flood();
  expect(await answer()).toHaveLength(25);
  await clock.advance(300_000);
  flood();
  expect(await answer()).toHaveLength(1);
});

test.each([
  [
    'its namespace is terminating',
    403,
    { reason: 'Forbidden', details: { causes: [{ reason: 'NamespaceTerminating' }] } },
    [],
  ],
  ['its namespace is gone', 404, { reason: 'NotFound' }, []],
  ['it may not be written', 403, { reason: 'Forbidden' }, ['Event was not written']],
  ['the API server fails', 500, {}, ['Event was not written']],
])('an event is dropped when %s', async (_why, status, reply, said) => {
  const { events, answer, lines } = setUp();
  events.record(event);
  await answer(status, { code: status, ...reply });
  expect(lines).toEqual(said);
  events.record(event);
  expect((await answer()).map((sent) => sent.method)).toEqual(['POST']);
});

test('the name stays within 253 characters', async () => {
  const { events, answer } = setUp();
  events.record({
    ...event,
    regarding: {
      ...regarding,
      metadata: { ...regarding.metadata, name: `${'a'.repeat(229)}.${'b'.repeat(23)}` },
    },
  });
  const [sent] = await answer();
  const name = expect.stringMatching(/^a{229}\.[0-9a-f]{16}$/);
  expect(sent?.body.metadata).toEqual({ name, namespace: 'ns' });
});

test('flush waits for what is under way', async () => {
  const { clock, events, answer } = setUp();
  events.record(event);
  events.record(event);
  events.record(event);
  let flushed = false;
  void events.flush().then(() => {
    flushed = true;
  });
  await clock.settle();
  expect(flushed).toBe(false);
  const sent = await answer();
  expect(sent.map((one) => one.body.series)).toEqual([
    undefined,
    expect.objectContaining({ count: 2 }),
    expect.objectContaining({ count: 3 }),
  ]);
  expect(flushed).toBe(true);
});

test('flush leaves no timer behind, and the next event sets it again', async () => {
  const { clock, events, answer } = setUp();
  events.record(event);
  const flushed = events.flush();
  await answer();
  await flushed;
  expect(clock.nextTimerMs()).toBeUndefined();
  events.record(event);
  await answer();
  expect(clock.nextTimerMs()).toBeDefined();
});

test('no more than five thousand events wait, and later ones are written after them', async () => {
  const { clock, events, answer } = setUp();
  for (let number = 0; number < 5_100; number += 1) events.record(widget(number));
  const flushed = events.flush();
  expect(await answer()).toHaveLength(5_000);
  await flushed;
  await clock.advance(1_000);
  events.record(widget(5_099));
  expect(await answer()).toHaveLength(1);
});

test('an object has 25 events at once, and one more every five minutes', async () => {
  const clock = createVirtualClock();
  const budget = new EventBudget(clock);
  const taken = () => Array.from({ length: 30 }, () => budget.take('a')).filter(Boolean).length;
  expect(taken()).toBe(25);
  await clock.advance(10 * 60_000);
  expect(taken()).toBe(2);
  expect(budget.take('b')).toBe(true);
});

test('objects whose budget is whole again are forgotten, so that memory does not grow with objects that go', async () => {
  const clock = createVirtualClock();
  const budget = new EventBudget(clock);
  for (let index = 0; index < 4_096; index++) budget.take(`object-${index}`);
  await clock.advance(5 * 60_000);
  const forgetting = vi.spyOn(Map.prototype, 'delete');
  budget.take('another');
  const forgotten = new Set(forgetting.mock.calls.map(([key]) => key));
  forgetting.mockRestore();
  expect(forgotten.size).toBe(4_096);
});

test('P3: a thousand objects that lose a service write 100 events at once and 20 a second after that', async () => {
  const { clock, events, answer } = setUp();
  for (let number = 0; number < 1000; number += 1) events.record(widget(number));
  expect(await answer()).toHaveLength(100);
  let written = 100;
  for (let second = 0; second < 45; second += 1) {
    let now = 0;
    for (let step = 0; step < 20; step += 1) {
      await clock.advance(50);
      now += (await answer()).length;
    }
    expect(now).toBeLessThanOrEqual(20);
    written += now;
  }
  expect(written).toBe(1000);
});

test('a flush writes at once what waits for its pace', async () => {
  const { events, answer } = setUp();
  for (let number = 0; number < 300; number += 1) events.record(widget(number));
  expect(await answer()).toHaveLength(100);
  const flushed = events.flush();
  expect(await answer()).toHaveLength(200);
  await flushed;
});
