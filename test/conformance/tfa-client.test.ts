import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Secret } from '../../src/lib/secret.ts';
import type { MarketplaceClient } from '../../src/markets/vast/client.ts';
import { clientOf, failureOf, loggedOutClientOf } from '../builders/simulated-client.ts';
import { type SimulatedService, simulatedService } from '../builders/simulated-service.ts';
import { addMethod, legacyUser, loginSecret, PHONE, setTfa, totpNow } from '../builders/tfa-account.ts';
import { totpCode } from '../builders/totp.ts';

const BACKUP_CODE = /^[A-Z0-9]{4}-[A-Z0-9]{4}-[A-Z0-9]{4}$/;

/** Authorizes a new method by email. */
async function authorize(service: SimulatedService, client: MarketplaceClient): Promise<void> {
  const asked = await client.tfa.authorizeNewMethod({ method: 'email' });
  if (asked.type !== 'challenge') throw new Error('An email authorization is a challenge.');
  await client.tfa.confirmAuthorization({ code: service.lastCode(), secret: asked.secret });
}

const reveal = (secrets: readonly Secret[] | undefined): string[] =>
  (secrets ?? []).map((code) => code.reveal());

describe.for(['public', 'specification'] as const)('our client in all of 2FA, %s profile', (profile) => {
  test('sets up an authenticator, logs in with it, renames it and removes it', async () => {
    const service = simulatedService({ profile });
    const client = clientOf(service);
    expect(await client.tfa.status()).toMatchObject({
      enabled: false,
      methods: [],
      newMethodAuthorized: false,
    });
    await authorize(service, client);
    const { secret, provisioningUri } = await client.tfa.setUpTotp();
    expect(provisioningUri.reveal()).toContain(secret.reveal());
    const code = totpNow(service, secret.reveal());
    const added = await client.tfa.confirmNewMethod({ method: 'totp', code, secret, label: 'phone' });
    expect(reveal(added.backupCodes)).toHaveLength(10);
    for (const backup of reveal(added.backupCodes)) expect(backup).toMatch(BACKUP_CODE);
    const login = await client.tfa.login({ method: 'totp', code });
    expect(login.user.twoFactor).toBe('enabled');
    const session = clientOf(service, login.sessionKey?.reveal());
    expect((await session.users.current()).id).toBe(login.user.id);
    const renamed = await client.tfa.updateMethod({ method: 'totp', label: 'tablet', isPrimary: true });
    expect(renamed).toMatchObject({ label: 'tablet', isPrimary: true, method: 'totp' });
    expect(await client.tfa.removeMethod({ method: 'totp', code })).toMatchObject({
      remainingMethods: undefined,
    });
    expect((await client.tfa.status()).enabled).toBe(false);
  });

  test('adds a number, resends its code, and answers by it', async () => {
    const service = simulatedService({ profile });
    const client = clientOf(service);
    await authorize(service, client);
    const sent = await client.tfa.sendSmsCode({ phoneNumber: PHONE });
    const again = await client.tfa.resendSmsCode({ secret: sent.secret });
    const code = service.lastCode();
    await client.tfa.confirmNewMethod({ method: 'sms', code, secret: again.secret, phoneNumber: PHONE });
    expect((await client.tfa.status()).methods).toMatchObject([
      { method: 'sms', phoneNumber: '********0100' },
    ]);
    service.advance(61);
    const challenge = await client.tfa.sendSmsCode();
    const verification = { method: 'sms', code: service.lastCode(), secret: challenge.secret } as const;
    expect(reveal(await client.tfa.regenerateBackupCodes(verification))).toHaveLength(10);
  });

  test('a logged-out caller sends, resends and logs in with the secret alone', async () => {
    const service = simulatedService({ profile });
    await addMethod(service, 'sms');
    service.advance(61);
    const loggedOut = loggedOutClientOf(service, await loginSecret(service));
    await loggedOut.sendSmsCode();
    await loggedOut.resendSmsCode();
    const login = await loggedOut.login({ method: 'sms', code: service.lastCode() });
    expect(login.sessionKey).toBeUndefined();
    expect(login.sessionCookie?.reveal()).toContain('session=');
  });

  test('a logged-out caller logs in by email, TOTP and backup code too', async () => {
    const service = simulatedService({ profile });
    const { totpSecret, backupCodes } = await addMethod(service, 'totp');
    const byEmail = loggedOutClientOf(service, await loginSecret(service));
    await byEmail.sendEmailCode();
    expect((await byEmail.login({ method: 'email', code: service.lastCode() })).user.id).toBe(
      String(service.user().id),
    );
    const byTotp = loggedOutClientOf(service, await loginSecret(service));
    expect((await byTotp.login({ method: 'totp', code: totpNow(service, totpSecret) })).legacyUser).toBe(
      false,
    );
    const byCode = loggedOutClientOf(service, await loginSecret(service));
    const login = await byCode.login({ backupCode: backupCodes[0] ?? '' });
    expect(login.backupCodesRemaining).toBe(9);
  });

  test('a backup code authorizes, logs in and removes its target', async () => {
    const service = simulatedService({ profile });
    const client = clientOf(service);
    const { id, backupCodes } = await addMethod(service, 'totp');
    const [first = '', second = '', third = ''] = backupCodes;
    expect(await client.tfa.authorizeNewMethod({ backupCode: first })).toMatchObject({ type: 'authorized' });
    expect((await client.tfa.login({ backupCode: second })).backupCodesRemaining).toBe(8);
    const removal = await client.tfa.removeMethod({ backupCode: third, targetId: String(id) });
    expect(removal.remainingMethods).toBeUndefined();
  });

  test('the deprecated paths do the same', async () => {
    const service = simulatedService({ profile });
    const client = clientOf(service);
    await authorize(service, client);
    await client.tfa.deprecated.test({ phoneNumber: PHONE });
    const { secret } = await client.tfa.deprecated.resend({ phoneNumber: PHONE });
    await client.tfa.deprecated.testSubmit({ method: 'sms', code: service.lastCode(), secret });
    expect((await client.tfa.status()).methods).toMatchObject([{ method: 'sms' }]);
  });

  test('a legacy account is distinguished from an enabled one by its user alone', async () => {
    const service = simulatedService({ profile });
    legacyUser(service);
    const client = clientOf(service);
    expect((await client.users.current()).twoFactor).toBe('legacy');
    expect((await client.tfa.status()).enabled).toBe(true);
    const { secret } = await client.tfa.sendSmsCode();
    expect((await client.tfa.login({ method: 'sms', code: service.lastCode(), secret })).legacyUser).toBe(
      true,
    );
  });
});

describe('what our client makes of refusals', () => {
  test('a lockout is its own kind, with count and end', async () => {
    const service = simulatedService();
    const client = clientOf(service);
    await addMethod(service, 'totp');
    const wrong = () => failureOf(client.tfa.login({ method: 'totp', code: '000000' }));
    const first = await wrong();
    expect({ kind: first.kind, code: first.code }).toEqual({
      kind: 'verificationFailed',
      code: '2fa_verification_failed',
    });
    for (let attempt = 0; attempt < 4; attempt += 1) await wrong();
    const locked = await wrong();
    expect(locked).toMatchObject({ kind: 'locked', code: 'tfa_locked', status: 429, failCount: 5 });
    expect(locked.lockedUntil).toBe(service.simulator.now() + 900_000);
  });

  test('an ended session is distinguished from a wrong key', async () => {
    const service = simulatedService();
    const session = service.addKey({ session: true, expiresAt: service.simulator.now() + 1000 });
    service.advance(2);
    expect((await failureOf(clientOf(service, session).users.current())).kind).toBe('sessionExpired');
    expect((await failureOf(clientOf(service, 'wrong').users.current())).kind).toBe('unauthorized');
  });

  test('a service that requires a 2FA login first is distinguished from one that refuses the key', async () => {
    const service = simulatedService();
    await addMethod(service, 'totp');
    setTfa(service, { requireLogin: true });
    expect((await failureOf(clientOf(service).users.current())).kind).toBe('twoFactorRequired');
  });

  test('every refusal carries its code, its status and that nothing happened', async () => {
    const service = simulatedService();
    const client = clientOf(service);
    service.setUser({ emailVerifiedAt: null });
    expect(await failureOf(client.tfa.sendEmailCode())).toMatchObject({
      code: 'email_not_verified',
      status: 400,
      outcome: 'refused',
    });
    service.setUser({ inTeam: true });
    expect(await failureOf(client.tfa.status())).toMatchObject({ code: 'team_user_forbidden', status: 403 });
  });
});

/** Step of a walk; `run` checks its result. */
type Step =
  | { readonly type: 'wait'; readonly seconds: number }
  | { readonly type: 'login'; readonly isRight: boolean }
  | { readonly type: 'backup'; readonly index: number }
  | { readonly type: 'regenerate' };

const steps: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ type: fc.constant('wait' as const), seconds: fc.integer({ min: 1, max: 1000 }) }),
  fc.record({ type: fc.constant('login' as const), isRight: fc.boolean() }),
  fc.record({ type: fc.constant('login' as const), isRight: fc.constant(false) }),
  fc.record({ type: fc.constant('backup' as const), index: fc.nat(9) }),
  fc.record({ type: fc.constant('regenerate' as const) }),
);

/** Expected state of the walk's TOTP method and backup codes, by the specification. */
interface Expected {
  failures: number;
  lockedUntil: number;
  codes: Map<string, boolean>;
}

describe('random walks of our client', () => {
  test('see a lockout after five failures, for 900 seconds, and each backup code once', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(steps, { maxLength: 40 }), async (walk) => {
        const service = simulatedService({ catalog: 1 });
        const client = clientOf(service);
        const { totpSecret, backupCodes } = await addMethod(service, 'totp');
        const expected: Expected = {
          failures: 0,
          lockedUntil: 0,
          codes: new Map(backupCodes.map((code) => [code, true])),
        };
        for (const step of walk) await take({ service, client, totpSecret, expected }, step);
      }),
      { numRuns: 40 },
    );
  });
});

interface Walk {
  readonly service: SimulatedService;
  readonly client: MarketplaceClient;
  readonly totpSecret: string;
  readonly expected: Expected;
}

async function take(walk: Walk, step: Step): Promise<void> {
  switch (step.type) {
    case 'wait':
      return walk.service.advance(step.seconds);
    case 'login':
      return logIn(walk, step.isRight);
    case 'backup':
      return useBackupCode(walk, step.index);
    case 'regenerate':
      return regenerate(walk);
    default:
      return step satisfies never;
  }
}

const kindOf = async (call: Promise<unknown>): Promise<string> =>
  call.then(
    () => 'ok',
    (error: { kind: string }) => error.kind,
  );

/** Returns the expected result of a TOTP verification now. */
function verdict({ service, expected }: Walk, isRight: boolean): string {
  const now = service.simulator.now();
  if (now < expected.lockedUntil) return 'locked';
  if (expected.lockedUntil > 0) Object.assign(expected, { failures: 0, lockedUntil: 0 });
  expected.failures = isRight ? 0 : expected.failures + 1;
  if (expected.failures === 5) expected.lockedUntil = now + 900_000;
  return isRight ? 'ok' : 'verificationFailed';
}

async function logIn(walk: Walk, isRight: boolean): Promise<void> {
  const right = totpCode(walk.totpSecret, walk.service.simulator.now());
  const code = isRight ? right : right === '000000' ? '000001' : '000000';
  expect(await kindOf(walk.client.tfa.login({ method: 'totp', code }))).toBe(verdict(walk, isRight));
}

async function useBackupCode(walk: Walk, index: number): Promise<void> {
  const code = [...walk.expected.codes.keys()][index] ?? '';
  const isFresh = walk.expected.codes.get(code);
  expect((await kindOf(walk.client.tfa.login({ backupCode: code }))) === 'ok').toBe(isFresh);
  walk.expected.codes.set(code, false);
}

async function regenerate(walk: Walk): Promise<void> {
  const code = totpCode(walk.totpSecret, walk.service.simulator.now());
  const should = verdict(walk, true);
  const call = walk.client.tfa.regenerateBackupCodes({ method: 'totp', code });
  expect(await kindOf(call)).toBe(should);
  if (should === 'ok') walk.expected.codes = new Map(reveal(await call).map((fresh) => [fresh, true]));
  expect((await walk.client.tfa.status()).backupCodesRemaining).toBe(
    [...walk.expected.codes.values()].filter(Boolean).length,
  );
}
