/** How much slower than its gap a class goes after a 429, and since when (monotonic milliseconds). */
export interface SlowDown {
  readonly factor: number;
  readonly since: number;
}

const MAX_FACTOR = 16;
const HALF_LIFE_MS = 30_000;
/** What a class without a documented gap falls back to after a 429. */
const LEAST_GAP_MS = 250;

/** Full speed. */
export const NO_SLOW_DOWN: SlowDown = { factor: 1, since: 0 };

/** The factor at `now`: what exceeds 1 halves every 30 s without another 429. */
export function factorAt(slowDown: SlowDown, now: number): number {
  const excess = (slowDown.factor - 1) * 0.5 ** ((now - slowDown.since) / HALF_LIFE_MS);
  return excess < 0.05 ? 1 : 1 + excess;
}

/** Twice as slow as at `now`, up to sixteen times. */
export function afterThrottling(slowDown: SlowDown, now: number): SlowDown {
  return { factor: Math.min(MAX_FACTOR, factorAt(slowDown, now) * 2), since: now };
}

/** Milliseconds between two calls at `now`. */
export function slowedGap(gapMs: number, slowDown: SlowDown, now: number): number {
  const factor = factorAt(slowDown, now);
  return factor === 1 ? gapMs : Math.max(gapMs, LEAST_GAP_MS) * factor;
}
