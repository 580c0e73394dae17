import {
  request as httpRequest,
  type IncomingMessage,
  type RequestListener,
  type ServerResponse,
} from 'node:http';
import { Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { until } from '../builders/until.ts';
import { type GatewayBench, gatewayBench, NAMESPACE } from './gateway-bench.ts';

let bench: GatewayBench;
beforeAll(async () => {
  bench = await gatewayBench();
});
afterAll(() => bench?.close());

const reportOf = (group: string) => {
  const report = bench.picker.report().find(({ name }) => name === group);
  if (!report) throw new Error(`${group} is not served`);
  return report;
};
/** Returns the final work of a group's requests. */
const workOf = (group: string): number => {
  const { arrivedWork, overestimatedWork } = reportOf(group);
  return arrivedWork - overestimatedWork;
};
const isIdle = (group: string): boolean => reportOf(group).workers.every(({ requests }) => requests === 0);

async function served(group: string, answer: RequestListener): Promise<string> {
  await bench.createGroup(group, { work: 'OpenAITokens' });
  await bench.publish(group, `${group}-a`, answer);
  const figures = () => bench.picker.figures().find(({ name }) => name === group);
  await until('its worker is known', () => figures()?.readyWorkers === 1);
  return `${bench.url}/${NAMESPACE}/${group}`;
}

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

/** Answers each request by its body. */
const answering =
  (answer: (body: Buffer, response: ServerResponse, request: IncomingMessage) => void): RequestListener =>
  (request, response) => {
    bodyOf(request).then(
      (body) => answer(body, response, request),
      () => response.destroy(),
    );
  };

const post = (url: string, body: string | object, headers: Record<string, string> = {}) =>
  fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });

const chat = (extra: object) => ({ model: 'm', messages: [{ role: 'user', content: 'Hello' }], ...extra });

function usageOf(at: number) {
  return { prompt_tokens: 10 + at, completion_tokens: 3 * at, total_tokens: 10 + 4 * at };
}

/** Answers as vLLM does, with a usage from the seed of the request. */
const completes = answering((body, response) => {
  const { seed, stream } = JSON.parse(body.toString());
  const usage = usageOf(seed);
  if (!stream) {
    response.setHeader('content-type', 'application/json');
    const content = `I say "usage": {"total_tokens": 9} and ${'x'.repeat(seed * 300)}`;
    response.end(JSON.stringify({ choices: [{ message: { content } }], usage, prompt_logprobs: null }));
    return;
  }
  response.setHeader('content-type', 'text/event-stream');
  const events = Array.from({ length: 5 }, () => ({ choices: [{ delta: { content: 'y' } }], usage: null }));
  const sent = [...events, { choices: [], usage }].map((event) => `data: ${JSON.stringify(event)}\n\n`);
  for (const event of sent) response.write(event);
  response.end('data: [DONE]\n\n');
});

test('reports the usage of streams and of answers exactly', async () => {
  const url = await served('exact', completes);
  const asked = Array.from({ length: 200 }, (_, seed) => ({ seed, stream: seed % 2 === 0 }));
  const replies = await Promise.all(asked.map((one) => post(`${url}/v1/chat/completions`, chat(one))));
  for (const reply of replies) expect(reply.status).toBe(200);
  await Promise.all(replies.map((reply) => reply.text()));
  await until('all have ended', () => isIdle('exact'));
  const sum = asked.reduce((total, { seed }) => total + usageOf(seed).total_tokens, 0);
  expect(workOf('exact')).toBe(sum);
  await until('callers see the same', async () =>
    (await bench.registry.expose()).includes(`name="exact",caller="",unit="tokens"} ${sum}`),
  );
});

test('shows the work of a request by its body while it runs', async () => {
  const gate = Promise.withResolvers<void>();
  const waits = answering((_, response) => void gate.promise.then(() => response.end('{}')));
  const url = await served('running', waits);
  const body = JSON.stringify(chat({ max_tokens: 300, n: 2 }));
  const reply = post(`${url}/v1/chat/completions?x=1`, body);
  await until('it runs', () => !isIdle('running'));
  expect(reportOf('running').workers[0]?.work).toBe(Math.ceil(body.length / 4) + 600);
  gate.resolve();
  expect((await reply).status).toBe(200);
});

test('passes bodies on that are longer than the buffer, byte for byte', async () => {
  const echoes = answering((body, response, request) => {
    response.setHeader('content-type', 'application/json');
    const { url } = request;
    response.end(JSON.stringify({ url, bytes: body.length, usage: { total_tokens: body.at(-3) } }));
  });
  const url = await served('long', echoes);
  const long = JSON.stringify(chat({ user: 'x'.repeat(3_000_000) }));
  const reply = await post(`${url}/v1/completions`, long);
  expect(await reply.json()).toMatchObject({ url: '/v1/completions', bytes: long.length });
  await until('it has ended', () => isIdle('long'));
  expect(workOf('long')).toBe('x'.charCodeAt(0));
});

test('waits for a body that comes in pieces', async () => {
  const says = answering((body, response) => response.end(String(body.length)));
  const url = await served('pieces', says);
  for (const pieces of [3, 60]) {
    const body = Readable.from(
      (async function* () {
        for (let at = 0; at < pieces; at++) {
          yield Buffer.from('x'.repeat(50_000));
          await new Promise((resolve) => setImmediate(resolve));
        }
      })(),
    );
    const headers = { 'content-type': 'application/json' };
    const reply = await new Promise<IncomingMessage>((resolve, reject) => {
      const sent = httpRequest(`${url}/v1/completions`, { method: 'POST', headers }, resolve);
      sent.on('error', reject);
      body.pipe(sent);
    });
    expect((await bodyOf(reply)).toString()).toBe(String(pieces * 50_000));
  }
});

test('lets the worker answer what is no JSON, and counts it by its bytes', async () => {
  const refuses = answering((body, response) => response.writeHead(400).end(body));
  const url = await served('broken', refuses);
  const reply = await post(`${url}/v1/completions`, '{"prompt": [[[[');
  expect([reply.status, await reply.text()]).toEqual([400, '{"prompt": [[[[']);
  await until('it has ended', () => isIdle('broken'));
  expect(workOf('broken')).toBe(4);
});

test('counts 1 for what takes no prompt', async () => {
  const url = await served('other', (request, response) => {
    request.resume();
    response.setHeader('content-type', 'application/json');
    response.end('{"usage": {"total_tokens": 50}}');
  });
  await fetch(`${url}/v1/models`);
  await post(`${url}/v1/audio/transcriptions`, 'x', { 'content-type': 'multipart/form-data' });
  await post(`${url}/v1/chat/completions`, 'x', { 'content-type': 'text/plain' });
  await until('all have ended', () => isIdle('other') && workOf('other') === 3);
});

test('counts the events of a stream that says no usage, also where the client leaves it', async () => {
  const event = 'data: {"choices": [{"delta": {"content": "y"}}]}\n\n';
  const url = await served(
    'events',
    answering((body, response) => {
      response.setHeader('content-type', 'text/event-stream');
      const { events, ends } = JSON.parse(body.toString());
      // Chunks end anywhere.
      const text = event.repeat(events) + (ends ? 'data: [DONE]\n\n' : '');
      for (let at = 0; at < text.length; at += 7) response.write(text.slice(at, at + 7));
      if (ends) response.end();
    }),
  );
  const whole = JSON.stringify(chat({ stream: true, events: 40, ends: true }));
  await (await post(`${url}/v1/chat/completions`, whole)).text();
  await until('it has ended', () => isIdle('events'));
  expect(workOf('events')).toBe(Math.ceil(whole.length / 4) + 40);

  const leaving = new AbortController();
  const cut = JSON.stringify(chat({ stream: true, events: 64, ends: false }));
  const stream = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: cut,
    signal: leaving.signal,
  });
  let seen = '';
  for await (const chunk of stream.body ?? []) {
    seen += Buffer.from(chunk).toString();
    if (seen.length === event.length * 64) break;
  }
  leaving.abort();
  const before = workOf('events');
  expect(before).toBeGreaterThan(0);
  await until('it has ended', () => isIdle('events'));
  const all = Math.ceil(whole.length / 4) + 40 + Math.ceil(cut.length / 4) + 64;
  expect(workOf('events')).toBe(all);
});

test('keeps the estimate of a request whose response is compressed', async () => {
  const compresses = answering((_, response) => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' });
    response.end(gzipSync('{"usage": {"total_tokens": 5}}'));
  });
  const url = await served('packed', compresses);
  const body = JSON.stringify(chat({ max_completion_tokens: 100 }));
  expect(await (await post(`${url}/v1/chat/completions`, body)).json()).toEqual({
    usage: { total_tokens: 5 },
  });
  await until('it has ended', () => isIdle('packed'));
  expect(workOf('packed')).toBe(Math.ceil(body.length / 4) + 100);
});

test('reads the usage at the end of a response of any length', async () => {
  const url = await served(
    'endless',
    answering((_, response) => {
      response.setHeader('content-type', 'application/json');
      response.write('{"data": [');
      for (let at = 0; at < 100; at++) response.write(`"${'0.1,'.repeat(25_000)}",`);
      response.end('0], "usage": {"prompt_tokens": 7, "total_tokens": 7}}');
    }),
  );
  const reply = await post(`${url}/v1/embeddings`, { input: 'text' });
  expect((await reply.text()).length).toBeGreaterThan(10_000_000);
  await until('it has ended', () => isIdle('endless'));
  expect(workOf('endless')).toBe(7);
});

test('holds a request with its body at zero workers', async () => {
  await bench.createGroup('held', { work: 'OpenAITokens' });
  await until('the group is served', () => bench.picker.figures().some(({ name }) => name === 'held'));
  const replies = [1, 2, 3].map((seed) =>
    post(`${bench.url}/${NAMESPACE}/held/v1/chat/completions`, chat({ seed })),
  );
  await until('they wait', () => reportOf('held').heldRequests === 3);
  expect(reportOf('held').heldWork).toBeGreaterThan(3 * 512);
  await bench.publish('held', 'held-a', completes);
  for (const reply of await Promise.all(replies)) expect(reply.status).toBe(200);
});
