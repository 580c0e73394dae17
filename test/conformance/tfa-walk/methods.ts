import { expect } from 'vitest';
import { Secret } from '../../../src/lib/secret.ts';
import type { Verdict } from '../../builders/tfa-model.ts';
import { totpCode } from '../../builders/totp.ts';
import { type Draw, ended, methodsOf, picked, totpOf, type Walk, wrongFor } from './walk.ts';

/* Moves that add and remove methods, and renew backup codes. */

/** Asks for the right to add a method: by email, by an authenticator that is set up, or by a backup code. */
export async function authorize(walk: Walk, { index }: Draw): Promise<void> {
  const { model, service, client } = walk;
  const totp = index % 2 === 0 ? picked(methodsOf(walk, 'totp'), index) : undefined;
  const isLocked = totp !== undefined && model.now < totp.lockedUntil;
  const call = client.tfa.authorizeNewMethod(totp ? { methodId: String(totp.id) } : { method: 'email' });
  expect(await ended(call)).toBe(isLocked ? 'tfa_locked' : 'ok');
  if (isLocked) return;
  const asked = await call;
  if (asked.type !== 'challenge') throw new Error('A code is to be asked for.');
  model.pending = asked.secret.reveal();
  model.sent(model.pending, {
    kind: totp ? 'totp' : 'email',
    code: totp ? '' : service.lastCode(),
    to: totp?.key ?? '',
  });
}

export async function authorizeByBackupCode(walk: Walk, { index }: Draw): Promise<void> {
  const backupCode = picked([...walk.model.codes.keys()], index) ?? 'AAAA-BBBB-CCCC';
  const expected = walk.model.useBackupCode(backupCode);
  expect(await ended(walk.client.tfa.authorizeNewMethod({ backupCode }))).toBe(expected);
  if (expected === 'ok') walk.model.grant();
}

/** Answers the requested authorization, or any other code that was sent. */
export async function completeAuthorization(walk: Walk, { index, isRight }: Draw): Promise<void> {
  const { model, client } = walk;
  const other = index % 3 === 0 ? picked(model.challenges, index)?.secret : undefined;
  const secret = other ?? model.pending ?? 'nothing-is-pending';
  const challenge = model.challenges.find((candidate) => candidate.secret === secret);
  const right = challenge?.kind === 'totp' ? totpCode(challenge.to, model.now) : challenge?.code || '123456';
  const code = isRight ? right : wrongFor(right);
  const expected = model.authorizeWith(secret, isRight);
  expect(await ended(client.tfa.confirmAuthorization({ code, secret: new Secret(secret) }))).toBe(expected);
}

export async function addTotp(walk: Walk, { isRight }: Draw): Promise<void> {
  const { model, client } = walk;
  const { secret } = await client.tfa.setUpTotp();
  const key = secret.reveal();
  const expected = model.mayAdd ? (isRight ? 'ok' : '2fa_login_failed') : 'authorization_required';
  await confirmed(walk, { method: 'totp', code: totpOf(walk, key, isRight), secret }, { key, expected });
}

export async function addNumber(walk: Walk, { index, isRight }: Draw): Promise<void> {
  const { model } = walk;
  const challenge = picked(model.challenges, index);
  if (!challenge) return;
  const code = isRight ? challenge.code : wrongFor(challenge.code);
  const secret = new Secret(challenge.secret);
  if (code.length !== 6) return;
  const expected = mayAddNumber(walk, challenge.secret, isRight);
  await confirmed(walk, { method: 'sms', code, secret }, { key: challenge.to, expected });
  if (expected === 'ok') model.consume(challenge.secret);
}

function mayAddNumber({ model }: Walk, secret: string, isRight: boolean): Verdict {
  if (!model.mayAdd) return 'authorization_required';
  const state = model.alive(secret);
  const challenge = model.challenges.find((candidate) => candidate.secret === secret);
  if (state !== 'ok' || !challenge) return state;
  if (challenge.kind !== 'sms') return 'no_challenge_found';
  if (model.methods.some(({ key }) => key === challenge.to)) return 'duplicate_tfa_method';
  return isRight ? 'ok' : '2fa_login_failed';
}

async function confirmed(
  { model, client }: Walk,
  request: { readonly method: 'totp' | 'sms'; readonly code: string; readonly secret: Secret },
  { key, expected }: { key: string; expected: Verdict },
): Promise<void> {
  const wasOn = model.isOn;
  const call = client.tfa.confirmNewMethod(request);
  expect(await ended(call)).toBe(expected);
  if (expected !== 'ok') return;
  const { backupCodes } = await call;
  expect(backupCodes?.length, 'backup codes come with the first method alone').toBe(wasOn ? undefined : 10);
  if (backupCodes) model.codes = new Map(backupCodes.map((code) => [code.reveal(), true]));
  const id = Number((await client.tfa.status()).methods.at(-1)?.id);
  model.add({ id, type: request.method, key });
}

export async function remove(walk: Walk, { index, isRight }: Draw): Promise<void> {
  const { model, client } = walk;
  const verifying = picked(methodsOf(walk, 'totp'), index);
  const target = picked(model.methods, index + 1);
  if (!verifying || !target) return;
  const code = totpOf(walk, verifying.key, isRight);
  const expected = model.verify(verifying.id, isRight);
  const call = client.tfa.removeMethod({
    method: 'totp',
    methodId: String(verifying.id),
    code,
    targetId: String(target.id),
  });
  expect(await ended(call)).toBe(expected);
  if (expected !== 'ok') return;
  model.remove(target.id);
  expect((await call).remainingMethods).toBe(model.isOn ? model.methods.length : undefined);
}

export async function regenerate(walk: Walk, { index, isRight }: Draw): Promise<void> {
  const { model, client } = walk;
  const method = picked(methodsOf(walk, 'totp'), index);
  if (!method) return;
  const expected = model.verify(method.id, isRight);
  const code = totpOf(walk, method.key, isRight);
  const call = client.tfa.regenerateBackupCodes({ method: 'totp', methodId: String(method.id), code });
  expect(await ended(call)).toBe(expected);
  if (expected === 'ok') model.codes = new Map((await call).map((fresh) => [fresh.reveal(), true]));
}
