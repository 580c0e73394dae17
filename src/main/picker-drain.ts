import type { EnvoyAdmin } from '../gateway/envoy-admin.ts';
import { type Clock, sleep } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';

export interface DrainOptions {
  readonly clock: Clock;
  readonly log: Logger;
  /** Returns the admin interface of the Envoy that sends the requests; undefined if it cannot be reached. */
  readonly admin: Pick<EnvoyAdmin, 'closeConnections'> | undefined;
  /** Number of waiting or running requests. */
  readonly begunRequests: () => number;
  /** Refuses all waiting requests, and all later ones. */
  readonly refuseHeld: () => void;
  /** Milliseconds in which new requests are still expected. */
  readonly delayMs: number;
  /** Milliseconds after which the drain ends in any case. `delayMs` is part of them. */
  readonly graceMs: number;
}

/** Interval between checks for remaining requests. */
const CHECK_MS = 100;
/**
 * Number of consecutive checks without a request that end the drain: a request may be between Envoy and this process.
 */
const QUIET_CHECKS = 5;
/** Time for refusals to pass through Envoy to the clients. */
const LAST_ANSWERS_MS = 500;

/**
 * Drains the clients: connections close with their next response, new requests are served for `delayMs`, and then it
 * waits for the remaining ones. Resolves when none is left, or at the end of the grace period, after it refused the
 * held ones.
 */
export async function drain(options: DrainOptions): Promise<void> {
  const { clock, log, admin, begunRequests, refuseHeld, delayMs, graceMs } = options;
  const until = clock.monotonic() + graceMs;
  await admin
    ?.closeConnections()
    .catch((error: unknown) => log.warn('Envoy does not close its connections', { error }));
  await sleep(clock, Math.min(delayMs, graceMs));
  for (let quiet = 0; quiet < QUIET_CHECKS && clock.monotonic() < until; ) {
    await sleep(clock, CHECK_MS);
    quiet = begunRequests() === 0 ? quiet + 1 : 0;
  }
  const left = begunRequests();
  refuseHeld();
  if (left === 0) return;
  log.warn('the grace is over: requests that wait are refused, and the others end with Envoy', {
    requests: left,
  });
  await sleep(clock, LAST_ANSWERS_MS);
}
