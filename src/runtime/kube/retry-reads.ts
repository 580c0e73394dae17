import { type Clock, sleep } from '../../lib/clock.ts';
import { DeadlineError } from '../../lib/deadline.ts';
import type { Random } from '../../lib/random.ts';
import { isKubeError, type KubeError } from './kube-error.ts';

const ATTEMPTS = 4;
const BASE_DELAY_MS = 100;
/** A server that asks for a longer rest is left to the caller. */
const MAX_REST_MS = 30_000;

/**
 * Runs a read again where the API server was throttled or out of reach: up to four times, after the rest that its
 * Retry-After asks for or a jittered 100, 200, 400 ms. Never for writes.
 */
export async function retryReads<T>(
  { clock, random }: { readonly clock: Clock; readonly random: Random },
  read: () => Promise<T>,
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await read();
    } catch (error) {
      if (attempt === ATTEMPTS || !isWorthRetrying(error)) throw error;
      const restMs = error.retryAfterMs ?? BASE_DELAY_MS * 2 ** (attempt - 1) * (1 + random.next());
      if (restMs > MAX_REST_MS) throw error;
      await sleep(clock, restMs);
    }
  }
}

/** A read that has used its whole deadline has waited long enough. */
function isWorthRetrying(error: unknown): error is KubeError {
  return isKubeError(error, 'throttled', 'unavailable') && !(error.cause instanceof DeadlineError);
}
