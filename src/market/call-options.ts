import type { Secret } from '../lib/secret.ts';
import type { Slot } from './pacing.ts';

/** Limits of one call, accepted by every method of a market. */
export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
  /**
   * Milliseconds for the whole call including pacing and retries. If absent, each attempt has the adapter's own
   * deadline, and the pacer limits the wait.
   */
  readonly deadlineMs?: number | undefined;
  /** A request slot reserved with the pacer: the call does not wait for one. */
  readonly slot?: Slot | undefined;
  /**
   * Called after the wait for a request slot. If it returns false, nothing is sent (`aborted`, `refused`). If it
   * rejects, nothing is sent either, and the call rejects with the same error.
   */
  readonly mayLeave?: (() => boolean | Promise<boolean>) | undefined;
}

/** Purpose of a call, whatever its request looks like: `change` may raise spending, `destroy` only ends it. */
export type CallPurpose = 'read' | 'destroy' | 'change';

/**
 * Returns the key for one request at the moment of sending. Throws a TransportError with `sent: false` if no key may be
 * used for that purpose.
 */
export type MarketKeySource = (purpose: CallPurpose) => Secret;
