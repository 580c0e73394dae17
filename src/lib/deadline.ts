import type { Clock } from './clock.ts';

/** The time given to something has run out. */
export class DeadlineError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'DeadlineError';
  }
}

/** How long something may take. */
export interface Deadline {
  readonly clock: Clock;
  readonly limitMs: number;
  /** Ends the run too, with its own reason. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Runs `run` with a signal that is aborted when time is up or `signal` is, and rejects then, with a
 * {@link DeadlineError} or the signal's reason, even where `run` ignores it. Leaves no timer and no listener behind.
 * Each call of `received` starts the limit again: a run that calls it per piece of a reply is limited in silence, not in total.
 */
export async function withDeadline<T>(
  { clock, limitMs, signal }: Deadline,
  run: (signal: AbortSignal, received: () => void) => Promise<T>,
): Promise<T> {
  signal?.throwIfAborted();
  const scope = new AbortController();
  const ended = Promise.withResolvers<never>();
  // Nobody waits for it where `run` throws at once.
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

/** Calls `onSilence` once nothing has broken the silence for `limitMs`. Pieces of a reply are many, so `broken` sets no timer. */
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
