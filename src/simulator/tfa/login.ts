import { backupCodesRemaining } from './backup-codes.ts';
import { consumeChallenge } from './challenge.ts';
import type { TfaStep } from './state.ts';
import { tfaRefusal } from './tfa-refusal.ts';
import { factorNamed, type Proof, verifyFactor } from './verify.ts';

/** What a completed login tells beside the user object (specification 4.8). */
export interface LoginResult {
  /** Present after a backup code while at least one remains. */
  readonly backup_codes_remaining?: number;
  /** Present, and true, only for legacy accounts. */
  readonly legacy_tfa_user?: true;
}

/** `POST /tfa/`: completes a login by a second factor. */
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
 * Refuses where there is no second factor to verify, once the request itself is right. A backup code is
 * judged as such: an account without 2FA has none.
 */
export function requireTfa(step: TfaStep, proof: Proof): void {
  if (proof.backupCode !== undefined) return;
  if (proof.tfaMethod !== undefined) factorNamed(proof.tfaMethod);
  if (step.status !== 'disabled' || proof.code === undefined) return;
  throw tfaRefusal('2fa_login_failed', 'Two-factor authentication is not set up on this account.');
}
