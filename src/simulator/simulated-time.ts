import type { Clock } from '../lib/clock.ts';

/** Where simulated time stood when the clock of the process stood at `real`; both in ms since the epoch. */
export interface TimeAnchor {
  readonly simulated: number;
  readonly real: number;
}

/** The market's own time: follows a clock, perhaps faster, and can be pushed ahead. Never goes back. */
export interface SimulatedTime {
  now(): number;
  /** Pushes time ahead. */
  advance(milliseconds: number): void;
  /** Milliseconds that it was pushed ahead so far. */
  pushed(): number;
  /** What a restart needs to go on as if it had never stopped. */
  anchor(): TimeAnchor;
}

/** `scale` 60 lets a simulated hour pass in a minute; with scale 1 and no anchor both times are equal. */
export function createSimulatedTime(options: {
  clock: Clock;
  scale: number;
  anchor?: TimeAnchor;
}): SimulatedTime {
  const { clock, scale } = options;
  const start = options.anchor ?? { simulated: clock.now(), real: clock.now() };
  let skew = 0;
  let latest = start.simulated;
  const now = (): number => {
    const computed = start.simulated + (clock.now() - start.real) * scale + skew;
    latest = Math.max(latest, computed);
    return latest;
  };
  return {
    now,
    advance(milliseconds) {
      skew += Math.max(0, milliseconds);
    },
    pushed: () => skew,
    anchor: () => ({ simulated: now(), real: clock.now() }),
  };
}
