import { expect, test } from 'vitest';
import { createScriptedTransport } from '../../../test/builders/scripted-transport.ts';
import { createVirtualClock } from '../../../test/builders/virtual-clock.ts';
import { silentLogger } from '../../lib/logger.ts';
import { seededRandom } from '../../lib/random.ts';
import { Secret } from '../../lib/secret.ts';
import { AccessReviews } from './access-review.ts';
import { tokenCredentials } from './credentials.ts';
import { createKubeClient } from './kube-client.ts';

const question = {
  verb: 'update',
  resource: { group: 'example.dev', version: 'v1', plural: 'widgets', kind: 'Widget', namespaced: true },
  subresource: 'status',
  namespace: 'ns',
};

function setUp() {
  const clock = createVirtualClock();
  const api = createScriptedTransport();
  const client = createKubeClient({
    transport: api.transport,
    origin: 'https://api.test:6443',
    credentials: tokenCredentials(new Secret('token')),
    clock,
    random: seededRandom(1),
    log: silentLogger,
  });
  const reviews = new AccessReviews(client, clock);
  const ask = async (status: number, body: unknown) => {
    const answer = reviews.may(question);
    await clock.settle();
    if (api.waiting() > 0) api.take().reply(status, body);
    return answer;
  };
  return { clock, api, reviews, ask };
}

test('asks for exactly the right in question, once for all who ask at the same time', async () => {
  const { clock, api, reviews } = setUp();
  const answers = [reviews.may(question), reviews.may(question)];
  await clock.settle();
  const asked = api.take();
  expect(asked.url.pathname).toBe('/apis/authorization.k8s.io/v1/selfsubjectaccessreviews');
  expect(JSON.parse(String(asked.request.body))).toMatchObject({
    spec: {
      resourceAttributes: {
        verb: 'update',
        group: 'example.dev',
        resource: 'widgets',
        subresource: 'status',
        namespace: 'ns',
      },
    },
  });
  asked.reply(201, { status: { allowed: false } });
  expect(await Promise.all(answers)).toEqual([false, false]);
  expect(api.waiting()).toBe(0);
});

test('believes a yes for a minute and a no for five seconds', async () => {
  const { clock, api, ask } = setUp();
  expect(await ask(201, { status: { allowed: true } })).toBe(true);
  await clock.advance(59_999);
  expect(await ask(201, { status: { allowed: false } })).toBe(true);
  await clock.advance(1);
  expect(await ask(201, { status: { allowed: false } })).toBe(false);
  await clock.advance(5_000);
  expect(await ask(201, { status: { allowed: true } })).toBe(true);
  expect(api.requests).toHaveLength(3);
});

test('takes an API server that does not answer such questions as forbidding nothing', async () => {
  const { ask } = setUp();
  expect(await ask(403, { reason: 'Forbidden', message: 'no' })).toBe(true);
});
