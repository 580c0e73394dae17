import type { Challenge } from '../tables/tfa.ts';
import { createChallenge, findChallenge, isAlive } from './challenge.ts';
import { sixDigits } from './codes.ts';
import { verifiedEmail } from './email.ts';
import { admitSms } from './sms-delivery.ts';
import { chooseSmsTarget, type SmsTarget, type SmsWish, smsMethodById } from './sms-target.ts';
import type { TfaStep } from './state.ts';
import { tfaRefusal } from './tfa-refusal.ts';

type SmsProof = Extract<Challenge['proof'], { type: 'sms' }>;

/** A call of one of the two SMS send endpoints. `secret` undefined: a Bearer token alone. */
export interface SmsCall extends SmsWish {
  readonly secret?: string | undefined;
  /** No Bearer token came. */
  readonly loggedOut: boolean;
}

/**
 * `POST /tfa/sms/`: sends a first code. `tfa_challenge_exists` where a code to that number is recent.
 * Admin users need no verified email here (specification 4.8).
 */
export function sendSmsCode(step: TfaStep, call: SmsCall): Challenge {
  requireVerifiedEmail(step);
  const held = call.secret === undefined ? undefined : findChallenge(step, call.secret);
  return sendFirstCode(step, { target: chooseSmsTarget(step, call, call), held });
}

/** Sends a code that starts a challenge, or that answers the `held` one from now on. */
export function sendFirstCode(
  step: TfaStep,
  options: { target: SmsTarget; held?: Challenge | undefined },
): Challenge {
  if (hasRecentCode(step, options.target.phoneNumber)) {
    throw tfaRefusal('tfa_challenge_exists', 'A code was sent to this number a moment ago: use resend.');
  }
  admitSms(step, options.target);
  return deliver(step, options.target, options.held);
}

/**
 * `POST /tfa/sms/resend/`: another code for a challenge that an SMS started. With the secret the challenge
 * and its ten minutes stay; a Bearer call without one gets a fresh challenge in place of its latest.
 */
export function resendSmsCode(step: TfaStep, call: SmsCall): Challenge {
  requireVerifiedEmail(step);
  const original = call.secret === undefined ? latestSms(step) : findChallenge(step, call.secret);
  if (original?.proof.type !== 'sms') {
    throw tfaRefusal('no_challenge_found', 'No SMS code was sent yet: request one first.');
  }
  const proof = original.proof;
  refuseOtherNumber(step, proof, call);
  admitSms(step, proof);
  if (call.secret !== undefined) return deliver(step, proof, original);
  step.account.challenges = step.account.challenges.filter((kept) => kept !== original);
  return deliver(step, proof, undefined);
}

function requireVerifiedEmail(step: TfaStep): void {
  if (!step.user.isAdmin) verifiedEmail(step);
}

function deliver(step: TfaStep, target: SmsTarget, held: Challenge | undefined): Challenge {
  const proof: SmsProof = {
    type: 'sms',
    code: sixDigits(step.random),
    phoneNumber: target.phoneNumber,
    methodId: target.methodId,
  };
  const challenge = held ? Object.assign(held, { proof }) : createChallenge(step, proof);
  challenge.sentAt = step.now;
  step.sent.push({ at: step.now, channel: 'sms', to: target.phoneNumber, code: proof.code });
  return challenge;
}

function hasRecentCode(step: TfaStep, phoneNumber: string): boolean {
  const since = step.now - step.settings.recentSmsSeconds * 1000;
  return step.account.challenges.some(
    ({ proof, sentAt }) =>
      proof.type === 'sms' && proof.phoneNumber === phoneNumber && sentAt !== null && sentAt > since,
  );
}

function latestSms(step: TfaStep): Challenge | undefined {
  return step.account.challenges.findLast(
    (challenge) => challenge.proof.type === 'sms' && isAlive(step, challenge),
  );
}

function refuseOtherNumber(step: TfaStep, proof: SmsProof, call: SmsCall): void {
  const wanted =
    call.methodId === undefined ? call.phoneNumber : smsMethodById(step, call.methodId).phoneNumber;
  if (wanted === undefined || wanted === proof.phoneNumber) return;
  throw tfaRefusal('phone_number_mismatch', 'The number differs from that of the challenge.');
}
