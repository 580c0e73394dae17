import type { EnvoyAdmin } from '../gateway/envoy-admin.ts';
import { type Clock, sleep } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';

export interface DrainOptions {
  readonly clock: Clock;
  readonly log: Logger;
  /** Of the Envoy that brings the requests; undefined where it cannot be reached. */
  readonly admin: Pick<EnvoyAdmin, 'closeConnections'> | undefined;
  /** Requests that wait or are served. */
  readonly begunRequests: () => number;
  /** Answers all that wait, and all that come later. */
  readonly refuseHeld: () => void;
  /** How long new requests are expected. */
  readonly delayMs: number;
  /** When it is over, whatever was begun. `delayMs` is part of it. */
  readonly graceMs: number;
}

/** How often it is looked whether requests are left. */
const CHECK_MS = 100;
/** A request may be between Envoy and this process: none is left when none was seen for so many checks. */
const QUIET_CHECKS = 5;
/** For answers to what was held, through Envoy to the clients. */
const LAST_ANSWERS_MS = 500;

/**
 * Lets clients go elsewhere: connections close with their next response, new ones are served for `delayMs`, and then it
 * waits until no request is left. Resolves when none is, or at the end of the grace, when what is held has been refused.
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
