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
 */
export async function withDeadline<T>(
  { clock, limitMs, signal }: Deadline,
  run: (signal: AbortSignal) => Promise<T>,
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
  const timer = clock.setTimer(limitMs, () => end(new DeadlineError(`No answer within ${limitMs} ms`)));
  signal?.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([run(scope.signal), ended.promise]);
  } finally {
    timer.cancel();
    signal?.removeEventListener('abort', onAbort);
  }
}
