import { expect, test } from 'vitest';
import { createVirtualClock } from '../../../test/builders/virtual-clock.ts';
import { FairQueue, type Member } from './fair-queue.ts';

function setUp(...members: readonly string[]) {
  const clock = createVirtualClock();
  const line = new FairQueue<Member>(clock);
  const put = (name: string) => {
    const [namespace = '', uid = ''] = name.split('/');
    line.put({ uid: `${namespace}/${uid}`, namespace });
  };
  for (const name of members) put(name);
  const next = () => line.next(() => true)?.uid;
  /** Serves the next member, a second after the one before. */
  const serve = async () => {
    await clock.advance(1_000);
    const uid = next() ?? '';
    line.served(uid.split('/')[0] ?? '');
    line.remove(uid);
    return uid;
  };
  return { clock, line, put, next, serve };
}

test('serves namespaces in turn, and each in the order in which its objects joined', async () => {
  const { serve } = setUp('a/1', 'a/2', 'a/3', 'b/1', 'b/2', 'c/1');
  const order = [];
  for (let count = 0; count < 6; count += 1) order.push(await serve());
  expect(order).toEqual(['a/1', 'b/1', 'c/1', 'a/2', 'b/2', 'a/3']);
});

test('serves a namespace that joins before one that was just served, however many wait there (H8)', async () => {
  const crowd = Array.from({ length: 500 }, (_, index) => `crowd/${index}`);
  const { put, serve } = setUp(...crowd);
  for (let count = 0; count < 20; count += 1) await serve();
  put('good/1');
  expect(await serve()).toBe('good/1');
});

test('serves a namespace that waits before those that keep joining, after a while', async () => {
  const { put, serve } = setUp('a/1', 'a/2');
  await serve();
  const order = [];
  for (let count = 0; count < 20; count += 1) {
    put(`new${count}/1`);
    order.push(await serve());
  }
  expect(order.indexOf('a/2')).toBeGreaterThan(0);
  expect(order.indexOf('a/2')).toBeLessThan(18);
});

test('passes over members that are not ready', () => {
  const { line } = setUp('a/1', 'a/2', 'b/1');
  expect(line.next(({ uid }) => uid === 'a/2')?.uid).toBe('a/2');
  expect(line.next(() => false)).toBeUndefined();
});

test('keeps the position of a member that is put again', () => {
  const { line, put, next } = setUp('a/1', 'a/2');
  put('a/1');
  expect(next()).toBe('a/1');
  expect(line.size).toBe(2);
});

test('removes a member once, and knows those that are left', () => {
  const { line, next } = setUp('a/1', 'a/2');
  expect([line.remove('a/1'), line.remove('a/1'), line.remove('x/1')]).toEqual([true, false, false]);
  expect(line.get('a/1')).toBeUndefined();
  expect(line.get('a/2')).toMatchObject({ namespace: 'a' });
  expect(next()).toBe('a/2');
  expect([...line.members()].map(({ uid }) => uid)).toEqual(['a/2']);
});

test('counts how many go first, in the order in which they go', async () => {
  const { clock, line } = setUp('a/1', 'a/2', 'a/3', 'b/1');
  expect(['a/1', 'b/1', 'a/2', 'a/3'].map((uid) => line.ahead(uid))).toEqual([0, 1, 2, 3]);
  line.remove('a/1');
  await clock.advance(1_000);
  expect(line.ahead('a/3')).toBe(2);
});

test('counts for one that would join: all of its namespace, and of others as many', () => {
  const { line } = setUp('a/1', 'a/2', 'b/1', 'b/2', 'b/3');
  expect(['a', 'b', 'c'].map((namespace) => line.aheadOfNewcomer(namespace))).toEqual([4, 5, 0]);
});

test('knows no member that was never put', () => {
  const { line } = setUp('a/1');
  expect(line.get('x/1')).toBeUndefined();
  line.served('x');
  expect(line.size).toBe(1);
});

test('counts positions at most once a second', async () => {
  const { clock, line } = setUp('a/1', 'a/2', 'a/3');
  await clock.advance(5_000);
  expect(line.ahead('a/3')).toBe(2);
  line.remove('a/1');
  await clock.advance(999);
  expect(line.ahead('a/3')).toBe(2);
  await clock.advance(1);
  expect(line.ahead('a/3')).toBe(1);
});

test('a namespace whose last object left keeps its turn behind it while that was a moment ago', async () => {
  const { clock, line, put, next } = setUp('a/1', 'b/1');
  await clock.advance(20_000);
  line.served('a');
  line.remove('a/1');
  await clock.advance(1_000);
  put('c/1');
  put('a/2');
  line.remove('b/1');
  expect(next()).toBe('c/1');
});

test('a namespace that left long ago is a newcomer when it comes back', async () => {
  const { clock, line, put, next } = setUp('a/1', 'b/1');
  line.served('b');
  line.remove('a/1');
  await clock.advance(60_000);
  line.served('b');
  put('c/1');
  await clock.advance(1_000);
  put('a/2');
  expect(next()).toBe('c/1');
});

test('a namespace with waiting objects keeps its turn however long it waits', async () => {
  const { clock, put, next } = setUp('a/1');
  await clock.advance(60_000);
  put('b/1');
  expect(next()).toBe('a/1');
});

test('counts for one that has just joined: all of its namespace before it, and of others as many', () => {
  const { line, put } = setUp('a/1', 'a/2', 'b/1', 'b/2', 'b/3');
  expect(line.ahead('a/1')).toBe(0);
  put('a/3');
  expect(line.ahead('a/3')).toBe(4);
  expect(line.ahead('a/9')).toBe(0);
});

test('counts positions again at once after a turn', () => {
  const { line } = setUp('a/1', 'a/2');
  expect(line.ahead('a/2')).toBe(1);
  line.remove('a/1');
  line.served('a');
  expect(line.ahead('a/2')).toBe(0);
});

test('remembers for 15 s that an empty namespace was served, so that it gains nothing by leaving', async () => {
  const { clock, put, line, serve, next } = setUp('a/1', 'b/1', 'b/2');
  expect(await serve()).toBe('a/1');
  await clock.advance(1_000);
  put('a/2');
  expect(next()).toBe('b/1');
  expect(await serve()).toBe('b/1');
  line.remove('a/2');
  // Long after its turn, a namespace that comes back is as new.
  await clock.advance(60_000);
  put('c/1');
  put('a/3');
  line.served('b');
  line.served('c');
  expect(next()).toBe('a/3');
});

test('lets a namespace that was empty for long join as a new one, behind one that waits longer', async () => {
  const { clock, put, serve, line } = setUp('a/1', 'b/1', 'b/2');
  expect(await serve()).toBe('a/1');
  expect(await serve()).toBe('b/1');
  await clock.advance(60_000);
  put('c/1');
  put('a/2');
  const order = [...line.inOrder()].map(({ uid }) => uid);
  expect(order).toEqual(['b/2', 'c/1', 'a/2']);
});
