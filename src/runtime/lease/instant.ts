import type { Clock } from '../../lib/clock.ts';

/** One moment on both clocks. */
export interface Instant {
  readonly wall: number;
  readonly monotonic: number;
}

export function instantOf(clock: Clock): Instant {
  return { wall: clock.now(), monotonic: clock.monotonic() };
}

/**
 * The milliseconds since then on whichever clock has run further. The monotonic clock may stand still while a machine
 * sleeps and the wall clock may be set back, so this is never less than the truth unless both happened.
 */
export function longestSince(clock: Clock, instant: Instant): number {
  return Math.max(clock.now() - instant.wall, clock.monotonic() - instant.monotonic);
}
