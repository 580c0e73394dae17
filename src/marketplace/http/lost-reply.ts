import { DeadlineError } from '../../lib/deadline.ts';
import { TransportError } from '../../lib/transport.ts';
import { describe } from '../errors/classify-failure.ts';
import { ADVICE_BY_KIND, connectionAdvice } from '../errors/error-catalogue.ts';
import { MarketplaceError, type MarketplaceErrorKind, type Outcome } from '../errors/errors.ts';
import { UnreadableBody } from './read-body.ts';

const SYSTEM_CODE = /^[A-Z0-9_]{3,60}$/;

/** Why our own rules refused to connect; the cause of a TransportError with `sent` false. */
export class BlockedAddress extends Error {}

/** A person gave the call up while it was under way; the cause of a TransportError. */
export class CallGivenUp extends Error {}

/** No key may be used for a write: the account's own is missing, narrow or kept; the cause of a TransportError. */
export class NoUsableKey extends Error {}

/** A failure before the request left: certainly without effect. */
export function notSent(operation: string, cause: unknown): MarketplaceError {
  if (cause instanceof MarketplaceError) return cause;
  const kind = cause instanceof DeadlineError ? 'timeout' : 'aborted';
  return failure(operation, { kind, outcome: 'refused' }, cause);
}

/** The call that was lost. */
export interface LostCall {
  readonly operation: string;
  readonly effect: 'read' | 'write';
  readonly bounds?: { readonly signal?: AbortSignal | undefined } | undefined;
}

/**
 * The error of a request to which no whole reply arrived. A write's effect is certain to be missing only
 * where not one byte left.
 */
export function lostReply({ operation, effect, bounds }: LostCall, cause: unknown): MarketplaceError {
  const left = !(cause instanceof TransportError) || cause.sent;
  const outcome: Outcome = effect === 'write' && left ? 'unknown' : 'refused';
  const kind = bounds?.signal?.aborted ? 'aborted' : kindOf(cause);
  return failure(operation, { kind, outcome }, cause);
}

function kindOf(cause: unknown): MarketplaceErrorKind {
  if (cause instanceof DeadlineError) return 'timeout';
  if (cause instanceof UnreadableBody) return 'malformedReply';
  if (cause instanceof TransportError) {
    if (cause.cause instanceof BlockedAddress) return 'blockedAddress';
    if (cause.cause instanceof DeadlineError) return 'timeout';
    if (cause.cause instanceof NoUsableKey) return 'forbidden';
    return cause.cause instanceof CallGivenUp ? 'aborted' : 'unavailable';
  }
  return 'unavailable';
}

/** The first code of the system among the causes, e.g. `ECONNREFUSED` or `CERT_HAS_EXPIRED`. */
function systemCode(cause: unknown): string | undefined {
  let error = cause;
  while (error instanceof Error) {
    if ('code' in error && typeof error.code === 'string' && SYSTEM_CODE.test(error.code)) return error.code;
    error = error.cause;
  }
  return undefined;
}

function failure(
  operation: string,
  { kind, outcome }: { kind: MarketplaceErrorKind; outcome: Outcome },
  cause: unknown,
): MarketplaceError {
  const code = systemCode(cause);
  const advice = connectionAdvice(code) ?? ADVICE_BY_KIND[kind];
  return new MarketplaceError(describe(operation, { kind, code, advice }), {
    kind,
    outcome,
    code,
    advice,
    cause,
  });
}
