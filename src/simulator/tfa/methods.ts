import type { Json, JsonObject } from '../json.ts';
import { badRequest } from '../refusal.ts';
import type { MethodType, TfaAccount, TfaMethod } from '../tables/tfa.ts';
import { isAuthorized, requireAuthorization } from './authorize.ts';
import { consumeChallenge, findChallenge, methodById } from './challenge.ts';
import {
  backupCodesRemaining,
  isIssuedTotpSecret,
  issueBackupCodes,
  isTotpSecret,
  retireBackupCodes,
  totpStep,
} from './codes.ts';
import { methodsOfType, type TfaStatus, type TfaStep, tfaRefusal } from './step.ts';
import { chooseMethod, epochSeconds, failureCounts, type Proof, requireTfa, verifyFactor } from './verify.ts';

/** Body of `DELETE /tfa/`. */
export interface RemoveCall extends Proof {
  readonly targetId?: number | undefined;
}

/** Result of a removal. */
export type Removal =
  | { readonly type: 'removed'; readonly remaining: number }
  | { readonly type: 'disabled' };

/**
 * Removes a method once a factor is verified: the target, else the verifying one. Removing the last one,
 * or verifying a legacy account (which has none), switches 2FA off and soft-deletes all backup codes
 * (specification 3.3).
 */
export function removeMethod(step: TfaStep, call: RemoveCall): Removal {
  requireTfa(step, call);
  const target = targetOf(step, call);
  const verified = verifyFactor(step, call);
  const doomed = target ?? (verified.by === 'method' ? verified.method : undefined);
  step.account.methods = step.account.methods.filter((kept) => kept !== doomed);
  if (step.account.methods.length === 0) {
    step.status = 'disabled';
    retireBackupCodes(step);
    step.account.pendingAuthorization = null;
    step.account.authorizedUntil = null;
    return { type: 'disabled' };
  }
  keepOnePrimary(step);
  return { type: 'removed', remaining: step.account.methods.length };
}

/** Body of `PUT /tfa/update/`. */
export interface UpdateCall {
  readonly methodId?: number | undefined;
  readonly tfaMethod?: string | undefined;
  readonly label?: string | undefined;
  readonly isPrimary?: boolean | undefined;
}

/** The method after an update, and whether the update contained a change. */
export interface Updated {
  readonly method: TfaMethod;
  readonly isNamed: boolean;
}

/** Renames a method or moves the primary mark; exactly one method has it. */
export function updateMethod(step: TfaStep, call: UpdateCall): Updated {
  const method = methodToUpdate(step, call);
  const { label, isPrimary } = call;
  if (label !== undefined) method.label = label;
  if (isPrimary === true) keepOnePrimary(step, method);
  if (isPrimary === false && method.isPrimary) {
    keepOnePrimary(
      step,
      step.account.methods.find((other) => other !== method),
    );
  }
  return { method, isNamed: label !== undefined || isPrimary !== undefined };
}

function methodToUpdate(step: TfaStep, call: UpdateCall): TfaMethod {
  const type = call.tfaMethod === undefined ? undefined : methodTypeNamed(call.tfaMethod);
  if (type !== undefined) return chooseMethod(step, type, call.methodId);
  if (call.methodId !== undefined) return methodById(step, call.methodId);
  throw badRequest('Give tfa_method_id or tfa_method.');
}

/**
 * Returns the method to remove; undefined: the verifying one. An emailed code is no method, so it must name one of
 * several.
 */
function targetOf(step: TfaStep, call: RemoveCall): TfaMethod | undefined {
  if (call.targetId !== undefined) return methodById(step, call.targetId);
  if (call.backupCode !== undefined) throw badRequest('target_id is required with backup_code.');
  if (call.tfaMethod !== 'email') return undefined;
  const [only, ...others] = step.account.methods;
  if (others.length > 0) throw badRequest('target_id is required: the account has several methods.');
  return only;
}

/** Makes one method primary: the preferred one, else the present one, else the oldest. */
function keepOnePrimary(step: TfaStep, preferred?: TfaMethod): void {
  const { methods } = step.account;
  const primary = preferred ?? methods.find(({ isPrimary }) => isPrimary) ?? methods[0];
  for (const method of methods) method.isPrimary = method === primary;
}

/** Body of `POST /tfa/confirm-new/`. `secret` is that of the SMS challenge, or the base32 one of totp-setup. */
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

/** The added method, and backup codes if it is the first one. */
export interface Confirmed {
  readonly method: TfaMethod;
  readonly backupCodes?: readonly string[];
}

/**
 * Adds a method within the authorization window if its first code is right. Throws `missing_params`,
 * `authorization_required`, or the Refusal of its code.
 */
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

/** Returns a stored type. Throws `invalid_tfa_method` for email and everything else. */
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

/** Returns the initial fields of a new method; the first one is primary. The confirming code was its first use. */
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

/**
 * Serves `PUT /tfa/regen-backup-codes/`: verifies a factor and replaces all codes by ten new ones. A legacy account
 * without method rows first gets its number on file as an SMS method (specification 3.3). Throws `missing_phone_number`
 * if it has none, and the Refusal of a wrong factor.
 */
export function regenerateBackupCodes(step: TfaStep, proof: Proof): readonly string[] {
  requireTfa(step, proof);
  const needsBackfill = step.status === 'legacy' && step.account.methods.length === 0;
  if (needsBackfill && !step.user.phoneNumber) {
    throw tfaRefusal('missing_phone_number', 'The account has no phone number to make an SMS method of.');
  }
  verifyFactor(step, proof);
  if (needsBackfill && step.user.phoneNumber) {
    step.account.methods.push({
      method: 'sms',
      phoneNumber: step.user.phoneNumber,
      ...newMethod(step, 'SMS'),
    });
  }
  step.status = 'enabled';
  return issueBackupCodes(step);
}

/** Returns a method in the form of status and update (specification 2.6): numbers masked, without TOTP secrets. */
export function methodView(method: TfaMethod, owner: { userId: number; now: number }): JsonObject {
  const phone = method.method === 'sms' ? { phone_number: maskNumber(method.phoneNumber) } : {};
  return {
    id: method.id,
    user_id: owner.userId,
    method: method.method,
    label: method.label,
    ...phone,
    is_primary: method.isPrimary,
    ...failureCounts(method, owner.now),
    created_at: epochSeconds(method.createdAt),
    last_used: epochSeconds(method.lastUsed ?? method.createdAt),
  };
}

/** Serves `GET /tfa/status/`. `tfa_enabled` does not distinguish `enabled` from `legacy`. */
export function statusView(account: TfaAccount, status: TfaStatus, now: number): JsonObject {
  const methods: Json = account.methods.map((method) => methodView(method, { userId: account.id, now }));
  return {
    success: true,
    tfa_enabled: status !== 'disabled',
    methods,
    backup_codes_remaining: backupCodesRemaining(account.backupCodes),
    new_method_authorized: isAuthorized(account.authorizedUntil, now),
  };
}

/** Returns the number with only its last four digits visible. */
function maskNumber(phoneNumber: string): string {
  return phoneNumber.slice(-4).padStart(phoneNumber.length, '*');
}
