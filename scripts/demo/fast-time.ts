import { type Clock, systemClock } from '../../src/lib/clock.ts';

/** A clock that runs `speed` times as fast as that of the computer since `begun`. All times are epoch milliseconds. */
export interface FastTime {
  readonly begun: number;
  /** Time that the clock shows at `begun`. */
  readonly shownAtBegin: number;
  readonly speed: number;
}

/** Shorter waits are not shortened: a timer of a millisecond is as costly as one of none. */
const MIN_WAIT_MS = 50;
/** A run ends within these hours of fast time. */
const MAX_HOURS = 12;

/** Returns a fast time that begins at `begun`, or in the next month if this one would end meanwhile. */
export function fastTime(begun: number, speed: number): FastTime {
  const later = begun + MAX_HOURS * 3_600_000;
  const isSameMonth = new Date(begun).getUTCMonth() === new Date(later).getUTCMonth();
  return { begun, speed, shownAtBegin: isSameMonth ? begun : later };
}

/** Returns the clock of a fast time, on the clock of the computer. */
export function fastClock({ begun, shownAtBegin, speed }: FastTime, real: Clock = systemClock): Clock {
  return {
    now: () => Math.floor(shownAtBegin + (real.now() - begun) * speed),
    monotonic: () => real.monotonic() * speed,
    setTimer: (delayMs, run, options) =>
      real.setTimer(Math.max(delayMs / speed, Math.min(delayMs, MIN_WAIT_MS)), run, options),
  };
}
