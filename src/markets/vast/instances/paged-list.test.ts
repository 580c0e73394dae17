import { describe, expect, test } from 'vitest';
import { MarketplaceError } from '../../../market/errors.ts';
import { instanceRow, toInstance } from './instance.ts';
import { type InstancePage, listInAnyForm, listPages, type PageQuery } from './instances.ts';

const rows = (...ids: number[]) =>
  ids.map((id) => toInstance(instanceRow.parse({ id, actual_status: 'running' })));

/** Serves pages in order; each names the next except the last. */
function pagesOf(...pages: (Partial<InstancePage> & { readonly ids: number[] })[]) {
  const asked: PageQuery[] = [];
  const page = async (query: PageQuery = {}): Promise<InstancePage> => {
    const { ids, ...more } = pages[asked.push(query) - 1] ?? { ids: [] };
    const nextToken = asked.length < pages.length ? `after ${asked.length}` : null;
    return { instances: rows(...ids), nextToken, found: ids.length, total: undefined, ...more };
  };
  return { page, asked };
}

const idsOf = (instances: readonly { readonly id: string }[]) => instances.map(({ id }) => id);

describe('a paged list', () => {
  test('is all pages in their order, each asked for by the token of the one before', async () => {
    const { page, asked } = pagesOf({ ids: [1, 2], total: 3 }, { ids: [3], total: 3 });
    expect(idsOf(await listPages({ page }))).toEqual(['1', '2', '3']);
    expect(asked).toEqual([{}, { afterToken: 'after 1' }]);
  });

  test.each([
    [
      'counts all machines on each page',
      { ids: [1, 2], found: 3, total: 3 },
      { ids: [3], found: 3, total: 3 },
    ],
    ['counts nothing', { ids: [1, 2], found: undefined }, { ids: [3], found: undefined }],
    ['grew while it was read', { ids: [1, 2], total: 2 }, { ids: [3], total: 4 }],
    ['shrank while it was read', { ids: [1, 2], total: 4 }, { ids: [3], total: 2 }],
  ])('that %s is believed', async (_, first, second) => {
    expect(idsOf(await listPages(pagesOf(first, second)))).toEqual(['1', '2', '3']);
  });

  test.each([
    ['counts more than a page holds', [{ ids: [1], found: 2 }]],
    ['is empty and counts nothing', [{ ids: [], found: undefined }]],
    ['counts fewer than a page holds', [{ ids: [1, 2], found: 1 }]],
    ['holds more machines than it ever counted', [{ ids: [1, 2, 3], total: 2 }]],
    ['holds fewer machines than it ever counted', [{ ids: [1, 2], total: 3 }]],
    ['names a machine on two pages', [{ ids: [1, 2] }, { ids: [2] }]],
  ])('that %s is not', async (_, pages) => {
    await expect(listPages(pagesOf(...pages))).rejects.toMatchObject({
      kind: 'malformedReply',
      outcome: 'refused',
    });
  });

  test.each([
    ['of its rows', { found: 0, total: undefined }],
    ['of all machines', { found: undefined, total: 0 }],
  ])('that is empty is believed where it has a count %s', async (_, counts) => {
    expect(await listPages(pagesOf({ ids: [], ...counts }))).toEqual([]);
  });

  test('of some machines is not measured by the number of all', async () => {
    const filters = { actual_status: { in: ['loading'] } } as const;
    const { page, asked } = pagesOf({ ids: [1], total: 500 });
    expect(idsOf(await listPages({ page }, { filters }))).toEqual(['1']);
    expect(asked).toEqual([{ filters }]);
  });
});

describe('a filtered list', () => {
  const filters = { actual_status: { in: ['stopped'] } } as const;

  test.each([
    [
      'counts on each page what matches on all',
      [
        { ids: [1, 2], found: 3, total: 9 },
        { ids: [3], found: 3, total: 9 },
      ],
    ],
    [
      'counts on each page its own rows',
      [
        { ids: [1, 2], total: 9 },
        { ids: [3], total: 9 },
      ],
    ],
    [
      'counts nothing',
      [
        { ids: [1, 2], found: undefined },
        { ids: [3], found: undefined },
      ],
    ],
    [
      'counts on one page only',
      [
        { ids: [1, 2], found: 3 },
        { ids: [3], found: undefined },
      ],
    ],
    [
      'ends with a page without rows',
      [
        { ids: [1, 2, 3], found: 3 },
        { ids: [], found: 3 },
      ],
    ],
    [
      'shrank while it was read',
      [
        { ids: [1, 2], found: 4 },
        { ids: [3], found: 3 },
      ],
    ],
    [
      'names all machines',
      [
        { ids: [1, 2], found: 3, total: 3 },
        { ids: [3], found: 3, total: 3 },
      ],
    ],
  ])('that %s is believed', async (_, pages) => {
    expect(idsOf(await listPages(pagesOf(...pages), { filters }))).toEqual(['1', '2', '3']);
  });

  test.each([
    ['counts more than its one page holds', [{ ids: [1, 2], found: 3 }]],
    ['counts all machines and holds only some of them', [{ ids: [1, 2], found: 3, total: 3 }]],
    ['counts fewer than its one page holds', [{ ids: [1, 2], found: 1 }]],
    [
      'lost a row of its first page',
      [
        { ids: [1], found: 3 },
        { ids: [3], found: 3 },
      ],
    ],
    [
      'lost its last page',
      [
        { ids: [1, 2], found: 3 },
        { ids: [], found: 3 },
      ],
    ],
    [
      'counts page by page and lost a row',
      [
        { ids: [1], found: 2 },
        { ids: [3], found: 1 },
      ],
    ],
    [
      'counts page by page and lost all rows of a page',
      [{ ids: [1, 2], found: 2 }, { ids: [], found: 2 }, { ids: [5] }],
    ],
    [
      'holds more than it ever counted',
      [
        { ids: [1, 2], found: 3 },
        { ids: [3, 4], found: 3 },
      ],
    ],
    [
      'names a machine on two pages',
      [
        { ids: [1, 2], found: 3 },
        { ids: [2], found: 3 },
      ],
    ],
  ])('that %s is not', async (_, pages) => {
    await expect(listPages(pagesOf(...pages), { filters })).rejects.toMatchObject({
      kind: 'malformedReply',
      outcome: 'refused',
    });
  });
});

describe('a list in any form', () => {
  const failing = (kind: 'gone' | 'unavailable') => async () =>
    Promise.reject(new MarketplaceError('told to fail', { kind, outcome: 'refused' }));

  test('is read by pages where the whole one is gone', async () => {
    const { page } = pagesOf({ ids: [1] });
    expect(idsOf(await listInAnyForm({ list: failing('gone'), page }))).toEqual(['1']);
  });

  test('is not where that one only failed: pages would be asked for by every failure', async () => {
    const { page, asked } = pagesOf({ ids: [1] });
    await expect(listInAnyForm({ list: failing('unavailable'), page })).rejects.toThrow('told to fail');
    expect(asked).toEqual([]);
  });
});
