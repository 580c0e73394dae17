import { expect } from 'vitest';
import { Secret } from '../../../src/lib/secret.ts';
import { clientOf, loggedOutClientOf } from '../../builders/simulated-client.ts';
import type { Verdict } from '../../builders/tfa-model.ts';
import {
  advance,
  type Draw,
  ended,
  loggedOut,
  type Move,
  methodsOf,
  picked,
  totpOf,
  type Walk,
  wrongFor,
} from './walk.ts';

/* Moves that prove the second factor to log in, and use what a login gave. */

export const SESSION_SECONDS = 3600;

/** Logs in by authenticator: with a key, or logged out with the secret of the password step. */
export async function logInByTotp(walk: Walk, { index, isRight, byKey }: Draw): Promise<void> {
  const { model } = walk;
  const method = picked(methodsOf(walk, 'totp'), index);
  const code = method ? totpOf(walk, method.key, isRight) : '123456';
  const proof = { method: 'totp', code, ...(method ? { methodId: String(method.id) } : {}) } as const;
  const state = byKey ? 'ok' : model.alive(walk.login);
  const expected = state === 'ok' ? byMethod(walk, method?.id, isRight) : state;
  const call = byKey ? walk.client.tfa.login(proof) : loggedOut(walk).login(proof);
  expect(await ended(call)).toBe(expected);
  if (expected !== 'ok') return;
  if (!byKey) model.consume(walk.login);
  const login = await call;
  const key = login.sessionKey?.reveal();
  expect(key !== undefined, 'a session key is for who has a key').toBe(byKey);
  if (key) walk.session = { key, until: model.now + SESSION_SECONDS * 1000 };
}

function byMethod({ model }: Walk, id: number | undefined, isRight: boolean): Verdict {
  if (!model.isOn) return '2fa_login_failed';
  return id === undefined ? 'tfa_method_not_configured' : model.verify(id, isRight);
}

export async function logInByChallenge(walk: Walk, { index, isRight }: Draw): Promise<void> {
  const { model } = walk;
  const challenge = picked(model.challenges, index);
  if (!challenge || challenge.code === '') return;
  const method = challenge.kind === 'email' ? 'email' : 'sms';
  const code = isRight ? challenge.code : wrongFor(challenge.code);
  const expected = model.isOn
    ? model.answer(challenge.secret, [challenge.kind], isRight)
    : '2fa_login_failed';
  const proof = { method, code, secret: new Secret(challenge.secret) } as const;
  expect(await ended(walk.client.tfa.login(proof))).toBe(expected);
}

/** Answers a challenge again, which every caller is refused. */
export async function answerAgain(walk: Walk, { index, byKey }: Draw): Promise<void> {
  const spent = picked(walk.model.spent, index);
  if (spent === undefined) return;
  const proof = { method: 'email', code: '123456' } as const;
  const call = byKey
    ? walk.client.tfa.login({ ...proof, secret: new Secret(spent) })
    : loggedOutClientOf(walk.service, spent).login(proof);
  expect(await ended(call)).toBe(byKey && !walk.model.isOn ? '2fa_login_failed' : 'challenge_not_found');
}

export async function logInByBackupCode(walk: Walk, { index }: Draw): Promise<void> {
  const { model } = walk;
  const backupCode = picked([...model.codes.keys()], index) ?? 'AAAA-BBBB-CCCC';
  const expected = model.useBackupCode(backupCode);
  const call = walk.client.tfa.login({ backupCode });
  expect(await ended(call)).toBe(expected);
  if (expected !== 'ok') return;
  const left = [...model.codes.values()].filter(Boolean).length;
  expect((await call).backupCodesRemaining).toBe(left === 0 ? undefined : left);
}

/** Uses a session, which is valid to the exact second at which it ends. */
export async function useSession(walk: Walk, { index }: Draw): Promise<void> {
  if (!walk.session) return;
  if (index % 2 === 0) {
    const left = walk.session.until - walk.model.now + ((index % 3) - 1) * 1000;
    advance(walk, Math.max(0, left) / 1000);
  }
  const isOver = walk.model.now >= walk.session.until;
  const session = clientOf(walk.service, walk.session.key);
  expect(await ended(session.tfa.status())).toBe(isOver ? 'auth_error' : 'ok');
}

/** Verifies the method that reached a limit. */
export const verifyAgain: Move = async (walk, draw) => {
  const method = walk.model.methods[draw.index];
  const at = method ? methodsOf(walk, 'totp').indexOf(method) : -1;
  if (at !== -1) await logInByTotp(walk, { ...draw, index: at, byKey: true });
};
