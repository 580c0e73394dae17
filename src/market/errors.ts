/**
 * What went wrong, as code decides by it. Text is for people.
 *
 * - `unauthorized` the key is wrong, revoked or expired; `sessionExpired` a 2FA session ended;
 *   `twoFactorRequired` a 2FA login is needed; `forbidden` the key lacks the right.
 * - `offerGone` the offer is taken or withdrawn: choose another. `notFound` the named thing does not exist.
 * - `invalidRequest` the request itself is wrong; repeating it is useless. `conflict` it does not fit the
 *   present state. `insufficientCredit` the account cannot pay. `verificationFailed` a 2FA code was not taken.
 * - `throttled` too many requests; `quotaExceeded` a daily quota is used up; `locked` a 2FA method is locked.
 * - `gone` this form of the endpoint is no longer served. `redirected` a redirect, which is never followed.
 * - `unavailable` the service could not be reached or failed; `timeout` no complete reply within the deadline;
 *   `malformedReply` a reply that cannot be read or trusted; `aborted` the caller gave up.
 * - `blockedAddress` our own rules refuse the address. `refused` the service said no for another reason.
 */
export type MarketplaceErrorKind =
  | 'unauthorized'
  | 'sessionExpired'
  | 'twoFactorRequired'
  | 'forbidden'
  | 'offerGone'
  | 'notFound'
  | 'invalidRequest'
  | 'conflict'
  | 'insufficientCredit'
  | 'verificationFailed'
  | 'throttled'
  | 'quotaExceeded'
  | 'locked'
  | 'gone'
  | 'redirected'
  | 'unavailable'
  | 'timeout'
  | 'malformedReply'
  | 'aborted'
  | 'blockedAddress'
  | 'refused';

/** Whether the effect certainly did not happen (`refused`) or may have (`unknown`). */
export type Outcome = 'refused' | 'unknown';

/** What is known about a failure beside its kind. */
export interface MarketplaceFailure {
  readonly kind: MarketplaceErrorKind;
  readonly outcome: Outcome;
  /**
   * The service's code, e.g. `no_such_ask`, or of a lost connection the system's, e.g. `ECONNREFUSED`. Only
   * letters, digits and `_`: safe to show.
   */
  readonly code?: string | undefined;
  readonly status?: number | undefined;
  /** How long the service asked to be left alone. */
  readonly retryAfterMs?: number | undefined;
  /** The service's own text. For the person at the command line; never for status, events or logs. */
  readonly upstreamMessage?: string | undefined;
  /** A rent failed but named a machine all the same: it is ours and bills. */
  readonly instanceId?: string | undefined;
  /** 2FA: failed attempts so far. */
  readonly failCount?: number | undefined;
  /** 2FA: epoch milliseconds at which a lockout ends. */
  readonly lockedUntil?: number | undefined;
  /** What a person should do, in our own words. */
  readonly advice?: string | undefined;
  readonly cause?: unknown;
}

/**
 * The one error of this client. `message` is made of our own words, status and code alone, so it may be
 * shown anywhere; `outcome` is `refused` only if the effect certainly did not happen.
 */
export class MarketplaceError extends Error {
  readonly kind: MarketplaceErrorKind;
  readonly outcome: Outcome;
  readonly code: string | undefined;
  readonly status: number | undefined;
  readonly retryAfterMs: number | undefined;
  readonly upstreamMessage: string | undefined;
  readonly instanceId: string | undefined;
  readonly failCount: number | undefined;
  readonly lockedUntil: number | undefined;
  readonly advice: string | undefined;

  constructor(message: string, failure: MarketplaceFailure) {
    super(message, failure.cause === undefined ? undefined : { cause: failure.cause });
    this.name = 'MarketplaceError';
    this.kind = failure.kind;
    this.outcome = failure.outcome;
    this.code = failure.code;
    this.status = failure.status;
    this.retryAfterMs = failure.retryAfterMs;
    this.upstreamMessage = failure.upstreamMessage;
    this.instanceId = failure.instanceId;
    this.failCount = failure.failCount;
    this.lockedUntil = failure.lockedUntil;
    this.advice = failure.advice;
  }
}

/** No key may be used for a write: the account's own is missing, narrow or kept; the cause of a TransportError. */
export class NoUsableKey extends Error {
  override readonly name = 'NoUsableKey';
}
