import type { Clock } from './clock.ts';

/** A deadline has passed. */
export class DeadlineError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'DeadlineError';
  }
}

/** Time limit of an operation. */
export interface Deadline {
  readonly clock: Clock;
  readonly limitMs: number;
  /** Aborting it ends the operation too, with its own reason. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Runs `run` with a signal that is aborted when the time is up or when `signal` is. It then rejects with a {@link
 * DeadlineError} or the signal's reason, even if `run` ignores the signal. It leaves no timer and no listener. Each
 * call of `received` restarts the limit: a run that calls it for each part of a reply limits the silence, not the
 * total time.
 */
export async function withDeadline<T>(
  { clock, limitMs, signal }: Deadline,
  run: (signal: AbortSignal, received: () => void) => Promise<T>,
): Promise<T> {
  signal?.throwIfAborted();
  const scope = new AbortController();
  const ended = Promise.withResolvers<never>();
  // If `run` throws synchronously, the rejection has no other handler.
  ended.promise.catch(() => {});
  const end = (reason: unknown) => {
    ended.reject(reason);
    scope.abort(reason);
  };
  const onAbort = () => end(signal?.reason);
  let hasReceived = false;
  const silence = watchSilence(clock, limitMs, () =>
    end(new DeadlineError(hasReceived ? `Not a byte for ${limitMs} ms` : `No answer within ${limitMs} ms`)),
  );
  const received = () => {
    hasReceived = true;
    silence.broken();
  };
  signal?.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([run(scope.signal, received), ended.promise]);
  } finally {
    silence.end();
    signal?.removeEventListener('abort', onAbort);
  }
}

/**
 * Calls `onSilence` after `limitMs` without a call of `broken`. Pieces of a reply are many, so `broken` sets no timer.
 */
export function watchSilence(
  clock: Clock,
  limitMs: number,
  onSilence: () => void,
): { broken(): void; end(): void } {
  let last = clock.monotonic();
  const check = () => {
    const leftMs = last + limitMs - clock.monotonic();
    if (leftMs <= 0) onSilence();
    else timer = clock.setTimer(leftMs, check);
  };
  let timer = clock.setTimer(limitMs, check);
  return {
    broken() {
      last = clock.monotonic();
    },
    end: () => timer.cancel(),
  };
}
