/**
 * Kind of a failure. Code uses the kind; the text is for people.
 *
 * - `unauthorized` the key is wrong, revoked or expired; `sessionExpired` a 2FA session ended; `twoFactorRequired` a
 * 2FA login is needed; `forbidden` the key lacks the permission.
 * - `offerGone` the offer is taken or withdrawn: choose another. `notFound` the named object does not exist.
 * - `invalidRequest` the request itself is wrong; repeating it is useless. `conflict` it contradicts the present
 * state. `insufficientCredit` the account cannot pay. `verificationFailed` a 2FA code was not accepted.
 * - `throttled` too many requests; `quotaExceeded` a daily quota is used up; `locked` a 2FA method is locked.
 * - `gone` this form of the endpoint is no longer served. `redirected` a redirect, which is never followed.
 * - `unavailable` the service could not be reached or failed; `timeout` no complete reply within the deadline;
 * `malformedReply` a reply that cannot be read or trusted; `aborted` the caller cancelled.
 * - `blockedAddress` the operator's own rules refuse the address. `refused` the service refused for another reason.
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

/** Effect of a failed call: certainly absent (`refused`) or possible (`unknown`). */
export type Outcome = 'refused' | 'unknown';

/** Details of a failure beside its kind. */
export interface MarketplaceFailure {
  readonly kind: MarketplaceErrorKind;
  readonly outcome: Outcome;
  /**
   * Code of the service, e.g. `no_such_ask`, or of the system for a lost connection, e.g. `ECONNREFUSED`. It consists
   * of letters, digits and `_`, so it is safe to show.
   */
  readonly code?: string | undefined;
  readonly status?: number | undefined;
  /** Milliseconds for which the service asked for no further calls. */
  readonly retryAfterMs?: number | undefined;
  /** Text of the service. For the person at the command line; never for status, events or logs. */
  readonly upstreamMessage?: string | undefined;
  /** Id of a machine that a failed rent named: it belongs to this operator and bills. */
  readonly instanceId?: string | undefined;
  /** 2FA: number of failed attempts so far. */
  readonly failCount?: number | undefined;
  /** 2FA: end of a lockout in epoch milliseconds. */
  readonly lockedUntil?: number | undefined;
  /** Advice to the user, in text of this program. */
  readonly advice?: string | undefined;
  readonly cause?: unknown;
}

/**
 * The only error of a market. `message` consists of this program's own words, status and code, so it may be shown
 * anywhere. `outcome` is `refused` only if the effect certainly did not happen.
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

/**
 * No key may be used for a write: the account's own key is missing or restricted, or only a stored copy exists. It is
 * the cause of a TransportError.
 */
export class NoUsableKey extends Error {
  override readonly name = 'NoUsableKey';
}
