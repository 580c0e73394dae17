import { badRequest } from '../calls/refusal.ts';
import type { MethodType, TfaMethod } from '../tables/tfa.ts';
import { requireAuthorization } from './authorize.ts';
import { issueBackupCodes } from './backup-codes.ts';
import { consumeChallenge, findChallenge } from './challenge.ts';
import { isIssuedTotpSecret } from './codes.ts';
import { methodsOfType, type TfaStep } from './state.ts';
import { tfaRefusal } from './tfa-refusal.ts';
import { isTotpSecret, totpStep } from './totp.ts';

/** `POST /tfa/confirm-new/`. `secret` is that of the SMS challenge, or the base32 one of totp-setup. */
export interface ConfirmCall {
  readonly tfaMethod: string;
  readonly code?: string | undefined;
  readonly secret?: string | undefined;
  readonly phoneNumber?: string | undefined;
  readonly label?: string | undefined;
}

interface Confirmation extends ConfirmCall {
  readonly code: string;
  readonly secret: string;
}

/** The method that was added, and backup codes when it is the first one. */
export interface Confirmed {
  readonly method: TfaMethod;
  readonly backupCodes?: readonly string[];
}

/** Adds a method within the authorization window, once its first code is right. */
export function confirmNewMethod(step: TfaStep, call: ConfirmCall): Confirmed {
  const type = methodTypeNamed(call.tfaMethod);
  if (call.code === undefined || call.secret === undefined) {
    throw tfaRefusal('missing_params', 'Give both code and secret.');
  }
  requireAuthorization(step);
  const confirmation = { ...call, code: call.code, secret: call.secret };
  const first = step.account.methods.length === 0;
  const method = type === 'sms' ? confirmSms(step, confirmation) : confirmTotp(step, confirmation);
  step.account.methods.push(method);
  step.status = 'enabled';
  return first ? { method, backupCodes: issueBackupCodes(step) } : { method };
}

/** A type that is stored: `invalid_tfa_method` for email and everything else. */
export function methodTypeNamed(name: string): MethodType {
  if (name === 'sms' || name === 'totp') return name;
  throw tfaRefusal('invalid_tfa_method', 'tfa_method must be sms or totp.');
}

function confirmSms(step: TfaStep, call: Confirmation): TfaMethod {
  const { proof } = findChallenge(step, call.secret);
  if (proof.type !== 'sms') throw tfaRefusal('no_challenge_found', 'No SMS was sent for this secret.');
  if (call.phoneNumber !== undefined && call.phoneNumber !== proof.phoneNumber) {
    throw tfaRefusal('phone_number_mismatch', 'phone_number differs from the number of the challenge.');
  }
  refuseDuplicate(
    step,
    'sms',
    (method) => method.method === 'sms' && method.phoneNumber === proof.phoneNumber,
  );
  if (proof.code !== call.code) throw tfaRefusal('2fa_login_failed', 'The code is not correct.');
  consumeChallenge(step, call.secret);
  return { method: 'sms', phoneNumber: proof.phoneNumber, ...newMethod(step, call.label ?? 'SMS') };
}

function confirmTotp(step: TfaStep, call: Confirmation): TfaMethod {
  const { secret } = call;
  if (!isTotpSecret(secret)) throw badRequest('secret must be the base32 secret of totp-setup.');
  if (!isIssuedTotpSecret(secret, step.user.id)) {
    throw tfaRefusal('challenge_not_found', 'totp-setup did not issue this secret. Request a new one.');
  }
  refuseDuplicate(step, 'totp', (method) => method.method === 'totp' && method.totpSecret === secret);
  const lastStep = totpStep(secret, { code: call.code, at: step.now, window: step.settings.totpWindow });
  if (lastStep === undefined) throw tfaRefusal('2fa_login_failed', 'The code is not correct.');
  return {
    method: 'totp',
    totpSecret: secret,
    lastStep,
    ...newMethod(step, call.label ?? 'Authenticator app'),
  };
}

function refuseDuplicate(step: TfaStep, type: MethodType, isSame: (method: TfaMethod) => boolean): void {
  const known = methodsOfType(step.account, type);
  if (!known.some(isSame) && known.length < step.settings.methodsPerType) return;
  throw tfaRefusal('duplicate_tfa_method', `This ${type} method is already configured.`);
}

/** What every new method starts with; the first one is primary. The code that confirmed it was its first use. */
export function newMethod(step: TfaStep, label: string) {
  return {
    id: step.nextMethodId(),
    label,
    isPrimary: step.account.methods.length === 0,
    failCount: 0,
    lockedUntil: null,
    createdAt: step.now,
    lastUsed: step.now,
  };
}
