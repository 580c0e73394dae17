import { describe, expect, test } from 'vitest';
import { createVirtualClock } from '../../../test/builders/virtual-clock.ts';
import { systemClock } from '../../lib/clock.ts';
import { MalformedReplyError } from './json-stream.ts';
import { KubeError } from './kube-error.ts';
import { type KubeStream, listPages } from './list-pages.ts';

const widgets = { group: 'example.dev', version: 'v1', plural: 'widgets', kind: 'Widget', namespaced: true };
const expired = new KubeError('too old', {
  kind: 'gone',
  status: 410,
  reason: 'Expired',
  outcome: 'refused',
});

/** Lists from a server that answers with these pages, and counts the aborted replies. */
function listing(page: (next: string | undefined) => unknown) {
  const served = { pages: 0, destroyed: 0 };
  const client: KubeStream = {
    async stream(_resource, { query }) {
      served.pages += 1;
      const text = Buffer.from(JSON.stringify(page(query['continue'])));
      return {
        status: 200,
        headers: {},
        body: (async function* () {
          yield text;
        })(),
        destroy: () => {
          served.destroyed += 1;
        },
      };
    },
  };
  const signal = new AbortController().signal;
  const keep = ({ metadata }: { readonly metadata: { readonly name: string } }) => metadata.name;
  return { served, list: listPages(client, createVirtualClock(), { resource: widgets, keep, signal }) };
}

/** Returns a server of one endless page that sends a chunk on request. */
function unendingPage({ pageDeadlineMs }: { readonly pageDeadlineMs?: number } = {}) {
  const clock = createVirtualClock();
  const served = { destroyed: 0, speak: () => {} };
  const client: KubeStream = {
    stream: async (_resource, { signal }) => ({
      status: 200,
      headers: {},
      body: (async function* () {
        yield Buffer.from('{"items":[');
        for (;;) {
          await new Promise<void>((resolve, reject) => {
            served.speak = resolve;
            signal?.addEventListener('abort', () => reject(signal.reason));
          });
          yield Buffer.from(' ');
        }
      })(),
      destroy: () => {
        served.destroyed += 1;
      },
    }),
  };
  const { signal } = new AbortController();
  const request = { resource: widgets, keep: (object: object) => object, signal, pageDeadlineMs };
  const ended = listPages(client, clock, request).catch((error: Error) => error.message);
  return { clock, served, ended };
}

test('gives a page and its connection up when nothing has come of it for a minute', async () => {
  const { clock, served, ended } = unendingPage();
  await clock.advance(60_000);
  expect([await ended, served.destroyed]).toEqual(['Not a byte for 60000 ms', 1]);
});

test('waits for a page as long as something comes of it each minute', async () => {
  const { clock, served, ended } = unendingPage();
  for (let minute = 0; minute < 10; minute++) {
    await clock.advance(59_000);
    served.speak();
    await clock.advance(1);
  }
  expect(served.destroyed).toBe(0);
  await clock.advance(60_000);
  expect([await ended, served.destroyed]).toEqual(['Not a byte for 60000 ms', 1]);
});

test('gives a page up after the deadline that the caller set, whatever comes of it', async () => {
  const { clock, served, ended } = unendingPage({ pageDeadlineMs: 5_000 });
  await clock.advance(4_000);
  served.speak();
  await clock.advance(1_000);
  expect([await ended, served.destroyed]).toEqual(['No answer within 5000 ms', 1]);
});

/** Returns the `limit` of each request to a server of that many objects of these sizes in bytes. */
async function limitsFor(
  sizes: readonly number[],
  { expiresAfter = 0, atOnce = 1000 }: { readonly expiresAfter?: number; readonly atOnce?: number } = {},
) {
  const limits: string[] = [];
  let pages = 0;
  const client: KubeStream = {
    async stream(_resource, { query }) {
      limits.push(query['limit'] ?? '');
      pages += 1;
      if (pages === expiresAfter) throw expired;
      const from = Number(query['continue'] ?? 0);
      const to = Math.min(sizes.length, from + atOnce, from + Number(query['limit']));
      const items = sizes.slice(from, to).map((size, at) => ({
        metadata: { name: `${from + at}`, annotations: { big: 'x'.repeat(size) } },
      }));
      const metadata = { resourceVersion: '7', ...(to < sizes.length && { continue: `${to}` }) };
      const text = Buffer.from(JSON.stringify({ metadata, items }));
      return {
        ...{ status: 200, headers: {}, destroy() {} },
        body: (async function* () {
          for (let at = 0; at < text.length; at += 65_536) yield text.subarray(at, at + 65_536);
        })(),
      };
    },
  };
  const request = {
    resource: widgets,
    keep: ({ metadata }: { readonly metadata: { readonly name: string } }) => metadata.name,
    signal: new AbortController().signal,
  };
  const { items } = await listPages(client, systemClock, request);
  expect(items).toEqual(sizes.map((_, at) => `${at}`));
  return limits;
}

const sizes = (count: number, size: number): number[] => Array.from({ length: count }, () => size);

describe('the size of a page (H4)', () => {
  test('grows to 500 objects when objects are small', async () => {
    expect(await limitsFor(sizes(1100, 10))).toEqual(['100', '500', '500']);
  });

  test('shrinks to 4 MiB when objects are large, and grows again', async () => {
    const limits = await limitsFor([...sizes(100, 100_000), ...sizes(82, 1_000), ...sizes(900, 10)]);
    expect(limits).toEqual(['100', '41', '500', '500']);
  });

  test('is one object when objects are larger than a page', async () => {
    expect(await limitsFor(sizes(4, 5_000_000), { atOnce: 2 })).toEqual(['100', '1', '1']);
  });

  test('is that of a first page again when the list begins again', async () => {
    expect(await limitsFor(sizes(700, 10), { expiresAfter: 2 })).toEqual(['100', '500', '100', '500', '500']);
  });
});

const item = (name: string) => ({ metadata: { name } });

test('a list is all of its pages, of the version of the last, and each gives its connection back', async () => {
  const { served, list } = listing((next) =>
    next === undefined
      ? { metadata: { resourceVersion: '7', continue: 'more' }, items: [item('a')] }
      : { metadata: { resourceVersion: '7' }, items: [item('b')] },
  );
  expect(await list).toEqual({ items: ['a', 'b'], resourceVersion: '7' });
  expect(served).toEqual({ pages: 2, destroyed: 2 });
});

test('a list whose second page has expired again and again is given up with that error', async () => {
  const { served, list } = listing((next) => {
    if (next !== undefined) throw expired;
    return { metadata: { resourceVersion: '7', continue: 'more' }, items: [] };
  });
  await expect(list).rejects.toBe(expired);
  expect(served.pages).toBe(8);
});

test('a first page that has expired is the error itself: there is nothing to begin again from', async () => {
  const { served, list } = listing(() => {
    throw expired;
  });
  await expect(list).rejects.toBe(expired);
  expect(served.pages).toBe(1);
});

test('a list without a version is not believed', async () => {
  const { list } = listing(() => ({ metadata: {}, items: [item('a')] }));
  await expect(list).rejects.toThrow(MalformedReplyError);
});
