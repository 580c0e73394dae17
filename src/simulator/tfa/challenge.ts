import type { Challenge, ChallengeProof, SmsMethod, TfaMethod } from '../tables/tfa.ts';
import { challengeSecret, sixDigits } from './codes.ts';
import { methodsOfType, type TfaErrorCode, type TfaStep, tfaRefusal } from './step.ts';

/** An expired challenge answers `2fa_expired` for a day, then it is removed. */
const FORGET_AFTER_MS = 24 * 3_600_000;

/** Returns true if a challenge can still be answered (specification 8: 10 minutes). */
export function isAlive(step: TfaStep, challenge: Challenge): boolean {
  return step.now - challenge.createdAt <= step.settings.challengeSeconds * 1000;
}

/**
 * Returns the live challenge of a secret. Throws `challenge_not_found` if there is none, `2fa_expired` if it is too
 * old.
 */
export function findChallenge(step: TfaStep, secret: string): Challenge {
  const challenge = step.account.challenges.find((candidate) => candidate.secret === secret);
  if (!challenge) throw tfaRefusal('challenge_not_found', 'No challenge belongs to this secret.');
  if (!isAlive(step, challenge)) {
    throw tfaRefusal('2fa_expired', 'The challenge has expired. Request a new code.');
  }
  return challenge;
}

/** Stores a new challenge and drops long expired ones. */
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

/** Removes a challenge after its answer. */
export function consumeChallenge(step: TfaStep, secret: string): void {
  step.account.challenges = step.account.challenges.filter((kept) => kept.secret !== secret);
}

/**
 * Runs the password step of the web console: it identifies the user, so that a logged-out caller can continue with the
 * secret alone (specification 2.7: returned by login steps).
 */
export function beginLogin(step: TfaStep): { secret: string } {
  return { secret: createChallenge(step, { type: 'login' }).secret };
}

/** Returns the address for codes (specification 4.8, prerequisite). Throws `missing_email` or `email_not_verified`. */
export function verifiedEmail(step: TfaStep): string {
  if (!step.user.email) throw tfaRefusal('missing_email', 'The account has no email address.');
  if (step.user.emailVerifiedAt === null) {
    throw tfaRefusal('email_not_verified', 'Verify the email address of the account first.');
  }
  return step.user.email;
}

/**
 * Sends a code by email. With a secret the code answers that challenge; without one a new challenge is created
 * (specification 4.8: a Bearer call without `secret` always creates one).
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

/** Destination of an SMS in the call. */
export interface SmsRequest {
  readonly phoneNumber?: string | undefined;
  readonly methodId?: number | undefined;
}

/** Destination of an SMS. `methodId` null: the number is no method of the account. */
export interface SmsTarget {
  readonly phoneNumber: string;
  readonly methodId: number | null;
}

/** Returns the method with that id. Throws `not_found` if the account has none. */
export function methodById(step: TfaStep, id: number): TfaMethod {
  const method = step.account.methods.find((candidate) => candidate.id === id);
  if (!method) throw tfaRefusal('not_found', `No method of this account has the tfa_method_id ${id}.`);
  return method;
}

/**
 * Returns the SMS method with that id. Throws `not_found` if there is none, `invalid_tfa_method` if it is of another
 * type.
 */
export function smsMethodById(step: TfaStep, id: number): SmsMethod {
  const method = methodById(step, id);
  if (method.method !== 'sms') {
    throw tfaRefusal('invalid_tfa_method', `The method with tfa_method_id ${id} is not an SMS method.`);
  }
  return method;
}

/**
 * Returns the number of an SMS: that of the named method, the given one, that of the primary SMS method, the one on
 * file, in this order (specification 4.8). A logged-out caller reaches only numbers that the account already trusts.
 * Throws `missing_phone_number` if there is none.
 */
export function chooseSmsTarget(
  step: TfaStep,
  request: SmsRequest,
  options: { loggedOut: boolean },
): SmsTarget {
  if (request.methodId !== undefined) return targetOfMethod(smsMethodById(step, request.methodId), request);
  if (request.phoneNumber !== undefined) return targetOfNumber(step, request.phoneNumber, options);
  const known = smsMethods(step);
  const method = known.find(({ isPrimary }) => isPrimary) ?? known[0];
  if (method) return targetOfMethod(method, request);
  if (step.user.phoneNumber) return { phoneNumber: step.user.phoneNumber, methodId: null };
  throw tfaRefusal('missing_phone_number', 'Give a phone_number: the account has none.');
}

function targetOfMethod(method: SmsMethod, request: SmsRequest): SmsTarget {
  if (request.phoneNumber !== undefined && request.phoneNumber !== method.phoneNumber) {
    throw tfaRefusal('phone_number_mismatch', 'phone_number is not the number of that method.');
  }
  return { phoneNumber: method.phoneNumber, methodId: method.id };
}

function targetOfNumber(step: TfaStep, phoneNumber: string, options: { loggedOut: boolean }): SmsTarget {
  const method = smsMethods(step).find((candidate) => candidate.phoneNumber === phoneNumber);
  if (method) return { phoneNumber, methodId: method.id };
  if (options.loggedOut && phoneNumber !== step.user.phoneNumber) {
    throw tfaRefusal('phone_number_mismatch', 'phone_number is not a number of this account.');
  }
  return { phoneNumber, methodId: null };
}

function smsMethods(step: TfaStep): readonly SmsMethod[] {
  return methodsOfType(step.account, 'sms').filter((method) => method.method === 'sms');
}

interface DeliveryRule {
  readonly code: TfaErrorCode;
  readonly msg: string;
  readonly refuses: (step: TfaStep, target: SmsTarget) => boolean;
}

/** Rules that refuse an SMS before the provider is called, in this order: the account first, then the number. */
const admissionRules: readonly DeliveryRule[] = [
  {
    code: 'sms_fraud_detected',
    msg: 'SMS is disabled for this account until support clears it.',
    refuses: ({ account }) => account.billingBlacklisted,
  },
  {
    code: 'sms_blocked_number',
    msg: 'This phone number is blocked. Use another one.',
    refuses: ({ settings }, { phoneNumber }) => settings.blockedNumbers.includes(phoneNumber),
  },
  {
    code: 'sms_rate_limited',
    msg: 'Too many SMS codes were requested. Wait before asking for another.',
    refuses: (step) => sendsSince(step, step.settings.smsWindowSeconds).length >= step.settings.smsPerWindow,
  },
  {
    code: 'preauth_phone_cap',
    msg: 'This phone number was used in too many authorization attempts.',
    refuses: (step, { phoneNumber }) => attemptsOn(step, phoneNumber) >= step.settings.phoneCap,
  },
];

/** Refusals of the provider. */
const providerRules: readonly DeliveryRule[] = [
  {
    code: 'twilio_rate_limited',
    msg: 'The SMS provider limits verifications of this number. Try again later.',
    refuses: ({ settings }, { phoneNumber }) => settings.throttledNumbers.includes(phoneNumber),
  },
  {
    code: 'twilio_error',
    msg: 'The SMS provider could not deliver the code.',
    refuses: ({ settings }, { phoneNumber }) => settings.undeliverableNumbers.includes(phoneNumber),
  },
];

/** Refuses by the first rule that applies; an accepted SMS counts towards the limits, delivered or not. */
export function admitSms(step: TfaStep, target: SmsTarget): void {
  applyRules(admissionRules, step, target);
  const oldest = step.now - Math.max(step.settings.smsWindowSeconds, step.settings.phoneCapSeconds) * 1000;
  step.account.smsSends = step.account.smsSends.filter(({ at }) => at >= oldest);
  step.account.smsSends.push({ at: step.now, phoneNumber: target.phoneNumber });
  applyRules(providerRules, step, target);
}

function applyRules(rules: readonly DeliveryRule[], step: TfaStep, target: SmsTarget): void {
  const rule = rules.find(({ refuses }) => refuses(step, target));
  if (rule) throw tfaRefusal(rule.code, rule.msg);
}

function sendsSince(step: TfaStep, seconds: number): TfaStep['account']['smsSends'] {
  return step.account.smsSends.filter(({ at }) => at > step.now - seconds * 1000);
}

function attemptsOn(step: TfaStep, phoneNumber: string): number {
  const seconds = step.settings.phoneCapSeconds;
  const own = sendsSince(step, seconds).filter((send) => send.phoneNumber === phoneNumber);
  return own.length + step.foreignSends(phoneNumber, step.now - seconds * 1000);
}

type SmsProof = Extract<Challenge['proof'], { type: 'sms' }>;

/** A call of one of the two SMS send endpoints. `secret` undefined: a Bearer token alone. */
export interface SmsCall extends SmsRequest {
  readonly secret?: string | undefined;
  /** True without a Bearer token. */
  readonly loggedOut: boolean;
}

/**
 * Serves `POST /tfa/sms/`: sends a first code. `tfa_challenge_exists` if a code to that number is recent. Admin users
 * need no verified email here (specification 4.8).
 */
export function sendSmsCode(step: TfaStep, call: SmsCall): Challenge {
  requireVerifiedEmail(step);
  const pending = call.secret === undefined ? undefined : findChallenge(step, call.secret);
  return sendFirstCode(step, { target: chooseSmsTarget(step, call, call), pending });
}

/**
 * Sends a code that starts a challenge, or that answers the `pending` one from now on. Throws `tfa_challenge_exists` if
 * the number got a code a moment ago, and the Refusal of a rate limit.
 */
export function sendFirstCode(
  step: TfaStep,
  options: { target: SmsTarget; pending?: Challenge | undefined },
): Challenge {
  if (hasRecentCode(step, options.target.phoneNumber)) {
    throw tfaRefusal('tfa_challenge_exists', 'A code was sent to this number a moment ago: use resend.');
  }
  admitSms(step, options.target);
  return deliver(step, options.target, options.pending);
}

/**
 * Serves `POST /tfa/sms/resend/`: another code for a challenge that an SMS started. With the secret the challenge and
 * its ten minutes stay; a Bearer call without one replaces its latest challenge by a new one. Throws
 * `no_challenge_found` if no code was sent yet.
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

function deliver(step: TfaStep, target: SmsTarget, pending: Challenge | undefined): Challenge {
  const proof: SmsProof = {
    type: 'sms',
    code: sixDigits(step.random),
    phoneNumber: target.phoneNumber,
    methodId: target.methodId,
  };
  const challenge = pending ? Object.assign(pending, { proof }) : createChallenge(step, proof);
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
  const requested =
    call.methodId === undefined ? call.phoneNumber : smsMethodById(step, call.methodId).phoneNumber;
  if (requested === undefined || requested === proof.phoneNumber) return;
  throw tfaRefusal('phone_number_mismatch', 'The number differs from that of the challenge.');
}
