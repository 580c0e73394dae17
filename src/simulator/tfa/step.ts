import type { Random } from '../../lib/random.ts';
import { Refusal } from '../refusal.ts';
import type { TfaSettings } from '../settings.ts';
import type { MethodType, MutableTfaAccount, SentCode, TfaAccount, TfaMethod } from '../tables/tfa.ts';

/** Value of `tfa_status` in the user object (specification 2.4). */
export type TfaStatus = 'enabled' | 'disabled' | 'legacy';

/** Facts about a user for 2FA. */
export interface TfaUser {
  readonly id: number;
  readonly email: string | null;
  readonly emailVerifiedAt: number | null;
  /** The number on file; the second factor of a legacy account. */
  readonly phoneNumber: string | null;
  readonly isAdmin: boolean;
}

/** A step of 2FA: the account that it changes, and its inputs. */
export interface TfaStep {
  readonly account: MutableTfaAccount;
  status: TfaStatus;
  readonly user: TfaUser;
  readonly settings: TfaSettings;
  readonly now: number;
  readonly random: Random;
  /** Next id of a method. */
  readonly nextMethodId: () => number;
  /** Number of sends by other accounts to a number since a time. */
  readonly foreignSends: (phoneNumber: string, since: number) => number;
  /** Codes that this step sends. */
  readonly sent: Omit<SentCode, 'id'>[];
}

/** Returns the methods of one type, in the order they were added. */
export function methodsOfType(account: TfaAccount, type: MethodType): readonly TfaMethod[] {
  return account.methods.filter(({ method }) => method === type);
}

/** Start and inputs of a step. */
export interface TfaInput extends Omit<TfaStep, 'account' | 'sent'> {
  readonly account: TfaAccount;
}

/** Result of a step. A refusal keeps its changes: failed attempts and requested messages count. */
export interface TfaOutcome<T> {
  readonly account: TfaAccount;
  readonly status: TfaStatus;
  readonly sent: readonly Omit<SentCode, 'id'>[];
  readonly result:
    | { readonly type: 'done'; readonly value: T }
    | { readonly type: 'refused'; readonly refusal: Refusal };
}

/** Runs one step of 2FA on a copy: the input never changes. */
export function runTfaStep<T>(input: TfaInput, move: (step: TfaStep) => T): TfaOutcome<T> {
  const step: TfaStep = { ...input, account: structuredClone(input.account) as MutableTfaAccount, sent: [] };
  const result = attempt(() => move(step));
  return { account: step.account, status: step.status, sent: step.sent, result };
}

function attempt<T>(move: () => T): TfaOutcome<T>['result'] {
  try {
    return { type: 'done', value: move() };
  } catch (refusal) {
    if (refusal instanceof Refusal) return { type: 'refused', refusal };
    throw refusal;
  }
}

/**
 * The 2FA codes of specification 7 with their status. `missing_auth_value` is 401 instead of 400 if both the secret and
 * the Bearer token are missing: the caller of {@link tfaRefusal} passes it.
 */
export const tfaErrorStatus = {
  bad_request: 400,
  auth_error: 403,
  invalid_tfa_method: 400,
  missing_auth_value: 400,
  missing_params: 400,
  email_not_verified: 400,
  '2fa_expired': 400,
  challenge_not_found: 400,
  no_challenge_found: 400,
  tfa_challenge_exists: 400,
  authorization_required: 403,
  no_pending_authorization: 400,
  invalid_backup_code: 401,
  untracked_2fa_found: 400,
  duplicate_tfa_method: 400,
  twilio_error: 400,
  preauth_phone_cap: 429,
  sms_rate_limited: 429,
  twilio_rate_limited: 429,
  tfa_locked: 429,
  service_unavailable: 503,
  phone_number_mismatch: 400,
  '2fa_login_failed': 400,
  '2fa_verification_failed': 400,
  team_user_forbidden: 403,
  missing_email: 400,
  missing_phone_number: 400,
  not_found: 404,
  tfa_method_not_configured: 400,
  challenge_creation_failed: 500,
  sms_blocked_number: 400,
  sms_fraud_detected: 403,
} as const;

export type TfaErrorCode = keyof typeof tfaErrorStatus;

/** Counts in `tfa_locked` and `2fa_verification_failed`; `locked_until` in epoch seconds or null. */
export interface FailureCounts {
  readonly fail_count: number;
  readonly locked_until: number | null;
}

/** Returns a refusal of a 2FA call, under the status of its code unless the case has another. */
export function tfaRefusal(
  code: TfaErrorCode,
  msg: string,
  options: { status?: number; counts?: FailureCounts } = {},
): Refusal {
  return new Refusal(options.status ?? tfaErrorStatus[code], code, { msg, ...options.counts });
}
