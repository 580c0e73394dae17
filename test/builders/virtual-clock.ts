import type { Clock, Timer } from '../../src/lib/clock.ts';

/** A clock that stands still until told to move. */
export interface VirtualClock extends Clock {
  /**
   * Moves time on by `ms`, running every timer that falls due in its order (equal times: first set, first run).
   * Before, between and after timers all pending microtasks end, so promise chains settle as they would in time.
   */
  advance(ms: number): Promise<void>;
  /** Lets everything that is ready run, without moving time. */
  settle(): Promise<void>;
  /** Returns the milliseconds until the next timer; undefined if no timer is set. */
  nextTimerMs(): number | undefined;
  /** Moves the wall clock alone, as a correction by NTP does. */
  jumpWallClock(ms: number): void;
}

interface PendingTimer {
  readonly at: number;
  readonly order: number;
  readonly run: () => void;
}

/** Waits for all promise reactions and next ticks, which are over once an immediate runs. */
const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Creates a virtual clock whose wall clock starts at `startMs` (epoch milliseconds). */
export function createVirtualClock({ startMs = 1_700_000_000_000 }: { startMs?: number } = {}): VirtualClock {
  const timers = new Set<PendingTimer>();
  let elapsed = 0;
  let order = 0;
  let offset = startMs;

  const earliest = (): PendingTimer | undefined => {
    let found: PendingTimer | undefined;
    for (const timer of timers) {
      if (!found || timer.at < found.at || (timer.at === found.at && timer.order < found.order))
        found = timer;
    }
    return found;
  };

  const setTimer = (delayMs: number, run: () => void): Timer => {
    const timer = { at: elapsed + Math.max(0, delayMs), order: order++, run };
    timers.add(timer);
    return { cancel: () => timers.delete(timer) };
  };

  return {
    now: () => offset + elapsed,
    monotonic: () => elapsed,
    setTimer,
    settle,
    nextTimerMs() {
      const next = earliest();
      return next && next.at - elapsed;
    },
    jumpWallClock(ms) {
      offset += ms;
    },
    async advance(ms) {
      const until = elapsed + ms;
      await settle();
      for (let next = earliest(); next && next.at <= until; next = earliest()) {
        timers.delete(next);
        elapsed = Math.max(elapsed, next.at);
        next.run();
        await settle();
      }
      elapsed = until;
    },
  };
}
