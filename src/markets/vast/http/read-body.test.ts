import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import type { TransportResponse } from '../../../lib/transport.ts';
import { UnreadableBody } from '../errors/classify-failure.ts';
import { parseReply, readBody } from './reply-body.ts';

const bytes = (...values: number[]) => Uint8Array.of(...values);
const text = (value: string) => new TextEncoder().encode(value);

/** Returns a reply with these chunks; `given` counts the chunks that were read. */
function replyOf(...chunks: (Uint8Array | Error)[]) {
  const seen = { given: 0, destroyed: 0 };
  const response: TransportResponse = {
    status: 200,
    headers: {},
    destroy: () => {
      seen.destroyed += 1;
    },
    body: (async function* () {
      for (const chunk of chunks) {
        if (chunk instanceof Error) throw chunk;
        seen.given += 1;
        yield chunk;
      }
    })(),
  };
  return { response, seen };
}

describe('a body', () => {
  test('may be as long as the cap, and its connection stays', async () => {
    const { response, seen } = replyOf(text('abc'), text('de'));
    expect(await readBody(response, 5)).toBe('abcde');
    expect(seen.destroyed).toBe(0);
  });

  test('one byte longer is given up at that byte, with its connection', async () => {
    const { response, seen } = replyOf(text('abc'), text('def'), text('never'));
    await expect(readBody(response, 5)).rejects.toThrow('longer than 5 bytes');
    expect(seen).toEqual({ given: 2, destroyed: 1 });
  });

  test('may cut a character between two chunks', async () => {
    const [first, second, third] = text('€');
    const { response } = replyOf(bytes(first ?? 0, second ?? 0), bytes(third ?? 0));
    expect(await readBody(response, 9)).toBe('€');
  });

  test.each([
    ['holds what is not UTF-8', [text('ok'), bytes(0xff), text('never')], 2],
    ['ends within a character', [bytes(0xe2, 0x82)], 1],
  ])('that %s is given up', async (_, chunks, given) => {
    const { response, seen } = replyOf(...chunks);
    const reading = readBody(response, 99);
    await expect(reading).rejects.toBeInstanceOf(UnreadableBody);
    await expect(reading).rejects.toThrow('not UTF-8');
    expect(seen).toEqual({ given, destroyed: 1 });
  });

  test('that breaks off fails as the connection did', async () => {
    const broken = new Error('reset');
    const { response, seen } = replyOf(text('a'), broken);
    await expect(readBody(response, 99)).rejects.toBe(broken);
    expect(seen.destroyed).toBe(1);
  });
});

describe('a reply', () => {
  const schema = z.object({ id: z.number() });
  const body = '{"id": 5}';

  test.each([
    ['of 199', { status: 199, body }, 'failed'],
    ['of 200', { status: 200, body }, 'understood'],
    ['of 299', { status: 299, body }, 'understood'],
    ['of 300', { status: 300, body }, 'failed'],
    ['of 500 that looks well', { status: 500, body }, 'failed'],
    ['of 200 that says success false', { status: 200, body: '{"id": 5, "success": false}' }, 'failed'],
    ['of 200 that says success true', { status: 200, body: '{"id": 5, "success": true}' }, 'understood'],
    ['of 200 of another form', { status: 200, body: '{"id": "x"}' }, 'unreadable'],
    ['of 200 that is cut', { status: 200, body: '{"id": ' }, 'unreadable'],
  ])('%s is judged by its status, by success and by its form', (_, reply, type) => {
    expect(parseReply(reply, schema).type).toBe(type);
  });

  test('of another form is reported with our own names, and none that the service wrote', () => {
    const named = z.object({ api: z.record(z.string(), z.object({ id: z.number() })) });
    const parsed = parseReply(
      { status: 200, body: '{"api": {"Canary-Key": {"id": "Canary-Value"}}}' },
      named,
    );
    expect(parsed).toMatchObject({ type: 'unreadable', reason: expect.stringContaining('"api.id"') });
    expect(JSON.stringify(parsed)).not.toContain('Canary');
  });
});
