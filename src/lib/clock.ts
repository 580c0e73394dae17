/** A timer that can be cancelled. */
export interface Timer {
  cancel(): void;
}

/**
 * Time as an argument. Production uses {@link systemClock}; simulation uses a virtual one, so no other code in `src`
 * may read `Date` or set a timer.
 */
export interface Clock {
  /** Returns the wall clock in milliseconds since the epoch. It may jump. */
  now(): number;
  /** Returns the milliseconds since an arbitrary start. They never decrease, and may stop while the machine sleeps. */
  monotonic(): number;
  /**
   * Calls `run` once after `delayMs`, unless cancelled. With `background` a pending timer does not keep the process
   * alive.
   */
  setTimer(delayMs: number, run: () => void, options?: { background?: boolean }): Timer;
}

/** The machine's own clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  setTimer(delayMs, run, options) {
    const handle = setTimeout(run, Math.min(Math.max(0, delayMs), 2 ** 31 - 1));
    if (options?.background) handle.unref();
    return { cancel: () => clearTimeout(handle) };
  },
};

/** Resolves after `delayMs` on that clock; rejects with the signal's reason when it is aborted. */
export function sleep(clock: Clock, delayMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const onAbort = () => {
      timer.cancel();
      reject(signal?.reason);
    };
    const timer = clock.setTimer(delayMs, () => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    });
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}
