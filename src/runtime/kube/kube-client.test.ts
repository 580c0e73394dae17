import { expect, test } from 'vitest';
import { createScriptedTransport } from '../../../test/builders/scripted-transport.ts';
import { createVirtualClock } from '../../../test/builders/virtual-clock.ts';
import { DeadlineError } from '../../lib/deadline.ts';
import { silentLogger } from '../../lib/logger.ts';
import { seededRandom } from '../../lib/random.ts';
import { tokenFileCredentials } from './credentials.ts';
import { createKubeClient, type KubeClient, retryReads } from './kube-client.ts';
import { KubeError } from './kube-error.ts';
import type { KubeObject, Resource } from './kube-object.ts';

const widgets: Resource = {
  group: 'example.dev',
  version: 'v1',
  plural: 'widgets',
  kind: 'Widget',
  namespaced: true,
};
const ref = { namespace: 'ns', name: 'a' };
const object: KubeObject = {
  apiVersion: 'example.dev/v1',
  kind: 'Widget',
  metadata: { ...ref, resourceVersion: '5' },
};

function setUp() {
  const clock = createVirtualClock();
  const api = createScriptedTransport();
  const tokens: string[] = ['first'];
  let reads = 0;
  const requested: string[] = [];
  const client = createKubeClient({
    transport: api.transport,
    origin: 'https://api.test:6443/clusters/one/',
    credentials: tokenFileCredentials(clock, async () => {
      reads++;
      return `${tokens.at(-1)}\n`;
    }),
    clock,
    random: seededRandom(1),
    log: silentLogger,
    metrics: { requested: ({ method, host, code }) => requested.push(`${method} ${host} ${code}`) },
  });
  return { clock, api, client, tokens, requested, reads: () => reads };
}

/** Resolves to the outcome, so that a rejection is never unhandled. */
function outcomeOf<T>(promise: Promise<T>): Promise<{ value: T } | { error: unknown }> {
  return promise.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  );
}

const requests: readonly [string, (client: KubeClient) => Promise<unknown>, string, string, unknown?][] = [
  ['get', (client) => client.get(widgets, ref), 'GET', '/namespaces/ns/widgets/a'],
  ['create', (client) => client.create(widgets, object), 'POST', '/namespaces/ns/widgets', object],
  ['replace', (client) => client.replace(widgets, object), 'PUT', '/namespaces/ns/widgets/a', object],
  [
    'replace of a subresource',
    (client) => client.replace(widgets, object, { subresource: 'status', fieldManager: 'me' }),
    'PUT',
    '/namespaces/ns/widgets/a/status?fieldManager=me',
    object,
  ],
  [
    'patch',
    (client) =>
      client.patch(widgets, ref, { type: 'apply', body: { a: 1 }, fieldManager: 'me', force: true }),
    'PATCH',
    '/namespaces/ns/widgets/a?fieldManager=me&force=true',
    { a: 1 },
  ],
  [
    'create that is only tried',
    (client) => client.create(widgets, object, { dryRun: true }),
    'POST',
    '/namespaces/ns/widgets?dryRun=All&fieldValidation=Strict',
    object,
  ],
  [
    'replace that is only tried',
    (client) => client.replace(widgets, object, { dryRun: true }),
    'PUT',
    '/namespaces/ns/widgets/a?dryRun=All&fieldValidation=Strict',
    object,
  ],
  [
    'patch that is only tried',
    (client) => client.patch(widgets, ref, { type: 'apply', body: { a: 1 }, dryRun: true }),
    'PATCH',
    '/namespaces/ns/widgets/a?dryRun=All&fieldValidation=Strict',
    { a: 1 },
  ],
  [
    'delete',
    (client) => client.delete(widgets, ref, { uid: 'u', propagation: 'Background' }),
    'DELETE',
    '/namespaces/ns/widgets/a',
    { apiVersion: 'v1', kind: 'DeleteOptions', preconditions: { uid: 'u' }, propagationPolicy: 'Background' },
  ],
  [
    'delete of the very state that was seen',
    (client) => client.delete(widgets, ref, { uid: 'u', resourceVersion: '5' }),
    'DELETE',
    '/namespaces/ns/widgets/a',
    { apiVersion: 'v1', kind: 'DeleteOptions', preconditions: { uid: 'u', resourceVersion: '5' } },
  ],
];

test.each(requests)('%s asks for the right thing', async (_verb, run, method, path, body) => {
  const { clock, api, client } = setUp();
  const outcome = outcomeOf(run(client));
  await clock.settle();
  const { request } = api.take();
  expect(request.origin).toBe('https://api.test:6443');
  expect(request.path).toBe(`/clusters/one/apis/example.dev/v1${path}`);
  expect(request.method).toBe(method);
  expect(request.body && JSON.parse(request.body)).toEqual(body);
  expect(request.headers.authorization).toBe('Bearer first');
  void outcome;
});

test('get of what is not there is undefined, delete of it is false', async () => {
  const { clock, api, client } = setUp();
  const got = outcomeOf(client.get(widgets, ref));
  await clock.settle();
  api.take().reply(404, { code: 404, reason: 'NotFound' });
  expect(await got).toEqual({ value: undefined });
  const deleted = outcomeOf(client.delete(widgets, ref));
  await clock.settle();
  api.take().reply(404, { code: 404, reason: 'NotFound' });
  expect(await deleted).toEqual({ value: false });
});

const statuses = [
  [409, { reason: 'Conflict' }, 'conflict', 'refused'],
  [409, { reason: 'AlreadyExists' }, 'alreadyExists', 'refused'],
  [403, { reason: 'Forbidden' }, 'forbidden', 'refused'],
  [
    403,
    { reason: 'Forbidden', details: { causes: [{ reason: 'NamespaceTerminating' }] } },
    'terminating',
    'refused',
  ],
  [404, { reason: 'NotFound' }, 'notFound', 'refused'],
  [422, { reason: 'Invalid' }, 'invalid', 'refused'],
  [429, { reason: 'TooManyRequests' }, 'throttled', 'refused'],
  [410, { reason: 'Expired' }, 'gone', 'refused'],
  [500, { reason: 'InternalError' }, 'unavailable', 'unknown'],
  [504, { reason: 'Timeout' }, 'unavailable', 'unknown'],
] as const;

test.each(statuses)(
  'a write answered %i %o is %s and %s, and is not repeated',
  async (status, reply, kind, outcome) => {
    const { clock, api, client } = setUp();
    const written = outcomeOf(client.replace(widgets, object));
    await clock.settle();
    api.take().reply(status, { code: status, ...reply });
    expect(await written).toMatchObject({ error: { kind, outcome, status } });
    await clock.advance(60_000);
    expect(api.requests).toHaveLength(1);
  },
);

test('an answer in plain text is a failure like any other', async () => {
  const { clock, api, client } = setUp();
  const written = outcomeOf(client.create(widgets, object));
  await clock.settle();
  api.take().reply(503, 'upstream connect error', { 'retry-after': '2' });
  expect(await written).toMatchObject({ error: { kind: 'unavailable', retryAfterMs: 2000 } });
});

test.each([
  ['1e306', {}, 86_400_000],
  [undefined, { details: { retryAfterSeconds: 1e306 } }, 86_400_000],
  [undefined, { details: { retryAfterSeconds: 'soon' } }, undefined],
  ['-1', {}, undefined],
])('Retry-After %s with %j is a rest of %s ms, never of more than a day', async (header, body, rest) => {
  const { clock, api, client } = setUp();
  const written = outcomeOf(client.create(widgets, object));
  await clock.settle();
  api.take().reply(503, body, header === undefined ? {} : { 'retry-after': header });
  expect(await written).toMatchObject({ error: { retryAfterMs: rest } });
});

test.each([
  [false, 'refused'],
  [true, 'unknown'],
] as const)('a write without a reply, sent: %s, is %s', async (sent, outcome) => {
  const { clock, api, client } = setUp();
  const written = outcomeOf(client.create(widgets, object));
  await clock.settle();
  api.take().fail({ sent });
  expect(await written).toMatchObject({ error: { kind: 'unavailable', outcome } });
});

test('scenario 50: a write without a reply in 30 s has an unknown outcome', async () => {
  const { clock, api, client } = setUp();
  const written = outcomeOf(client.create(widgets, object));
  await clock.settle();
  const asked = api.take();
  await clock.advance(30_000);
  expect(await written).toMatchObject({ error: { kind: 'unavailable', outcome: 'unknown' } });
  expect(asked.aborted).toBe(true);
});

test('scenario 52: a read is asked again when throttled, after the rest that the server asks for', async () => {
  const { clock, api, client } = setUp();
  const got = outcomeOf(client.get(widgets, ref));
  await clock.settle();
  api.take().reply(429, { code: 429 }, { 'retry-after': '3' });
  await clock.advance(2999);
  expect(api.waiting()).toBe(0);
  await clock.advance(1);
  api.take().reply(200, object);
  expect(await got).toEqual({ value: object });
});

test('a list is asked again as well when the server could not answer', async () => {
  const { clock, api, client } = setUp();
  const listed = outcomeOf(client.list(widgets, { namespace: 'ns' }));
  await clock.settle();
  api.take().reply(503, { code: 503 });
  await clock.advance(1000);
  api.take().reply(200, { items: [], metadata: { resourceVersion: '9' } });
  expect(await listed).toMatchObject({ value: { resourceVersion: '9' } });
});

test('a read gives up after four attempts', async () => {
  const { clock, api, client } = setUp();
  const got = outcomeOf(client.get(widgets, ref));
  for (let attempt = 0; attempt < 4; attempt++) {
    await clock.advance(1000);
    api.take().fail();
  }
  expect(await got).toMatchObject({ error: { kind: 'unavailable' } });
  await clock.advance(60_000);
  expect(api.requests).toHaveLength(4);
});

test('scenario 53: a 401 makes the token be read again, once, even for a write', async () => {
  const { clock, api, client, tokens, requested } = setUp();
  const written = outcomeOf(client.create(widgets, object));
  await clock.settle();
  tokens.push('second');
  const refusal = api.take().stream(401);
  await clock.settle();
  expect(refusal.destroyed).toBe(true);
  const again = api.take();
  expect(again.request.headers.authorization).toBe('Bearer second');
  again.reply(401, { code: 401 });
  expect(await written).toMatchObject({ error: { kind: 'unauthorized', outcome: 'refused' } });
  expect(requested).toEqual(['POST api.test:6443 401', 'POST api.test:6443 401']);
});

test('a token file is read again when it is older than 60 s, and not before', async () => {
  const { clock, api, client, reads } = setUp();
  const ask = async () => {
    const got = outcomeOf(client.get(widgets, ref));
    await clock.settle();
    api.take().reply(200, object);
    await got;
  };
  await ask();
  await clock.advance(59_999);
  await ask();
  expect(reads()).toBe(1);
  await clock.advance(1);
  await ask();
  expect(reads()).toBe(2);
});

test('requests at the same time share one reading of the token', async () => {
  const { clock, api, client, reads } = setUp();
  const both = [outcomeOf(client.get(widgets, ref)), outcomeOf(client.get(widgets, ref))];
  await clock.settle();
  expect([reads(), api.waiting()]).toEqual([1, 2]);
  while (api.waiting() > 0) api.take().reply(200, object);
  await Promise.all(both);
});

test('list gathers all pages of one state', async () => {
  const { clock, api, client } = setUp();
  const listed = outcomeOf(client.list(widgets, { namespace: 'ns', labelSelector: 'a=b' }));
  await clock.settle();
  const first = api.take();
  expect(first.request.path).toBe(
    '/clusters/one/apis/example.dev/v1/namespaces/ns/widgets?limit=100&labelSelector=a%3Db',
  );
  first.reply(200, {
    items: [{ metadata: { name: 'a' } }],
    metadata: { resourceVersion: '9', continue: 'more' },
  });
  await clock.settle();
  const second = api.take();
  expect(second.url.searchParams.get('continue')).toBe('more');
  second.reply(200, { items: [{ metadata: { name: 'b' } }], metadata: { resourceVersion: '9' } });
  expect(await listed).toEqual({
    value: {
      resourceVersion: '9',
      items: ['a', 'b'].map((name) => ({ apiVersion: 'example.dev/v1', kind: 'Widget', metadata: { name } })),
    },
  });
});

test('rubbish with status 200 is an error, not a value', async () => {
  const { clock, api, client } = setUp();
  const got = outcomeOf(client.get(widgets, ref));
  await clock.settle();
  api.take().reply(200, '<html>');
  expect(await got).toMatchObject({ error: { name: 'KubeError', kind: 'unknown' } });
});

test('a namespaced object without a namespace is refused before anything is sent', async () => {
  const { client, api } = setUp();
  const got = outcomeOf((async () => client.get(widgets, { name: 'a' }))());
  expect(await got).toMatchObject({ error: { message: 'Widget a needs a namespace' } });
  expect(api.requests).toEqual([]);
});

const failure = (details: Partial<ConstructorParameters<typeof KubeError>[1]>) =>
  new KubeError('no', { kind: 'unavailable', status: 0, reason: '', outcome: 'unknown', ...details });

/** Returns how often a read that fails with this error is sent within two minutes. */
async function timesRead(error: KubeError): Promise<number> {
  const clock = createVirtualClock();
  let times = 0;
  const reading = retryReads({ clock, random: seededRandom(1) }, async () => {
    times += 1;
    throw error;
  });
  const ended = expect(reading).rejects.toBe(error);
  await clock.advance(120_000);
  await ended;
  return times;
}

test.each([
  ['that was not answered is made four times', failure({}), 4],
  ['that was throttled is, too', failure({ kind: 'throttled', status: 429 }), 4],
  ['that has used its whole deadline has waited long enough', failure({ cause: new DeadlineError('') }), 1],
  [
    'that is to rest for longer than 30 s is left to who asked',
    failure({ kind: 'throttled', retryAfterMs: 30_001 }),
    1,
  ],
  ['that was refused is made once', failure({ kind: 'forbidden', status: 403, outcome: 'refused' }), 1],
])('a read %s', async (_, error, times) => {
  expect(await timesRead(error)).toBe(times);
});
