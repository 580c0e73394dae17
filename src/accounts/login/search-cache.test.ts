import { describe, expect, test } from 'vitest';
import { createVirtualClock } from '../../../test/builders/virtual-clock.ts';
import type { Offer, OfferQuery } from '../../marketplace/offers/offers.ts';
import { SEARCH_AGAIN_MS, SEARCH_SHARED_MS, SearchCache } from './search-cache.ts';

const query = (gpu: string): OfferQuery => ({ filters: [{ field: 'gpu_name', operator: 'eq', value: gpu }] });

function cacheOver(answer: (asked: number) => Promise<readonly Offer[]>) {
  const clock = createVirtualClock();
  let asked = 0;
  const cache = new SearchCache(clock, () => answer(++asked));
  return { clock, cache, asked: () => asked };
}

test('equal searches within 15 s share one request and one reply', async () => {
  const { cache, asked, clock } = cacheOver(async () => []);
  const [first, second] = await Promise.all([cache.offers(query('A')), cache.offers(query('A'))]);
  await clock.advance(SEARCH_SHARED_MS - 1);
  expect(await cache.offers(query('A'))).toBe(first);
  expect(second).toBe(first);
  expect(asked()).toBe(1);
});

test('different searches do not', async () => {
  const { cache, asked } = cacheOver(async () => []);
  await Promise.all([cache.offers(query('A')), cache.offers(query('B'))]);
  expect(asked()).toBe(2);
});

test('a reply is there once it came, for 15 s, and for equal searches only', async () => {
  const { cache, clock } = cacheOver(async () => []);
  const asked = cache.offers(query('A'));
  expect(cache.isAnswered(query('A'))).toBe(false);
  await asked;
  expect([cache.isAnswered(query('A')), cache.isAnswered(query('B'))]).toEqual([true, false]);
  await clock.advance(SEARCH_SHARED_MS);
  expect(cache.isAnswered(query('A'))).toBe(false);
});

test('after 15 s it is asked again', async () => {
  const { cache, asked, clock } = cacheOver(async () => []);
  await cache.offers(query('A'));
  await clock.advance(SEARCH_SHARED_MS);
  await cache.offers(query('A'));
  expect(asked()).toBe(2);
});

test('a failure is told to everyone who waits for it, and to nobody after', async () => {
  const { cache } = cacheOver(async (asked) => {
    if (asked === 1) throw new Error('no reply');
    return [];
  });
  const waiting = [cache.offers(query('A')), cache.offers(query('A'))];
  expect((await Promise.allSettled(waiting)).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  expect(await cache.offers(query('A'))).toEqual([]);
});

describe('a reply of which every offer is taken', () => {
  const reply = [{ id: 1 }, { id: 2 }] as unknown as readonly Offer[];
  const allTaken = () => true;

  test('is asked for again after a second, once for everyone who waits', async () => {
    const { cache, asked, clock } = cacheOver(async () => reply);
    await cache.offers(query('A'), allTaken);
    expect(asked()).toBe(1);
    await clock.advance(SEARCH_AGAIN_MS);
    await Promise.all([cache.offers(query('A'), allTaken), cache.offers(query('A'), allTaken)]);
    expect(asked()).toBe(2);
  });

  test('is not while one offer is left', async () => {
    const { cache, asked, clock } = cacheOver(async () => reply);
    await cache.offers(query('A'));
    await clock.advance(SEARCH_AGAIN_MS);
    await cache.offers(query('A'), ({ id }) => id === 1);
    expect(asked()).toBe(1);
  });

  test('is not where nothing matched at all', async () => {
    const { cache, asked, clock } = cacheOver(async () => []);
    await cache.offers(query('A'), allTaken);
    await clock.advance(SEARCH_AGAIN_MS);
    await cache.offers(query('A'), allTaken);
    expect(asked()).toBe(1);
  });
});
