import { expect, test } from 'vitest';
import { ObjectStore, type Seen } from './object-store.ts';

const seen = (resourceVersion: string, uid = 'one'): Seen<string> => ({
  key: 'a/b',
  uid,
  resourceVersion,
  object: `${uid} at ${resourceVersion}`,
});

function setUp() {
  const told: string[] = [];
  const store = new ObjectStore<string>({}, ({ type, object }) => told.push(`${type} ${object}`));
  return { store, told };
}

test('the end of an object that was there before under the name is not the end of the one that is there', () => {
  const { store, told } = setUp();
  store.upsert(seen('5', 'two'));
  store.remove(seen('9', 'one'));
  expect([store.get('a/b'), told]).toEqual(['two at 5', ['added two at 5']]);
});

test('an end that is older than the state it would end is no news', () => {
  const { store, told } = setUp();
  store.upsert(seen('7'));
  store.remove(seen('6'));
  expect(store.get('a/b')).toBe('one at 7');
  store.remove(seen('8'));
  expect([store.get('a/b'), told]).toEqual([undefined, ['added one at 7', 'deleted one at 8']]);
});

test('a listener that has stopped gets no touched keys', () => {
  const { store } = setUp();
  const touched: string[] = [];
  const leave = store.onTouch((key) => touched.push(key));
  store.upsert(seen('7'));
  leave();
  store.upsert(seen('8'));
  expect(touched).toEqual(['a/b']);
});

test('an object that comes under the name of another is found by its own values alone', () => {
  const store = new ObjectStore<string>({ uid: (object) => [object.slice(0, 3)] }, () => {});
  store.upsert(seen('5', 'one'));
  store.remove(seen('6', 'one'));
  store.upsert(seen('7', 'two'));
  expect([store.byIndex('uid', 'one'), store.byIndex('uid', 'two')]).toEqual([[], ['two at 7']]);
});

test('scenario 98: the objects of an index value are collected once until one of them changes (M7)', () => {
  const store = new ObjectStore<string>({ half: (object) => [object.slice(0, 3)] }, () => {});
  const put = (key: string, resourceVersion: string) => store.upsert({ ...seen(resourceVersion), key });
  const found = () => store.byIndex('half', 'one');
  put('a/b', '5');
  put('a/c', '6');
  const before = found();
  expect(found()).toBe(before);
  put('a/b', '7');
  expect(found()).toEqual(['one at 6', 'one at 7']);
  store.forget('a/c');
  expect(found()).toEqual(['one at 7']);
  store.upsert({ ...seen('8', 'two'), key: 'a/b' });
  expect([found(), store.byIndex('half', 'two')]).toEqual([[], ['two at 8']]);
});
