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
  const ended = Promise.withResolvers<never>();
  const end = (reason: unknown) => {
    controller.abort(reason);
    ended.reject(reason);
  };
  const onOuterAbort = () => end(outer?.reason);
  outer?.addEventListener('abort', onOuterAbort, { once: true });
  const timer = clock.setTimer(ms, () => end(new DeadlineExceeded(`no answer within ${ms} ms`)));
  try {
    return await Promise.race([work(controller.signal), ended.promise]);
  } finally {
    timer.cancel();
    outer?.removeEventListener('abort', onOuterAbort);
  }
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
