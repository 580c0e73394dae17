import { badRequest } from '../calls/refusal.ts';
import type { TfaMethod } from '../tables/tfa.ts';
import { retireBackupCodes } from './backup-codes.ts';
import { methodTypeNamed } from './confirm.ts';
import { requireTfa } from './login.ts';
import { methodById } from './sms-target.ts';
import type { TfaStep } from './state.ts';
import { chooseMethod, type Proof, verifyFactor } from './verify.ts';

/** `DELETE /tfa/`. */
export interface RemoveCall extends Proof {
  readonly targetId?: number | undefined;
}

/** What is left after a removal. */
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
  if (step.account.methods.length === 0) return disable(step);
  keepOnePrimary(step);
  return { type: 'removed', remaining: step.account.methods.length };
}

/** `PUT /tfa/update/`. */
export interface UpdateCall {
  readonly methodId?: number | undefined;
  readonly tfaMethod?: string | undefined;
  readonly label?: string | undefined;
  readonly isPrimary?: boolean | undefined;
}

/** The method after an update, and whether the update named anything to change. */
export interface Updated {
  readonly method: TfaMethod;
  readonly isNamed: boolean;
}

/** Renames a method or moves the primary mark; exactly one method carries it. */
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

/** Undefined: the method that verifies. An emailed code is no method, so it has to name one of several. */
function targetOf(step: TfaStep, call: RemoveCall): TfaMethod | undefined {
  if (call.targetId !== undefined) return methodById(step, call.targetId);
  if (call.backupCode !== undefined) throw badRequest('target_id is required with backup_code.');
  if (call.tfaMethod !== 'email') return undefined;
  const [only, ...others] = step.account.methods;
  if (others.length > 0) throw badRequest('target_id is required: the account has several methods.');
  return only;
}

function disable(step: TfaStep): Removal {
  step.status = 'disabled';
  retireBackupCodes(step);
  step.account.pendingAuthorization = null;
  step.account.authorizedUntil = null;
  return { type: 'disabled' };
}

/** The preferred method, else the one that has the mark, else the oldest carries it alone. */
function keepOnePrimary(step: TfaStep, preferred?: TfaMethod): void {
  const { methods } = step.account;
  const primary = preferred ?? methods.find(({ isPrimary }) => isPrimary) ?? methods[0];
  for (const method of methods) method.isPrimary = method === primary;
}
