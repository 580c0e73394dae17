import type { Challenge, ChallengeProof } from '../tables/tfa.ts';
import { challengeSecret } from './codes.ts';
import type { TfaStep } from './state.ts';
import { tfaRefusal } from './tfa-refusal.ts';

/** An expired challenge answers `2fa_expired` for a day, then it is forgotten. */
const FORGET_AFTER_MS = 24 * 3_600_000;

/** Whether a challenge can still be answered (specification 8: 10 minutes). */
export function isAlive(step: TfaStep, challenge: Challenge): boolean {
  return step.now - challenge.createdAt <= step.settings.challengeSeconds * 1000;
}

/** The live challenge of a secret: `challenge_not_found` where none is, `2fa_expired` where it is too old. */
export function findChallenge(step: TfaStep, secret: string): Challenge {
  const challenge = step.account.challenges.find((candidate) => candidate.secret === secret);
  if (!challenge) throw tfaRefusal('challenge_not_found', 'No challenge belongs to this secret.');
  if (!isAlive(step, challenge)) {
    throw tfaRefusal('2fa_expired', 'The challenge has expired. Request a new code.');
  }
  return challenge;
}

/** Keeps a new challenge; long dead ones are dropped on the way. */
export function createChallenge(step: TfaStep, proof: ChallengeProof): Challenge {
  const challenge: Challenge = {
    secret: challengeSecret(step.random),
    proof,
    createdAt: step.now,
    sentAt: null,
  };
  step.account.challenges = step.account.challenges.filter(
    (kept) => step.now - kept.createdAt <= FORGET_AFTER_MS,
  );
  step.account.challenges.push(challenge);
  return challenge;
}

/** A challenge is answered once. */
export function consumeChallenge(step: TfaStep, secret: string): void {
  step.account.challenges = step.account.challenges.filter((kept) => kept.secret !== secret);
}

/**
 * The password step of the web console: names the user, so that a logged-out caller can go on with the
 * secret alone (specification 2.7: returned by login steps).
 */
export function beginLogin(step: TfaStep): { secret: string } {
  return { secret: createChallenge(step, { type: 'login' }).secret };
}
