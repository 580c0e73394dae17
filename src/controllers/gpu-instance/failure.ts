import type { Reason } from '../../api/v1alpha1/reasons.ts';
import type { AvoidTarget } from '../../instance/avoidance.ts';
import type { MarketplaceErrorKind, Outcome } from '../../market/errors.ts';
import { backoffMs } from './decision.ts';
import type { Action, Observed, Refusal } from './types.ts';

/** A call that failed, as plain data. */
export interface Failure {
  readonly kind: MarketplaceErrorKind;
  readonly outcome: Outcome;
  /** Text of the operator, status and code: safe to show. */
  readonly message: string;
  readonly retryAfterMs: number | undefined;
  /** A rent failed, but its reply named a machine. */
  readonly instanceId: string | undefined;
}

/** Consequence of a failed call. */
export type AfterFailure =
  /** The call succeeded despite the error. */
  | { readonly type: 'rented'; readonly instanceId: string }
  /** The call may have succeeded; only the lists can settle it. */
  | { readonly type: 'settle' }
  | {
      readonly type: 'retry';
      readonly afterMs: number;
      /** Worth a condition. */
      readonly refusal?: Refusal;
      readonly avoid?: AvoidTarget;
      /** The service has no such request at all. */
      readonly unsupported?: boolean;
    };

/** Returns the consequence of a failed call. The catch block of `act` only passes the error on. */
export function decideAfterFailure(
  observed: Pick<Observed, 'clock' | 'memory'>,
  action: Action,
  failure: Failure,
): AfterFailure {
  switch (action.type) {
    case 'rent':
      return afterRent(observed, action.purchase.offer.id, failure);
    case 'start':
      return afterStart(observed, failure);
    case 'destroy':
      return {
        type: 'retry',
        afterMs: Math.min(60_000, waitMs(observed, failure, observed.memory.destroyFailures)),
      };
    case 'stop':
    case 'relabel':
    case 'retain':
    case 'expire':
    case 'release':
      return { type: 'retry', afterMs: waitMs(observed, failure, observed.memory.failures) };
  }
}

function afterRent(
  observed: Pick<Observed, 'clock' | 'memory'>,
  offerId: string,
  failure: Failure,
): AfterFailure {
  if (failure.instanceId !== undefined) return { type: 'rented', instanceId: failure.instanceId };
  if (failure.outcome === 'unknown') return { type: 'settle' };
  if (failure.kind === 'aborted') return { type: 'retry', afterMs: 0 };
  const offer: AvoidTarget = { type: 'offer', id: offerId };
  if (failure.kind === 'offerGone') return { type: 'retry', afterMs: 0, avoid: offer };
  const reason = REASONS[failure.kind] ?? 'RentalRefused';
  return {
    type: 'retry',
    afterMs: waitMs(observed, failure, observed.memory.failures),
    refusal: { reason, detail: failure.message },
    ...(reason === 'RentalRefused' ? { avoid: offer } : {}),
  };
}

/**
 * Returns the decision after a failed start. A service that rejects a start as invalid twice in a row does not
 * support it (specification 4.7 shows only the stop). Stopped machines and their disks are then given up, so a single
 * such answer, perhaps from a proxy, is not enough.
 */
function afterStart(observed: Pick<Observed, 'clock' | 'memory'>, failure: Failure): AfterFailure {
  const isWrong = failure.outcome === 'refused' && failure.kind === 'invalidRequest';
  if (isWrong && observed.memory.refusal?.isStartInvalid === true) {
    return { type: 'retry', afterMs: 0, unsupported: true };
  }
  const reason = REASONS[failure.kind] ?? 'CannotStart';
  const afterMs = waitMs(observed, failure, observed.memory.failures);
  const refusal = { reason, detail: failure.message, ...(isWrong && ({ isStartInvalid: true } as const)) };
  return { type: 'retry', afterMs, refusal };
}

const REASONS: Partial<Readonly<Record<MarketplaceErrorKind, Reason>>> = {
  invalidRequest: 'InvalidSpec',
  insufficientCredit: 'InsufficientCredit',
  throttled: 'Throttled',
  quotaExceeded: 'Throttled',
  unavailable: 'Unreachable',
  timeout: 'Unreachable',
  unauthorized: 'AccountNotReady',
  sessionExpired: 'AccountNotReady',
  twoFactorRequired: 'AccountNotReady',
  forbidden: 'AccountNotReady',
};

function waitMs({ clock: { jitter } }: Pick<Observed, 'clock'>, failure: Failure, failures: number): number {
  return Math.max(failure.retryAfterMs ?? 0, backoffMs(failures + 1, jitter));
}
