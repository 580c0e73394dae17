import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { EndedRequest } from './access-log.ts';
import { countsTokens, DEFAULT_OUTPUT_TOKENS, endedTokens, estimateTokens } from './openai-work.ts';

const CHAT = '/v1/chat/completions';

function estimate(body: unknown, path = CHAT) {
  const bytes = Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
  return { ...estimateTokens(path, { bytes, isWhole: true, contentLength: undefined }), bytes: bytes.length };
}

test.each([
  ['POST', '/v1/chat/completions', 'application/json', true],
  ['POST', '/v1/completions?user=a', 'application/json; charset=utf-8', true],
  ['POST', '/openai/v1/responses/', 'application/json', true],
  ['POST', '/v1/embeddings', 'application/json', true],
  ['GET', '/v1/responses', 'application/json', false],
  ['POST', '/v1/responses/resp_1/cancel', 'application/json', false],
  ['POST', '/v1/audio/speech?like=/v1/completions', 'application/json', false],
  ['POST', '/v1/chat/completions', 'multipart/form-data', false],
  ['POST', '/v1/chat/completions', undefined, false],
])('%s %s of %s counts tokens: %s', (method, path, contentType, counts) => {
  expect(countsTokens({ method, path, contentType })).toBe(counts);
});

test('estimates a prompt by its bytes, and the output by what the request allows', () => {
  const messages = [{ role: 'user', content: 'x'.repeat(400) }];
  expect(estimate({ messages })).toMatchObject({ output: DEFAULT_OUTPUT_TOKENS });
  const { prompt, bytes } = estimate({ messages, max_tokens: 7 });
  expect(prompt).toBe(Math.ceil(bytes / 4));
  expect(estimate({ messages, max_tokens: 7 }).output).toBe(7);
  expect(estimate({ messages, max_tokens: 7, max_completion_tokens: 20, n: 3 }).output).toBe(60);
  expect(estimate({ input: 'x', max_output_tokens: 30 }, '/v1/responses').output).toBe(30);
  expect(estimate({ prompt: 'x', max_tokens: 5, best_of: 4 }, '/v1/completions').output).toBe(20);
  expect(estimate({ input: 'x' }, '/v1/embeddings').output).toBe(0);
});

test('bounds what a client claims', () => {
  expect(estimate({ max_tokens: 4_000_000, n: 1e6 }).output).toBe(8192 * 128);
  for (const wrong of [null, 0, -5, 1.5, '9', 1e300, [9]]) {
    expect(estimate({ max_tokens: wrong, n: wrong }).output).toBe(DEFAULT_OUTPUT_TOKENS);
  }
  const body = { bytes: Buffer.from('{"a":"'), isWhole: false, contentLength: 1e15 };
  expect(estimateTokens(CHAT, body).prompt).toBe(1_000_000);
});

test('takes limits of the request itself alone', () => {
  const tools = [{ function: { parameters: { max_tokens: 3, n: 2 } } }];
  const content = 'say "max_tokens": 9, \\"n\\": 4';
  expect(estimate({ tools, messages: [{ content }] }).output).toBe(DEFAULT_OUTPUT_TOKENS);
});

test('counts an image or a recording as a thing, not by its length', () => {
  const url = `data:image/png;base64,${'A'.repeat(400_000)}`;
  const audio = { data: 'B'.repeat(400_000), format: 'wav' };
  expect(
    estimate({ messages: [{ content: [{ image_url: { url } }, { input_audio: audio }] }] }).prompt,
  ).toBeLessThan(2100);
});

test('counts what was not read of a body by its length, unless that goes on with an image', () => {
  const cut = (text: string) =>
    estimateTokens(CHAT, { bytes: Buffer.from(text), isWhole: false, contentLength: 4_000_000 });
  expect(cut('{"max_tokens": 5, "messages": [{"content": "aaa')).toEqual({ prompt: 1_000_000, output: 5 });
  expect(cut(`{"messages": [{"url": "data:image/png;base64,${'A'.repeat(4000)}`).prompt).toBeLessThan(1100);
});

test('counts what is no JSON object by its bytes', () => {
  for (const text of ['', 'hello', '[1, 2', '"max_tokens": 5', '\u0000'.repeat(9)]) {
    expect(estimate(text)).toMatchObject({ output: 0, prompt: Math.max(1, Math.ceil(text.length / 4)) });
  }
});

test('estimates any bytes within its bounds', () => {
  const hostile = fc.oneof(
    fc.uint8Array({ maxLength: 200 }),
    fc
      .string({ unit: fc.constantFrom('{', '[', '"', '\\', ':', ',', '}', ']', '1', 'n', ' ') })
      .map(Buffer.from),
    fc.json().map((text) => Buffer.from(text)),
  );
  fc.assert(
    fc.property(hostile, fc.boolean(), (bytes, isWhole) => {
      const { prompt, output } = estimateTokens(CHAT, { bytes, isWhole, contentLength: bytes.length });
      expect(prompt).toBe(Math.max(1, Math.ceil(bytes.length / 4)));
      expect(output).toBeGreaterThanOrEqual(0);
      expect(output).toBeLessThanOrEqual(8192 * 128);
    }),
  );
});

test.each([
  '['.repeat(1 << 20),
  '{"a":'.repeat(200_000),
  '\\"'.repeat(500_000),
  '"max_tokens":'.repeat(80_000),
])('reads a hostile body to its end (%#)', (text) => {
  expect(estimate(text).prompt).toBe(Math.ceil(text.length / 4));
});

test('takes the work of a request from what its worker said, then from what is known', () => {
  const guess = { prompt: 10, output: 100 };
  const end = (status: number, usage?: Partial<NonNullable<EndedRequest['usage']>>): EndedRequest => ({
    ...{ id: 'a', requestId: 'a', upstream: undefined, status, attempts: 1, durationMs: 1, firstByteMs: 1 },
    usage: usage && { tokens: undefined, events: undefined, ...usage },
  });
  expect(endedTokens(guess, end(200, { tokens: 42, events: 9 }))).toBe(42);
  expect(endedTokens(guess, end(200, { events: 9 }))).toBe(19);
  expect(endedTokens(guess, end(200))).toBe(110);
  expect(endedTokens(guess, end(400))).toBe(10);
  for (const status of [0, 408, 429, 499, 500, 503]) expect(endedTokens(guess, end(status))).toBe(110);
});
