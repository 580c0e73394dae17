import { expect, test } from 'vitest';
import { seededRandom } from '../../src/lib/random.ts';
import { Machine } from './machine.ts';
import { Scheduler } from './scheduler.ts';

test('leaves no timer when a process is killed, also if its running code sets another one', () => {
  const scheduler = new Scheduler({ startMs: 0, random: seededRandom(1) });
  const machine = new Machine('operator-1', scheduler);
  const clock = machine.clock();
  clock.setTimer(1_000, () => {});
  expect(scheduler.pending).toBe(1);
  machine.kill();
  clock.setTimer(2_290_169_206, () => {});
  expect(scheduler.pending).toBe(0);
});
