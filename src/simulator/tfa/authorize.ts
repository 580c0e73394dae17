import { badRequest } from '../refusal.ts';
import type { Challenge, TfaMethod } from '../tables/tfa.ts';
import {
  createChallenge,
  findChallenge,
  isAlive,
  methodById,
  sendEmailCode,
  sendFirstCode,
  verifiedEmail,
} from './challenge.ts';
import { useBackupCode } from './codes.ts';
import { type TfaStep, tfaRefusal } from './step.ts';
import { admitAttempt, chooseMethod, factorNamed, isLocked, verifyForAuthorization } from './verify.ts';

/** Step 1 of adding a method. */
export interface AuthorizeCall {
  readonly tfaMethod?: string | undefined;
  readonly methodId?: number | undefined;
  readonly backupCode?: string | undefined;
}

/** Public clients recognize a completed backup-code authorization only by this text. */
export const AUTHORIZED = 'Authorization successful.';

/** Either a challenge to answer, or completed at once by a backup code. */
export type Authorization =
  | { readonly type: 'challenge'; readonly secret: string }
  | { readonly type: 'granted' };

/**
 * Serves `POST /tfa/authorize-new-method/`: requests permission to add a method. Throws `challenge_creation_failed` or
 * `service_unavailable` while a store is down, and the Refusal of a wrong backup code.
 */
export function requestAuthorization(step: TfaStep, call: AuthorizeCall): Authorization {
  requireStore(step);
  if (call.backupCode !== undefined) {
    useBackupCode(step, call.backupCode);
    grant(step);
    return { type: 'granted' };
  }
  if (step.settings.challengeStoreDown) {
    throw tfaRefusal('challenge_creation_failed', 'The challenge could not be created. Try again.');
  }
  const { secret } = startChallenge(step, call);
  step.account.pendingAuthorization = secret;
  return { type: 'challenge', secret };
}

/**
 * Serves `PUT /tfa/authorize-new-method/`: answers a challenge and opens the window of 30 minutes. Any sent code
 * authorizes, whichever endpoint sent it (specification 3.3 and 4.8); while a requested authorization waits for its
 * code, only its own challenge does. Throws the Refusal of a missing, unknown, expired or wrong part.
 */
export function completeAuthorization(
  step: TfaStep,
  answer: { code?: string | undefined; secret?: string | undefined },
): void {
  if (answer.code === undefined || answer.secret === undefined) {
    throw tfaRefusal('missing_params', 'Give both code and secret.');
  }
  requireStore(step);
  const { pendingAuthorization } = step.account;
  const challenges = step.account.challenges.filter(({ proof }) => proof.type !== 'login');
  if (!challenges.some((each) => each.secret === answer.secret || isAlive(step, each))) {
    throw tfaRefusal('no_pending_authorization', 'No code was requested: request an authorization first.');
  }
  const challenge = findChallenge(step, answer.secret);
  const requested = challenges.find((other) => other.secret === pendingAuthorization);
  if (requested && requested !== challenge && isAlive(step, requested)) {
    throw tfaRefusal(
      'no_challenge_found',
      'This secret belongs to another challenge. Send the secret of the requested authorization.',
    );
  }
  verifyForAuthorization(step, challenge, answer.code);
  grant(step);
}

/** Returns true if a method may be added now. */
export function isAuthorized(authorizedUntil: number | null, now: number): boolean {
  return authorizedUntil !== null && now <= authorizedUntil;
}

/** Throws a Refusal if permission to add a method was never granted or has expired. */
export function requireAuthorization(step: TfaStep): void {
  requireStore(step);
  if (isAuthorized(step.account.authorizedUntil, step.now)) return;
  throw tfaRefusal(
    'authorization_required',
    'Adding a method needs an authorization of the last 30 minutes.',
  );
}

function grant(step: TfaStep): void {
  step.account.pendingAuthorization = null;
  step.account.authorizedUntil = step.now + step.settings.authorizationSeconds * 1000;
}

function requireStore(step: TfaStep): void {
  if (!step.settings.authorizationStoreDown) return;
  throw tfaRefusal('service_unavailable', 'Authorizations cannot be checked right now. Try again.');
}

/** Starts the challenge; a user without methods gets an email (specification 4.8). */
function startChallenge(step: TfaStep, call: AuthorizeCall): Challenge {
  const factor = call.tfaMethod === undefined ? undefined : factorNamed(call.tfaMethod);
  if (factor === 'email' || step.account.methods.length === 0) return sendEmailCode(step, undefined);
  if (factor !== undefined) return challengeMethod(step, chooseMethod(step, factor, call.methodId));
  if (call.methodId !== undefined) return challengeMethod(step, methodById(step, call.methodId));
  throw badRequest('Give tfa_method, tfa_method_id or backup_code.');
}

function challengeMethod(step: TfaStep, method: TfaMethod): Challenge {
  if (isLocked(method, step.now)) admitAttempt(method, step.now);
  if (method.method === 'totp') return createChallenge(step, { type: 'totp', methodId: method.id });
  verifiedEmail(step);
  return sendFirstCode(step, { target: { phoneNumber: method.phoneNumber, methodId: method.id } });
}
