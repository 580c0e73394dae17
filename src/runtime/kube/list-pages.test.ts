import { expect, test } from 'vitest';
import { createVirtualClock } from '../../../test/builders/virtual-clock.ts';
import { MalformedReplyError } from './json-stream.ts';
import type { KubeStream } from './kube-collection.ts';
import { KubeError } from './kube-error.ts';
import { listPages } from './list-pages.ts';

const widgets = { group: 'example.dev', version: 'v1', plural: 'widgets', kind: 'Widget', namespaced: true };
const expired = new KubeError('too old', {
  kind: 'gone',
  status: 410,
  reason: 'Expired',
  outcome: 'refused',
});

/** Lists by a server that answers page after page like this, and counts what was given back. */
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

test('a page that never comes to its end is given up after a minute, and its connection', async () => {
  const clock = createVirtualClock();
  let destroyed = 0;
  const client: KubeStream = {
    stream: async (_resource, { signal }) => ({
      status: 200,
      headers: {},
      body: (async function* () {
        yield Buffer.from('{"items":[');
        await new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)));
      })(),
      destroy: () => {
        destroyed += 1;
      },
    }),
  };
  const { signal } = new AbortController();
  const list = listPages(client, clock, { resource: widgets, keep: (object) => object, signal });
  const failed = list.catch((error: Error) => error.name);
  await clock.advance(60_000);
  expect([await failed, destroyed]).toEqual(['DeadlineError', 1]);
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
