import { expect, test } from 'vitest';
import { createVirtualClock } from '../../test/builders/virtual-clock.ts';
import { TimeSlice } from './event-loop.ts';

/** Counts how often the process ran other work during `pieces` of work of `ms` each. */
async function turnsDuring({ pieces, ms }: { pieces: number; ms: number }): Promise<number> {
  const virtual = createVirtualClock();
  let worked = 0;
  let given = 0;
  const clock = {
    ...virtual,
    monotonic: () => worked,
    setTimer: (delayMs: number, run: () => void) => {
      given++;
      return virtual.setTimer(delayMs, run);
    },
  };
  const turns = new TimeSlice(clock);
  const work = (async () => {
    for (let piece = 0; piece < pieces; piece++) {
      await turns.next();
      worked += ms;
    }
  })();
  for (let step = 0; step <= pieces; step++) await virtual.advance(0);
  await work;
  return given;
}

test('work of a slice is not interrupted', async () => {
  expect(await turnsDuring({ pieces: 9, ms: 1 })).toBe(0);
});

test('long work lets others run once per 10 ms', async () => {
  expect(await turnsDuring({ pieces: 101, ms: 1 })).toBe(10);
});

test('a piece that is long by itself is followed by a turn', async () => {
  expect(await turnsDuring({ pieces: 4, ms: 50 })).toBe(3);
});

test('after a rest the slice is whole again', async () => {
  const clock = createVirtualClock();
  const turns = new TimeSlice(clock);
  await clock.advance(1000);
  turns.begin();
  await turns.next();
  expect(clock.nextTimerMs()).toBeUndefined();
});
