import { expect, test } from 'vitest';
import { ResponseUsage } from './response-usage.ts';

const JSON_HEAD = { contentType: 'application/json', contentEncoding: undefined };
const SSE_HEAD = { contentType: 'text/event-stream; charset=utf-8', contentEncoding: undefined };

function read(text: string, head = JSON_HEAD, size = text.length) {
  const usage = new ResponseUsage(head);
  for (let at = 0; at < text.length; at += size) usage.push(Buffer.from(text.slice(at, at + size)));
  return usage.read();
}

test('reads the total, or the sum of both parts', () => {
  const tokens = (usage: object) => read(JSON.stringify({ choices: [], usage }))?.tokens;
  expect(tokens({ prompt_tokens: 3, total_tokens: 9, prompt_tokens_details: { cached_tokens: 1 } })).toBe(9);
  expect(tokens({ prompt_tokens: 3, completion_tokens: 4 })).toBe(7);
  expect(tokens({ input_tokens: 3, output_tokens: 5 })).toBe(8);
  expect(tokens({ prompt_tokens: 3 })).toBe(3);
  expect(tokens({ completion_tokens: 3 })).toBeUndefined();
});

test('takes no text of the model for usage', () => {
  const content = ' "usage": {"total_tokens": 1}, "usage":{"total_tokens":1}';
  expect(read(JSON.stringify({ usage: { total_tokens: 5 }, content }))?.tokens).toBe(5);
  expect(read(JSON.stringify({ content }))).toBeUndefined();
});

test.each([1, 3, 7, 100, 1_000_000])('reads a response in chunks of %i bytes', (size) => {
  const long = JSON.stringify({ content: 'x'.repeat(100_000), usage: { total_tokens: 5 } });
  expect(read(long, JSON_HEAD, size)?.tokens).toBe(5);
  const events = 'data: {"choices": [1]}\n\n'.repeat(20);
  expect(read(`${events}data: [DONE]\n\n`, SSE_HEAD, size)).toEqual({ tokens: undefined, events: 20 });
  const usage = 'data: {"choices": [], "usage": {"total_tokens": 44}}\n\n';
  expect(read(`${events}${usage}data: [DONE]\n\n`, SSE_HEAD, size)?.tokens).toBe(44);
});

test('counts the events of a stream that is cut', () => {
  expect(read('data: {}\r\n\r\ndata: {}\r\n\r\ndata: {"cho', SSE_HEAD)?.events).toBe(3);
});

test('knows nothing of a stream that was not shown', () => {
  expect(new ResponseUsage(SSE_HEAD).read()).toBeUndefined();
});

test('reads nothing of a compressed response', () => {
  expect(
    read('{"usage": {"total_tokens": 5}}', { ...JSON_HEAD, contentEncoding: 'gzip' } as never),
  ).toBeUndefined();
});
