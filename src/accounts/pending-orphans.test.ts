import { expect, test } from 'vitest';
import { row } from '../../test/builders/observed.ts';
import { PendingOrphans } from './inventory.ts';

const listOf = (...ids: readonly string[]) => ({ rows: new Map(ids.map((id) => [id, row({ id })])) });

test('an orphan is waited for although a list does not show it, until it is proven gone', () => {
  const unclaimed = new PendingOrphans();
  unclaimed.swept(['5', '6'], listOf('5', '6'));
  unclaimed.swept([], listOf());
  expect(unclaimed.ids()).toEqual(['5', '6']);
  unclaimed.gone(['5']);
  expect(unclaimed.ids()).toEqual(['6']);
});

test('one that is listed and that a sweep does not find any more has an owner', () => {
  const unclaimed = new PendingOrphans();
  unclaimed.add(['5', '6']);
  unclaimed.swept(['6'], listOf('5', '6'));
  expect(unclaimed.ids()).toEqual(['6']);
});
