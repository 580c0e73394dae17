import { expect, test, vi } from 'vitest';
import { createVirtualClock } from '../../../test/builders/virtual-clock.ts';
import { EventBudget } from './event-budget.ts';

test('an object has 25 events at once, and one more every five minutes', async () => {
  const clock = createVirtualClock();
  const budget = new EventBudget(clock);
  const taken = () => Array.from({ length: 30 }, () => budget.take('a')).filter(Boolean).length;
  expect(taken()).toBe(25);
  await clock.advance(10 * 60_000);
  expect(taken()).toBe(2);
  expect(budget.take('b')).toBe(true);
});

test('objects whose budget is whole again are forgotten, so that memory does not grow with objects that go', async () => {
  const clock = createVirtualClock();
  const budget = new EventBudget(clock);
  for (let index = 0; index < 4_096; index++) budget.take(`object-${index}`);
  await clock.advance(5 * 60_000);
  const forgetting = vi.spyOn(Map.prototype, 'delete');
  budget.take('another');
  const forgotten = new Set(forgetting.mock.calls.map(([key]) => key));
  forgetting.mockRestore();
  expect(forgotten.size).toBe(4_096);
});
