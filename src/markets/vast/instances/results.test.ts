import { describe, expect, test } from 'vitest';
import { createVirtualClock } from '../../../../test/builders/virtual-clock.ts';
import type { Transport, TransportRequest } from '../../../lib/transport.ts';
import { readResult, resultAddress } from './results.ts';

/** Answers each read with the next text, then with the last one for ever; null is a 404. */
function reading(...texts: readonly (string | null)[]) {
  const requests: TransportRequest[] = [];
  const transport: Transport = async (request) => {
    const text = texts[Math.min(requests.length, texts.length - 1)] ?? null;
    requests.push(request);
    return {
      status: text === null ? 404 : 200,
      headers: {},
      body: (async function* () {
        yield Buffer.from(text ?? '');
      })(),
      destroy: () => undefined,
    };
  };
  const clock = createVirtualClock();
  const url = new URL('https://results.example/a?b=c');
  const result = readResult({ transport, clock, url, maxBytes: 100 });
  return { requests, result, wait: () => clock.advance(9_000) };
}

describe('a result', () => {
  test('is read again until it is there, without a key', async () => {
    const { requests, result, wait } = reading(null, '', 'done');
    await wait();
    expect(await result).toBe('done');
    expect(requests).toHaveLength(3);
    expect(requests[0]).toMatchObject({ method: 'GET', origin: 'https://results.example', path: '/a?b=c' });
    expect(requests[0]?.headers).toEqual({ accept: 'text/plain, */*' });
  });

  test('that stays empty is empty, and one that never comes is undefined', async () => {
    const empty = reading(null, '');
    await empty.wait();
    expect(await empty.result).toBe('');
    const absent = reading(null);
    await absent.wait();
    expect(await absent.result).toBeUndefined();
    expect(absent.requests).toHaveLength(30);
  });

  test('shows bytes that are not UTF-8 as U+FFFD, because any program may print them', async () => {
    const transport: Transport = async () => ({ ...OK, body: bytes([0x61, 0xff, 0xe2], [0x82, 0xac, 0xc3]) });
    const url = new URL('https://results.example/a');
    const result = readResult({ transport, clock: createVirtualClock(), url, maxBytes: 100 });
    expect(await result).toBe('a\ufffd€\ufffd');
  });

  test('above the limit rejects', async () => {
    await expect(reading('x'.repeat(101)).result).rejects.toThrow('longer than 100 bytes');
  });

  test.each([
    ['no reply comes', async () => new Promise<never>(() => {})],
    ['the body of a reply does not end', async () => ({ ...OK, body: endless() })],
  ])('is given up after 30 s by the clock when %s, and its request is aborted', async (_, transport) => {
    const clock = createVirtualClock();
    let signal: AbortSignal | undefined;
    const noting: Transport = (request) => {
      signal = request.signal;
      return transport();
    };
    const url = new URL('https://results.example/a');
    const result = readResult({ transport: noting, clock, url, maxBytes: 100 });
    const rejected = expect(result).rejects.toThrow('30000 ms');
    await clock.advance(29_999);
    expect(signal?.aborted).toBe(false);
    await clock.advance(1);
    await rejected;
    expect(signal?.aborted).toBe(true);
  });

  test('leaves no timer behind', async () => {
    const clock = createVirtualClock();
    const transport: Transport = async () => ({ ...OK, body: once('done') });
    const url = new URL('https://results.example/a');
    expect(await readResult({ transport, clock, url, maxBytes: 100 })).toBe('done');
    expect(clock.nextTimerMs()).toBeUndefined();
  });
});

async function* bytes(...chunks: readonly (readonly number[])[]) {
  for (const chunk of chunks) yield Uint8Array.from(chunk);
}

const OK = { status: 200, headers: {}, destroy: () => undefined };

async function* once(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}

async function* endless(): AsyncGenerator<Uint8Array> {
  await new Promise(() => {});
  yield Buffer.from('');
}

test.each([
  ['http://127.0.0.1:9/results/1', true],
  ['https://bucket.s3.example/x?sig=1', true],
  ['http://bucket.s3.example/x', false],
  ['http://169.254.169.254/latest', false],
  ['https://169.254.169.254/latest', false],
  ['https://[fe80::1]/x', false],
  ['https://kubernetes/api', false],
  ['file:///etc/passwd', false],
  ['none', false],
  [undefined, false],
])('the address %s may be read unattended: %s', (text, isRead) => {
  expect(resultAddress(text, 'http://127.0.0.1:9/prefix') !== undefined).toBe(isRead);
});
