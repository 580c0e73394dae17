import type { SmsMethod, TfaMethod } from '../tables/tfa.ts';
import { methodsOfType, type TfaStep } from './state.ts';
import { tfaRefusal } from './tfa-refusal.ts';

/** What a caller said about where an SMS should go. */
export interface SmsWish {
  readonly phoneNumber?: string | undefined;
  readonly methodId?: number | undefined;
}

/** Where it goes. `methodId` null: the number is no method of the account. */
export interface SmsTarget {
  readonly phoneNumber: string;
  readonly methodId: number | null;
}

/** The method with that id: `not_found` where the account has none. */
export function methodById(step: TfaStep, id: number): TfaMethod {
  const method = step.account.methods.find((candidate) => candidate.id === id);
  if (!method) throw tfaRefusal('not_found', `No method of this account has the tfa_method_id ${id}.`);
  return method;
}

/** The SMS method with that id. */
export function smsMethodById(step: TfaStep, id: number): SmsMethod {
  const method = methodById(step, id);
  if (method.method !== 'sms') {
    throw tfaRefusal('invalid_tfa_method', `The method with tfa_method_id ${id} is not an SMS method.`);
  }
  return method;
}

/**
 * The number an SMS goes to: that of the named method, the one given, that of the primary SMS method, the
 * one on file, in this order (specification 4.8). A logged-out caller reaches only numbers the account
 * already trusts.
 */
export function chooseSmsTarget(step: TfaStep, wish: SmsWish, options: { loggedOut: boolean }): SmsTarget {
  if (wish.methodId !== undefined) return targetOfMethod(smsMethodById(step, wish.methodId), wish);
  if (wish.phoneNumber !== undefined) return targetOfNumber(step, wish.phoneNumber, options);
  const known = smsMethods(step);
  const method = known.find(({ isPrimary }) => isPrimary) ?? known[0];
  if (method) return targetOfMethod(method, wish);
  if (step.user.phoneNumber) return { phoneNumber: step.user.phoneNumber, methodId: null };
  throw tfaRefusal('missing_phone_number', 'Give a phone_number: the account has none.');
}

function targetOfMethod(method: SmsMethod, wish: SmsWish): SmsTarget {
  if (wish.phoneNumber !== undefined && wish.phoneNumber !== method.phoneNumber) {
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
