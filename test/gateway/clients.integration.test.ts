import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { promisify } from 'node:util';
import OpenAI, { InternalServerError } from 'openai';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import { chatWorker } from '../../scripts/demo/chat-worker.ts';
import { until } from '../builders/until.ts';
import { PYPI_OPENAI, printedBy, pythonWith } from '../tools/python.ts';
import { type GatewayBench, gatewayBench, NAMESPACE } from './gateway-bench.ts';

const execute = promisify(execFile);
const PYTHON_CLIENT = join(import.meta.dirname, 'openai-client.py');
const NO_OFFERS = { reason: 'NoOffers', message: 'No offer fits the template.' };

let bench: GatewayBench;
beforeAll(async () => {
  bench = await gatewayBench();
  await created('chat');
  await bench.publish('chat', 'chat-a', chatWorker({ tokenMs: 2 }));
  await until('the worker is known', () => figuresOf('chat')?.readyWorkers === 1);
});
afterAll(() => bench?.close());
afterEach(() => vi.restoreAllMocks());

const figuresOf = (group: string) => bench.picker.figures().find(({ name }) => name === group);
const baseOf = (group: string) => `${bench.url}/${NAMESPACE}/${group}/v1`;

async function created(group: string): Promise<void> {
  await bench.createGroup(group);
  await until('the group is served', () => figuresOf(group));
}

const ASKED = {
  model: 'chat',
  max_tokens: 3,
  messages: [{ role: 'user', content: 'hello' }],
} satisfies OpenAI.ChatCompletionCreateParams;
const SAID = 'word0 word1 word2 ';

const clientOf = (group: string, maxRetries = 0) =>
  new OpenAI({ baseURL: baseOf(group), apiKey: 'key', maxRetries });

test('the OpenAI client of npm is answered, whole and as a stream', async () => {
  const client = clientOf('chat');
  const whole = await client.chat.completions.create(ASKED);
  expect(whole.choices[0]?.message.content).toBe(SAID);
  const options = { stream: true, stream_options: { include_usage: true } } as const;
  let streamed = '';
  let usage: OpenAI.CompletionUsage | null | undefined;
  for await (const part of await client.chat.completions.create({ ...ASKED, ...options })) {
    streamed += part.choices[0]?.delta.content ?? '';
    usage = part.usage ?? usage;
  }
  expect(streamed).toBe(SAID);
  expect(usage?.completion_tokens).toBe(3);
});

test('the OpenAI client of npm raises its own error with the reason when no worker can be started', async () => {
  await created('blocked');
  await bench.block('blocked', NO_OFFERS);
  const error = await clientOf('blocked')
    .chat.completions.create(ASKED)
    .catch((raised: unknown) => raised);
  expect(error).toBeInstanceOf(InternalServerError);
  expect(error).toMatchObject({
    ...{ status: 503, code: 'workers_blocked', type: 'service_unavailable' },
    message: '503 NoOffers: No offer fits the template.',
  });
});

test('the OpenAI client of npm tries again after Retry-After, and is served when a worker came meanwhile', async () => {
  await created('later');
  await bench.block('later', NO_OFFERS);
  await until('it is refused', async () => (await fetch(baseOf('later'))).status === 503);
  const waits: (number | undefined)[] = [];
  const { setTimeout: timer } = globalThis;
  vi.spyOn(globalThis, 'setTimeout').mockImplementation(((
    run: (...given: unknown[]) => void,
    ms?: number,
    ...rest: unknown[]
  ) => {
    if (ms !== 60_000) return timer(() => run(...rest), ms);
    // The minute passes at once, and a worker comes in it.
    waits.push(ms);
    const unblocked = bench.block('later', undefined);
    return unblocked.then(() => bench.publish('later', 'later-a', chatWorker({ tokenMs: 2 }))).then(run);
  }) as unknown as typeof setTimeout);
  const answer = await clientOf('later', 1).chat.completions.create(ASKED);
  expect(answer.choices[0]?.message.content).toBe(SAID);
  expect(waits).toEqual([60_000]);
});

test('the OpenAI client of PyPI is answered, whole and as a stream, and obeys Retry-After', {
  // The first run fetches it.
  timeout: 10 * 60_000,
}, async ({ skip }) => {
  const python = await pythonWith([PYPI_OPENAI]);
  if ('missing' in python) return skip(python.missing);
  const answers = await printedBy(python.path, [PYTHON_CLIENT, 'answers', baseOf('chat')]);
  expect(answers).toEqual({ whole: SAID, streamed: SAID });
  await created('blocked-python');
  await bench.block('blocked-python', NO_OFFERS);
  const refused = await printedBy(python.path, [PYTHON_CLIENT, 'refused', baseOf('blocked-python')]);
  expect(refused).toEqual({
    ...{ type: 'InternalServerError', status: 503, code: 'workers_blocked', slept: [60] },
    message: 'NoOffers: No offer fits the template.',
  });
});

test('curl receives a stream as it comes, to its end', async () => {
  const body = JSON.stringify({ ...ASKED, stream: true });
  const type = ['--header', 'content-type: application/json'];
  const url = `${baseOf('chat')}/chat/completions`;
  const { stdout } = await execute('curl', ['-sN', '--fail', ...type, '--data', body, url]);
  const events = stdout.trim().split('\n\n');
  expect(events.filter((event) => event.includes('"content":"word'))).toHaveLength(3);
  expect(events.at(-1)).toBe('data: [DONE]');
});

test('a WebSocket opens to a group at zero when its worker comes, and carries messages both ways', async () => {
  await created('echo');
  const socket = new WebSocket(`${baseOf('echo').replace('http', 'ws')}/realtime`);
  await until('it waits', () => figuresOf('echo')?.heldRequests === 1);
  const server = createServer();
  const paths: (string | undefined)[] = [];
  new WebSocketServer({ server }).on('connection', (connection, { url }) => {
    paths.push(url);
    connection.on('message', (message) => connection.send(message));
  });
  await bench.publish('echo', 'echo-a', server);
  await once(socket, 'open');
  for (const text of ['first', 'second']) {
    socket.send(text);
    const [message] = (await once(socket, 'message')) as [Buffer];
    expect(String(message)).toBe(text);
  }
  expect(paths).toEqual(['/v1/realtime']);
  socket.close();
  await once(socket, 'close');
  await until('its end is counted', () => figuresOf('echo')?.inFlightRequests === 0);
});
