import type { Challenge } from '../tables/tfa.ts';
import { createChallenge, findChallenge } from './challenge.ts';
import { sixDigits } from './codes.ts';
import type { TfaStep } from './state.ts';
import { tfaRefusal } from './tfa-refusal.ts';

/** The address codes go to: it has to exist and to be verified (specification 4.8, prerequisite). */
export function verifiedEmail(step: TfaStep): string {
  if (!step.user.email) throw tfaRefusal('missing_email', 'The account has no email address.');
  if (step.user.emailVerifiedAt === null) {
    throw tfaRefusal('email_not_verified', 'Verify the email address of the account first.');
  }
  return step.user.email;
}

/**
 * Sends a code by email. With a secret the code answers that challenge, without one a fresh challenge is
 * made (specification 4.8: a Bearer call without `secret` always creates one).
 */
export function sendEmailCode(step: TfaStep, secret: string | undefined): Challenge {
  const to = verifiedEmail(step);
  const proof = { type: 'email', code: sixDigits(step.random) } as const;
  const challenge =
    secret === undefined
      ? createChallenge(step, proof)
      : Object.assign(findChallenge(step, secret), { proof });
  challenge.sentAt = step.now;
  step.sent.push({ at: step.now, channel: 'email', to, code: proof.code });
  return challenge;
}
