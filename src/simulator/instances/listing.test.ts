import { describe, expect, test } from 'vitest';
import type { Json } from '../json.ts';
import { pageOf, pageToken, readListQuery } from './listing.ts';

const ROWS = [1, 2, 3].map((id) => ({ id, label: `l${4 - id}` }));
const LIMITS = { defaultPage: 1, maxPage: 25, smallPage: 5 };
const page = (query: Record<string, string>) =>
  pageOf(ROWS, readListQuery(new URLSearchParams(query), LIMITS, new Set()), (row, column) =>
    column === 'id' ? row.id : row.label,
  );
const text = (value: Json): string => Buffer.from(JSON.stringify(value)).toString('base64url');
const BY_ID = [{ column: 'id', descending: false }];
const BY_LABEL = JSON.stringify([{ col: 'label', dir: 'asc' }]);

test('an order in no direction is refused instead of shown in the other one', () => {
  const order = (dir: string) => JSON.stringify([{ col: 'id', dir }]);
  expect(page({ order_by: order('DESC') }).rows).toMatchObject([{ id: 3 }]);
  expect(() => page({ order_by: order('descending') })).toThrow('order_by: dir must be "asc" or "desc".');
});

describe('a page token', () => {
  test('leads to the page behind it, in its own order', () => {
    const first = page({ order_by: BY_LABEL });
    const second = page({ order_by: BY_LABEL, after_token: first.nextToken ?? '' });
    expect([...first.rows, ...second.rows].map(({ id }) => id)).toEqual([3, 2]);
  });

  test.each([
    ['of no list', 'zzz'],
    ['of keys alone', text([1])],
    ['of an id that is text', pageToken(BY_ID, ['x'])],
    ['of an id that is no whole number', pageToken(BY_ID, [1.5])],
    ['of too few keys', pageToken(BY_ID, [])],
    ['of too many keys', pageToken(BY_ID, [1, 2])],
    ['of another order', pageToken([{ column: 'label', descending: false }, ...BY_ID], ['l1', 3])],
    ['of null', text(null)],
  ])('%s is refused', (_, token) => {
    expect(() => page({ after_token: token })).toThrow(
      expect.objectContaining({ status: 400, code: 'invalid_token' }),
    );
  });
});
