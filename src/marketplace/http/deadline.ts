import type { Clock } from '../../lib/clock.ts';

/** Why a signal made by {@link withDeadline} fired by itself. */
export class DeadlineExceeded extends Error {}

/**
 * Runs `work` with a signal that fires after `ms` or with `outer`, and rejects as soon as it fires, whether or
 * not `work` listens. Leaves no timer and no listener behind.
 */
export async function withDeadline<T>(
  { clock, ms, outer }: { clock: Clock; ms: number; outer?: AbortSignal | undefined },
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  outer?.throwIfAborted();
  const controller = new AbortController();
  const onOuterAbort = () => controller.abort(outer?.reason);
  outer?.addEventListener('abort', onOuterAbort, { once: true });
  const timer = clock.setTimer(ms, () => controller.abort(new DeadlineExceeded(`no answer within ${ms} ms`)));
  try {
    return await Promise.race([work(controller.signal), aborted(controller.signal)]);
  } finally {
    timer.cancel();
    outer?.removeEventListener('abort', onOuterAbort);
  }
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) =>
    signal.addEventListener('abort', () => reject(signal.reason), { once: true }),
  );
}

/**
 * The time that a call may take in all. It counts by whichever clock has gone further, because the monotonic one
 * can stand still while a machine is frozen, and a call must not leave after its time.
 */
export class Allowance {
  readonly #clock: Clock;
  readonly #ms: number;
  readonly #monotonicStart: number;
  readonly #wallStart: number;

  constructor(clock: Clock, ms: number = Number.POSITIVE_INFINITY) {
    this.#clock = clock;
    this.#ms = ms;
    this.#monotonicStart = clock.monotonic();
    this.#wallStart = clock.now();
  }

  /** Milliseconds that are left; 0 where none are. */
  leftMs(): number {
    const elapsed = Math.max(
      this.#clock.monotonic() - this.#monotonicStart,
      this.#clock.now() - this.#wallStart,
    );
    return Math.max(0, this.#ms - elapsed);
  }
}
