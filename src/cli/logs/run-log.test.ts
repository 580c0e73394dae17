import { describe, expect, test } from 'vitest';
import { createVirtualClock } from '../../../test/builders/virtual-clock.ts';
import { seededRandom } from '../../lib/random.ts';
import type { TransportResponse } from '../../lib/transport.ts';
import { type LogEvent, logEventLine } from '../../reach/log-stream.ts';
import { type LogReader, logFollower } from './run-log.ts';

/** Returns a reply of the operator: its bytes, and then an error if the connection breaks. */
function replyOf(status: number, chunks: readonly Uint8Array[], breaks = false): TransportResponse {
  return {
    ...{ status, headers: {} },
    body: (async function* () {
      yield* chunks;
      if (breaks) throw new Error('the connection broke');
    })(),
    destroy() {},
  };
}

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

/** Follows a log from an operator that answers by `open`. */
function follow(open: LogReader['open']) {
  const clock = createVirtualClock();
  const written: string[] = [];
  const lines: string[] = [];
  const stop = new AbortController();
  const write = (text: string) => void written.push(text);
  const print = (line: string) => void lines.push(line);
  const follower = logFollower({ open, clock, namespace: 'team', write, print })('job-1', stop.signal);
  return { clock, follower, lines, stop, text: () => written.join('') };
}

const LINES = Array.from({ length: 201 }, (_, at) => `step ${at}\n`);
const END: LogEvent = { type: 'end', reason: 'Complete', message: 'The log is complete.' };

describe('logFollower', () => {
  test('writes each line once, wherever connections break', async () => {
    const random = seededRandom(11);
    let requests = 0;
    const running = follow(async (path) => {
      requests += 1;
      const since = Number(new URL(path, 'http://operator').searchParams.get('since') ?? 0);
      const events = LINES.slice(since).map(
        (text, at): LogEvent => ({
          ...{ type: 'text', text },
          // A long text comes in parts, and only the last one has a position.
          ...((since + at) % 3 === 2 && { position: String(since + at + 1) }),
        }),
      );
      const whole = [...events, END].map(logEventLine).join('');
      const cut = Math.floor(random.next() * 1_500);
      return cut >= whole.length
        ? replyOf(200, [bytes(whole)])
        : replyOf(200, [bytes(whole).subarray(0, cut)], random.next() < 0.5);
    });
    await running.clock.advance(600_000);
    expect(await running.follower.finish(1)).toBe(true);
    expect(running.text()).toBe(LINES.join(''));
    expect(requests).toBeGreaterThan(5);
  });

  test('reports an interruption once, and is silent since then until the operator answers', async () => {
    let isDown = true;
    const running = follow(async () => {
      if (isDown) throw new Error('connection refused');
      return replyOf(200, [bytes(logEventLine(END))]);
    });
    await running.clock.advance(30_000);
    expect(running.follower.silentSince).toBe(0);
    expect(running.lines).toEqual(['The log is interrupted: connection refused']);
    isDown = false;
    await running.clock.advance(5_000);
    expect(running.follower.silentSince).toBeUndefined();
  });

  test.each([403, 503])(
    'repeats the request after status %i, and prints the message once',
    async (status) => {
      let requests = 0;
      const running = follow(async () => {
        requests += 1;
        return replyOf(status, [bytes('not now\n')]);
      });
      await running.clock.advance(120_000);
      running.stop.abort();
      expect(requests).toBeGreaterThan(2);
      expect(running.lines).toEqual(['No log: not now']);
    },
  );

  test.each([
    [501, 'when the marketplace has none'],
    [410, 'when the run has finished and its machine is gone'],
  ])('ends without a log after status %i, %s', async (status) => {
    let requests = 0;
    const running = follow(async () => {
      requests += 1;
      return replyOf(status, [bytes('no logs\n')]);
    });
    await running.clock.advance(60_000);
    expect(await running.follower.finish(15_000)).toBe(false);
    expect([requests, running.lines]).toEqual([1, ['No log: no logs']]);
  });

  test('is incomplete when the log does not end in time', async () => {
    const running = follow(
      (_, { signal }) =>
        new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
    );
    const finished = running.follower.finish(15_000);
    await running.clock.advance(15_000);
    expect(await finished).toBe(false);
  });

  test('opens another connection when one is silent for three minutes', async () => {
    let requests = 0;
    const running = follow(
      (_, { signal }) =>
        new Promise((_resolve, reject) => {
          requests += 1;
          signal.addEventListener('abort', () => reject(signal.reason));
        }),
    );
    await running.clock.advance(200_000);
    running.stop.abort();
    expect(requests).toBe(2);
  });

  test.each([
    ['nothing', ''],
    ['a page of a proxy', '<html><body>It works!</body></html>\n'],
    ['binary output', '\u0000\u0001\ufffd\n'],
  ])('asks again every two seconds, and prints one line, when the operator answers %s', async (_, reply) => {
    let requests = 0;
    const running = follow(async () => {
      requests += 1;
      return replyOf(200, [bytes(reply)]);
    });
    await running.clock.advance(60_000);
    running.stop.abort();
    expect(requests).toBeGreaterThan(20);
    expect(requests).toBeLessThan(40);
    expect(running.lines).toHaveLength(1);
    expect(running.text()).toBe('');
  });

  test('prints the beginning of an endless error page, and reads no more of it', async () => {
    let read = 0;
    const running = follow(async () => ({
      ...replyOf(502, []),
      body: (async function* () {
        for (;;) {
          read += 1;
          yield bytes('x'.repeat(1024));
        }
      })(),
    }));
    await running.clock.advance(1_000);
    running.stop.abort();
    expect(read).toBeLessThan(16);
    expect(running.lines[0]?.length).toBeLessThan(1_100);
  });

  test('writes a line of a mebibyte and binary text unchanged', async () => {
    const long = `${'x'.repeat(1024 * 1024)}\n\u0000\u001b[31m\ufffd\r\n`;
    const events: LogEvent[] = [{ type: 'text', text: long, position: '1' }, END];
    const running = follow(async () => replyOf(200, [bytes(events.map(logEventLine).join(''))]));
    await running.clock.settle();
    expect(await running.follower.finish(1)).toBe(true);
    expect(running.text()).toBe(long);
  });
});
