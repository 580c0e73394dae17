import { badRequest, type Refusal } from '../refusal.ts';
import type { Challenge, MethodType, TfaMethod, TotpMethod } from '../tables/tfa.ts';
import { consumeChallenge, findChallenge, methodById } from './challenge.ts';
import { backupCodesRemaining, isTotpSecret, totpStep, useBackupCode } from './codes.ts';
import { type FailureCounts, methodsOfType, type TfaStep, tfaRefusal } from './step.ts';

/** Second factor of a caller (specification 4.8). */
export interface Proof {
  readonly tfaMethod?: string | undefined;
  readonly methodId?: number | undefined;
  readonly code?: string | undefined;
  readonly secret?: string | undefined;
  readonly backupCode?: string | undefined;
}

/** The verified factor. */
export type Verified =
  | { readonly by: 'backupCode' }
  /** An emailed code, or an SMS to a legacy account's number: no stored method. */
  | { readonly by: 'code' }
  | { readonly by: 'method'; readonly method: TfaMethod };

type FactorName = MethodType | 'email';

/** Returns the factor of that name. Throws `invalid_tfa_method` for another name than `sms`, `totp`, `email`. */
export function factorNamed(name: string): FactorName {
  if (name === 'sms' || name === 'totp' || name === 'email') return name;
  throw tfaRefusal('invalid_tfa_method', 'tfa_method must be one of sms, totp, email.');
}

/**
 * Verifies a second factor and uses up the proof. Throws the refusal of the specification if the proof is incomplete or
 * wrong; a wrong code counts against its method.
 */
export function verifyFactor(step: TfaStep, proof: Proof): Verified {
  if (proof.backupCode !== undefined) {
    useBackupCode(step, proof.backupCode);
    return { by: 'backupCode' };
  }
  if (proof.code === undefined) {
    throw tfaRefusal('missing_auth_value', 'Give a code or a backup_code.');
  }
  const factor = factorOf(step, proof);
  if (factor === 'totp') return verifyTotp(step, chooseMethod(step, 'totp', proof.methodId), proof.code);
  if (proof.secret === undefined) {
    throw tfaRefusal('missing_params', `A code sent by ${factor} needs the secret of its challenge.`);
  }
  const challenge = findChallenge(step, proof.secret);
  if (challenge.proof.type !== factor) {
    throw tfaRefusal('no_challenge_found', `No code was sent by ${factor} for this secret.`);
  }
  return verifyChallenge(step, challenge, { code: proof.code, methodId: proof.methodId });
}

/** Verifies the answer to a challenge; a TOTP challenge is answered by the current code of its method. */
export function verifyChallenge(
  step: TfaStep,
  challenge: Challenge,
  answer: { code: string; methodId?: number | undefined },
): Verified {
  const verified = judgeAnswer(step, challenge, answer);
  consumeChallenge(step, challenge.secret);
  return verified;
}

/**
 * Verifies the answer to a challenge that authorizes a new method: any code that reached its owner counts, also on a
 * number that is no method yet (specification 3.3 sets no condition on its destination).
 */
export function verifyForAuthorization(step: TfaStep, challenge: Challenge, code: string): void {
  const { proof } = challenge;
  if (proof.type === 'sms' && proof.methodId === null) {
    verifyWithoutMethod(proof.code, code);
    consumeChallenge(step, challenge.secret);
  } else verifyChallenge(step, challenge, { code });
}

function judgeAnswer(
  step: TfaStep,
  { proof }: Challenge,
  answer: { code: string; methodId?: number | undefined },
): Verified {
  switch (proof.type) {
    case 'login':
      throw tfaRefusal('no_challenge_found', 'No code was sent for this secret yet.');
    case 'totp':
      return verifyTotp(step, chooseMethod(step, 'totp', proof.methodId), answer.code);
    case 'email':
      return verifyWithoutMethod(proof.code, answer.code);
    case 'sms': {
      if (proof.methodId === null) return verifyLegacyNumber(step, proof, answer.code);
      if (answer.methodId !== undefined && answer.methodId !== proof.methodId) {
        throw tfaRefusal('phone_number_mismatch', 'The code was sent to the number of another method.');
      }
      return verifySent(step, methodById(step, proof.methodId), { sent: proof.code, given: answer.code });
    }
  }
}

/** Verifies a number that is no method, which only counts as the second factor of a legacy account. */
function verifyLegacyNumber(
  step: TfaStep,
  proof: { phoneNumber: string; code: string },
  code: string,
): Verified {
  if (step.status !== 'legacy' || proof.phoneNumber !== step.user.phoneNumber) {
    throw tfaRefusal('2fa_login_failed', 'The number of this challenge is no method of the account.');
  }
  return verifyWithoutMethod(proof.code, code);
}

function verifyWithoutMethod(sent: string, given: string): Verified {
  if (sent !== given) throw tfaRefusal('2fa_login_failed', 'The code is not correct.');
  return { by: 'code' };
}

function verifySent(step: TfaStep, method: TfaMethod, code: { sent: string; given: string }): Verified {
  admitAttempt(method, step.now);
  if (code.sent !== code.given) refuseAttempt(step, method);
  acceptAttempt(method, step.now);
  return { by: 'method', method };
}

function verifyTotp(step: TfaStep, method: TfaMethod, code: string): Verified {
  if (method.method !== 'totp' || method.totpSecret === null || !isTotpSecret(method.totpSecret)) {
    throw tfaRefusal(
      'tfa_method_not_configured',
      'The TOTP secret is missing or unreadable: set it up again.',
    );
  }
  admitAttempt(method, step.now);
  const used = totpStep(method.totpSecret, { code, at: step.now, window: step.settings.totpWindow });
  if (used === undefined || isSpent(step, method, used)) refuseAttempt(step, method);
  method.lastStep = used;
  acceptAttempt(method, step.now);
  return { by: 'method', method };
}

function isSpent(step: TfaStep, method: TotpMethod, used: number): boolean {
  return step.settings.totpSingleUse && method.lastStep !== null && used <= method.lastStep;
}

/** Returns the factor of a proof: the named one, that of the method with the id, or `sms` (specification 4.8). */
function factorOf(step: TfaStep, proof: Proof): FactorName {
  if (proof.tfaMethod !== undefined) return factorNamed(proof.tfaMethod);
  return proof.methodId === undefined ? 'sms' : methodById(step, proof.methodId).method;
}

/**
 * Returns the method of that type: the one with the id, or the only one. Throws `not_found` if there is none
 * (`tfa_method_not_configured` for TOTP), and 400 if there are several and no id.
 */
export function chooseMethod(step: TfaStep, type: MethodType, id: number | undefined): TfaMethod {
  const candidates = methodsOfType(step.account, type);
  if (id !== undefined) {
    const method = methodById(step, id);
    if (method.method === type) return method;
    throw tfaRefusal('not_found', `The method with tfa_method_id ${id} is not of type ${type}.`);
  }
  const [only, ...others] = candidates;
  if (!only) throw noMethodOf(type);
  if (others.length > 0) {
    throw badRequest(`The account has several ${type} methods: give tfa_method_id.`);
  }
  return only;
}

/** `tfa_method_not_configured` concerns TOTP secrets only (specification 7): any other method is just missing. */
function noMethodOf(type: MethodType): Refusal {
  const msg = `The account has no ${type} method.`;
  return type === 'totp' ? tfaRefusal('tfa_method_not_configured', msg) : tfaRefusal('not_found', msg);
}

/** Returns the seconds since the epoch, as the wire has times. */
export function epochSeconds(milliseconds: number): number {
  return Math.floor(milliseconds / 1000);
}

/** Returns true if that method accepts no verification now. */
export function isLocked(method: TfaMethod, now: number): boolean {
  return method.lockedUntil !== null && now < method.lockedUntil;
}

/** Returns the failed attempts in a status entry or an error; after a lockout the count restarts. */
export function failureCounts(method: TfaMethod, now: number): FailureCounts {
  if (method.lockedUntil === null) return { fail_count: method.failCount, locked_until: null };
  if (!isLocked(method, now)) return { fail_count: 0, locked_until: null };
  // Rounded up: a caller that waits until then finds the method unlocked.
  return { fail_count: method.failCount, locked_until: Math.ceil(method.lockedUntil / 1000) };
}

/**
 * Throws `tfa_locked` for a verification by a locked method. Attempts meanwhile neither count nor extend the lockout:
 * public clients repeat a 429 three times by themselves.
 */
export function admitAttempt(method: TfaMethod, now: number): void {
  if (isLocked(method, now)) {
    throw tfaRefusal('tfa_locked', 'Too many failed attempts: this method is locked for a while.', {
      counts: failureCounts(method, now),
    });
  }
  if (method.lockedUntil === null) return;
  method.lockedUntil = null;
  method.failCount = 0;
}

/** Counts a failed verification, locks the method at the threshold, and throws `2fa_verification_failed`. */
export function refuseAttempt(step: TfaStep, method: TfaMethod): never {
  method.failCount += 1;
  if (method.failCount >= step.settings.failuresBeforeLockout) {
    method.lockedUntil = step.now + step.settings.lockoutSeconds * 1000;
  }
  throw tfaRefusal('2fa_verification_failed', 'The verification code is not correct.', {
    counts: failureCounts(method, step.now),
  });
}

/** Resets the count after a success. */
export function acceptAttempt(method: TfaMethod, now: number): void {
  method.failCount = 0;
  method.lockedUntil = null;
  method.lastUsed = now;
}

/** Result of a completed login in addition to the user object (specification 4.8). */
export interface LoginResult {
  /** Present after a backup code while at least one remains. */
  readonly backup_codes_remaining?: number;
  /** Present, and true, only for legacy accounts. */
  readonly legacy_tfa_user?: true;
}

/**
 * Serves `POST /tfa/`: completes a login by a second factor. Throws `auth_error` if a user who is no admin requests an
 * admin session, and the Refusal of a wrong factor.
 */
export function completeLogin(step: TfaStep, proof: Proof & { admin: boolean }): LoginResult {
  if (proof.admin && !step.user.isAdmin) {
    throw tfaRefusal('auth_error', 'Only admin users can open an admin session.');
  }
  requireTfa(step, proof);
  const verified = verifyFactor(step, proof);
  if (proof.secret !== undefined) consumeChallenge(step, proof.secret);
  const remaining = backupCodesRemaining(step.account.backupCodes);
  return {
    ...(verified.by === 'backupCode' && remaining > 0 ? { backup_codes_remaining: remaining } : {}),
    ...(step.status === 'legacy' ? { legacy_tfa_user: true } : {}),
  };
}

/**
 * Throws a Refusal if a valid request finds no second factor to verify. A backup code has its own refusal: an account
 * without 2FA has none.
 */
export function requireTfa(step: TfaStep, proof: Proof): void {
  if (proof.backupCode !== undefined) return;
  if (proof.tfaMethod !== undefined) factorNamed(proof.tfaMethod);
  if (step.status !== 'disabled' || proof.code === undefined) return;
  throw tfaRefusal('2fa_login_failed', 'Two-factor authentication is not set up on this account.');
}
