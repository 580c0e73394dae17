import { expect, test } from 'vitest';
import { row } from '../../test/builders/observed.ts';
import { UnclaimedMachines } from './inventory.ts';

const listOf = (...ids: readonly number[]) => ({ rows: new Map(ids.map((id) => [id, row({ id })])) });

test('an unclaimed machine is waited for although a list does not show it, until it is gone for sure', () => {
  const unclaimed = new UnclaimedMachines();
  unclaimed.swept([5, 6], listOf(5, 6));
  unclaimed.swept([], listOf());
  expect(unclaimed.ids()).toEqual([5, 6]);
  unclaimed.gone([5]);
  expect(unclaimed.ids()).toEqual([6]);
});

test('one that is listed and that a sweep does not find any more has an owner', () => {
  const unclaimed = new UnclaimedMachines();
  unclaimed.add([5, 6]);
  unclaimed.swept([6], listOf(5, 6));
  expect(unclaimed.ids()).toEqual([6]);
});
