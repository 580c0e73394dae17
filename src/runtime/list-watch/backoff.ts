import type { Clock } from '../../lib/clock.ts';
import type { Random } from '../../lib/random.ts';

export interface BackoffOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly baseMs: number;
  readonly maxMs: number;
  /** So long after the last failure the next one starts from the base again. */
  readonly resetAfterMs: number;
}

/** Delays that double with each failure, jittered by up to as much again. */
export interface Backoff {
  /** How long to wait after this failure. */
  nextMs(): number;
}

export function createBackoff({ clock, random, baseMs, maxMs, resetAfterMs }: BackoffOptions): Backoff {
  let failures = 0;
  let endOfLast = Number.NEGATIVE_INFINITY;
  return {
    nextMs() {
      if (clock.monotonic() - endOfLast > resetAfterMs) failures = 0;
      const delay = Math.min(baseMs * 2 ** failures * (1 + random.next()), maxMs);
      failures = Math.min(failures + 1, 30);
      endOfLast = clock.monotonic() + delay;
      return delay;
    },
  };
}
