import { badRequest, type Refusal } from '../calls/refusal.ts';
import type { Challenge, MethodType, TfaMethod, TotpMethod } from '../tables/tfa.ts';
import { useBackupCode } from './backup-codes.ts';
import { consumeChallenge, findChallenge } from './challenge.ts';
import { acceptAttempt, admitAttempt, refuseAttempt } from './lockout.ts';
import { methodById } from './sms-target.ts';
import { methodsOfType, type TfaStep } from './state.ts';
import { tfaRefusal } from './tfa-refusal.ts';
import { isTotpSecret, totpStep } from './totp.ts';

/** What a caller sent to prove a second factor (specification 4.8). */
export interface Proof {
  readonly tfaMethod?: string | undefined;
  readonly methodId?: number | undefined;
  readonly code?: string | undefined;
  readonly secret?: string | undefined;
  readonly backupCode?: string | undefined;
}

/** How a caller proved it. */
export type Verified =
  | { readonly by: 'backupCode' }
  /** An emailed code, or an SMS to a legacy account's number: no stored method. */
  | { readonly by: 'code' }
  | { readonly by: 'method'; readonly method: TfaMethod };

type FactorName = MethodType | 'email';

/** The factor of that name: `invalid_tfa_method` where it is none of `sms`, `totp`, `email`. */
export function factorNamed(name: string): FactorName {
  if (name === 'sms' || name === 'totp' || name === 'email') return name;
  throw tfaRefusal('invalid_tfa_method', 'tfa_method must be one of sms, totp, email.');
}

/** Verifies a second factor and uses the proof up, or refuses; a wrong code counts against its method. */
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

/** The answer to a challenge; a TOTP challenge is answered by the current code of its method. */
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
 * The answer to a challenge that authorizes a new method: a code that reached its owner does, also on a number
 * that is no method yet (specification 3.3 sets no condition on where the code went).
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

/** A number that is no method proves something only as the second factor of a legacy account. */
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

/** The factor a proof is about: the one named, that of the method with the id, or `sms` (specification 4.8). */
function factorOf(step: TfaStep, proof: Proof): FactorName {
  if (proof.tfaMethod !== undefined) return factorNamed(proof.tfaMethod);
  return proof.methodId === undefined ? 'sms' : methodById(step, proof.methodId).method;
}

/** The method of that type: the one with the id, or the only one. */
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

/** `tfa_method_not_configured` speaks of TOTP secrets alone (specification 7): any other method is just not there. */
function noMethodOf(type: MethodType): Refusal {
  const msg = `The account has no ${type} method.`;
  return type === 'totp' ? tfaRefusal('tfa_method_not_configured', msg) : tfaRefusal('not_found', msg);
}
