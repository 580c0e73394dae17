import { setTimeout as delay } from 'node:timers/promises';
import { expect, test, vi } from 'vitest';
import { createVirtualClock } from '../../test/builders/virtual-clock.ts';
import { sleep, systemClock } from './clock.ts';

test('a timer for longer than Node can count waits as long as that, instead of running at once', async () => {
  let hasRun = false;
  const timer = systemClock.setTimer(2 ** 31 + 1_000, () => {
    hasRun = true;
  });
  await delay(20);
  timer.cancel();
  expect(hasRun).toBe(false);
});

test('who has slept listens to its signal no more', async () => {
  const clock = createVirtualClock();
  const { signal } = new AbortController();
  const removed = vi.spyOn(signal, 'removeEventListener');
  const slept = sleep(clock, 1_000, signal);
  await clock.advance(1_000);
  await slept;
  expect(removed).toHaveBeenCalledOnce();
});

test('a sleep that is aborted ends with the reason and leaves no timer', async () => {
  const clock = createVirtualClock();
  const waking = new AbortController();
  const slept = sleep(clock, 1_000, waking.signal);
  waking.abort(new Error('woken'));
  await expect(slept).rejects.toThrow('woken');
  await expect(sleep(clock, 1_000, waking.signal)).rejects.toThrow('woken');
  expect(clock.nextTimerMs()).toBeUndefined();
});
