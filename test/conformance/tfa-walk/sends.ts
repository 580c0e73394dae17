import { expect } from 'vitest';
import { Secret } from '../../../src/lib/secret.ts';
import { loginSecret } from '../../builders/tfa-account.ts';
import type { Verdict } from '../../builders/tfa-model.ts';
import { type Draw, ended, loggedOut, type Move, picked, type Walk } from './walk.ts';

/* Moves that ask for a code. */

const NUMBERS: readonly string[] = ['+14155550101', '+14155550102'];

/** Sends a code by email: a new challenge for a caller with a key, the same one for a caller with only its secret. */
export async function email(walk: Walk, { byKey }: Draw): Promise<void> {
  const { model, service } = walk;
  const expected = byKey ? 'ok' : model.alive(walk.login);
  const call = byKey ? walk.client.tfa.sendEmailCode() : loggedOut(walk).sendEmailCode();
  expect(await ended(call)).toBe(expected);
  if (expected === 'ok') {
    model.sent((await call).secret.reveal(), { kind: 'email', code: service.lastCode(), to: '' });
  }
}

export async function sms(walk: Walk, { index, byKey }: Draw): Promise<void> {
  const phoneNumber = picked(NUMBERS, index) ?? '';
  const expected = mayText(walk, phoneNumber, byKey);
  const call = byKey
    ? walk.client.tfa.sendSmsCode({ phoneNumber })
    : loggedOut(walk).sendSmsCode({ phoneNumber });
  expect(await ended(call)).toBe(expected);
  if (expected === 'ok') {
    const code = { kind: 'sms', code: walk.service.lastCode(), to: phoneNumber } as const;
    walk.model.sent((await call).secret.reveal(), code);
  }
}

/** Returns the verdict of an SMS: a logged-out caller only reaches numbers that the account trusts. */
function mayText(walk: Walk, phoneNumber: string, byKey: boolean): Verdict {
  const { model } = walk;
  if (!byKey && model.alive(walk.login) !== 'ok') return model.alive(walk.login);
  if (!byKey && !model.methods.some(({ key }) => key === phoneNumber)) return 'phone_number_mismatch';
  return model.maySendTo(phoneNumber);
}

export async function resend(walk: Walk, { index }: Draw): Promise<void> {
  const { model, service } = walk;
  const challenge = picked(model.challenges, index);
  if (!challenge) return;
  const state = model.alive(challenge.secret);
  const expected = state === 'ok' && challenge.kind !== 'sms' ? 'no_challenge_found' : state;
  const secret = new Secret(challenge.secret);
  expect(await ended(walk.client.tfa.resendSmsCode({ secret }))).toBe(expected);
  if (expected === 'ok') Object.assign(challenge, { code: service.lastCode(), sentAt: model.now });
}

/** Sends another code to the number that reached a limit. */
export const smsAgain: Move = async (walk, { index }) => {
  const at = NUMBERS.indexOf(walk.model.challenges[index]?.to ?? '');
  if (at !== -1) await sms(walk, { index: at, isRight: true, byKey: true });
};

/** Repeats the console's password step. */
export async function beginLogin(walk: Walk): Promise<void> {
  walk.login = await loginSecret(walk.service);
  walk.model.sent(walk.login, { kind: 'login', code: '', to: '' });
}
