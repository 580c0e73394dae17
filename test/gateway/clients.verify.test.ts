import { join } from 'node:path';
import OpenAI from 'openai';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { chatWorker } from '../../scripts/demo/chat-worker.ts';
import { until } from '../builders/until.ts';
import { PYPI_OPENAI, printedBy, pythonWith } from '../tools/python.ts';
import { type GatewayBench, gatewayBench, NAMESPACE } from './gateway-bench.ts';

const SAID = 'word0 word1 word2 ';
const MINUTE = 60_000;
/** Default timeout of the official clients, and slightly less. */
const DEFAULT_TIMEOUT = 10 * MINUTE;
const HELD = DEFAULT_TIMEOUT - 10_000;

let bench: GatewayBench;
beforeAll(async () => {
  bench = await gatewayBench();
});
afterAll(() => bench?.close());

const figuresOf = (group: string) => bench.picker.figures().find(({ name }) => name === group);

async function created(group: string, gateway?: Record<string, unknown>): Promise<string> {
  await bench.createGroup(group, gateway);
  await until('the group is served', () => figuresOf(group));
  return `${bench.url}/${NAMESPACE}/${group}/v1`;
}

test(
  'LiteLLM is answered, whole and as a stream',
  async ({ skip }) => {
    const python = await pythonWith(['litellm==1.110.2']);
    if ('missing' in python) return skip(python.missing);
    const base = await created('chat');
    await bench.publish('chat', 'chat-a', chatWorker({ tokenMs: 2 }));
    // Without it each start asks the network for prices.
    const env = { LITELLM_LOCAL_MODEL_COST_MAP: 'True' };
    const answers = await printedBy(python.path, [join(import.meta.dirname, 'litellm-client.py'), base], env);
    expect(answers).toEqual({ whole: SAID, streamed: SAID });
  },
  15 * MINUTE,
);

test(
  'the OpenAI clients of npm and PyPI, as they are by default, are served by a worker that comes after almost ten minutes',
  async ({ skip }) => {
    const python = await pythonWith([PYPI_OPENAI]);
    if ('missing' in python) return skip(python.missing);
    expect(OpenAI.DEFAULT_TIMEOUT).toBe(DEFAULT_TIMEOUT);
    const base = await created('slow');
    const begin = performance.now();
    const client = new OpenAI({ baseURL: base, apiKey: 'key' });
    const ofNpm = client.chat.completions.create({
      ...{ model: 'chat', max_tokens: 3 },
      messages: [{ role: 'user', content: 'hello' }],
    });
    const ofPython = printedBy(python.path, [join(import.meta.dirname, 'openai-client.py'), 'answers', base]);
    const outcome = Promise.all([ofNpm, ofPython]);
    outcome.catch(() => {});
    await until('almost ten minutes are over', () => performance.now() - begin > HELD, DEFAULT_TIMEOUT);
    await bench.publish('slow', 'slow-a', chatWorker({ tokenMs: 2 }));
    const [fromNpm, fromPython] = await outcome;
    expect(fromNpm.choices[0]?.message.content).toBe(SAID);
    expect(fromPython).toEqual({ whole: SAID, streamed: SAID });
  },
  15 * MINUTE,
);
