import type { Clock, Timer } from '../../src/lib/clock.ts';

/** A clock that knows how many timers set on it have neither fired nor been taken back. */
export interface CountedClock extends Clock {
  readonly pending: number;
}

export function countedClock(inner: Clock): CountedClock {
  const live = new Set<Timer>();
  return {
    get pending() {
      return live.size;
    },
    now: () => inner.now(),
    monotonic: () => inner.monotonic(),
    setTimer(delayMs, run, options) {
      const timer = inner.setTimer(
        delayMs,
        () => {
          live.delete(timer);
          run();
        },
        options,
      );
      live.add(timer);
      return {
        cancel() {
          live.delete(timer);
          timer.cancel();
        },
      };
    },
  };
}
