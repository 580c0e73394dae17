import { describe, expect, test } from 'vitest';
import { answeringTransport, reply } from '../../../../test/builders/answering-transport.ts';
import { createVirtualClock } from '../../../../test/builders/virtual-clock.ts';
import { silentLogger } from '../../../lib/logger.ts';
import { seededRandom } from '../../../lib/random.ts';
import { Secret } from '../../../lib/secret.ts';
import { createPacer } from '../../../market/pacing.ts';
import { createLoggedOutClient, createMarketplaceClient } from '../client.ts';
import type { BearerTfa, LoggedOutTfa } from './tfa.ts';

const user = { id: 5, email: 'a@example.com' };
const secret = new Secret('challenge-1');

function setUp(body: unknown, status = 200, headers: Record<string, string> = {}) {
  const network = answeringTransport(reply(body, status, headers));
  const clock = createVirtualClock();
  const common = {
    baseUrl: 'https://market.example',
    transport: network.transport,
    clock,
    random: seededRandom(1),
    log: silentLogger,
    pacer: createPacer({ clock, scale: 0 }),
  };
  const sent = () => {
    const request = network.requests.at(-1);
    return {
      line: `${request?.method} ${request?.path}`,
      body: request?.body === undefined ? undefined : JSON.parse(request.body),
      bearer: request?.headers.authorization,
    };
  };
  const tfa = createMarketplaceClient({ ...common, apiKey: new Secret('key') }).tfa;
  return { ...network, sent, tfa, loggedOut: createLoggedOutClient({ ...common, secret }) };
}

describe('a Bearer caller', () => {
  const challenge = { success: true, msg: 'sent', secret: 's2' };
  const method = { id: 3, method: 'totp', label: 'phone', created_at: 1_700_000_000, locked_until: null };
  const calls: readonly [string, unknown, (tfa: BearerTfa) => Promise<unknown>, string, unknown][] = [
    ['sends an email code', challenge, (tfa) => tfa.sendEmailCode(), 'POST /api/v0/tfa/email/', {}],
    [
      'sends an SMS code',
      challenge,
      (tfa) => tfa.sendSmsCode({ phoneNumber: '+15551234567' }),
      'POST /api/v0/tfa/sms/',
      { phone_number: '+15551234567' },
    ],
    [
      'sends an SMS code again',
      challenge,
      (tfa) => tfa.resendSmsCode({ secret, methodId: '4' }),
      'POST /api/v0/tfa/sms/resend/',
      { secret: 'challenge-1', tfa_method_id: 4 },
    ],
    [
      'logs in by SMS with the secret',
      user,
      (tfa) => tfa.login({ method: 'sms', code: '123456', secret }),
      'POST /api/v0/tfa/',
      { tfa_method: 'sms', code: '123456', secret: 'challenge-1' },
    ],
    [
      'logs in by authenticator without one',
      user,
      (tfa) => tfa.login({ method: 'totp', code: '123456', methodId: '3', admin: true }),
      'POST /api/v0/tfa/',
      { tfa_method: 'totp', code: '123456', tfa_method_id: 3, admin: true },
    ],
    [
      'logs in by backup code alone',
      user,
      (tfa) => tfa.login({ backupCode: 'AAAA-BBBB-CCCC' }),
      'POST /api/v0/tfa/',
      { backup_code: 'AAAA-BBBB-CCCC' },
    ],
    [
      'authorizes a new method by email',
      challenge,
      (tfa) => tfa.authorizeNewMethod({ method: 'email' }),
      'POST /api/v0/tfa/authorize-new-method/',
      { tfa_method: 'email' },
    ],
    [
      'confirms the authorization',
      { success: true, msg: 'ok' },
      (tfa) => tfa.confirmAuthorization({ code: '123456', secret }),
      'PUT /api/v0/tfa/authorize-new-method/',
      { code: '123456', secret: 'challenge-1' },
    ],
    [
      'sets up an authenticator',
      { secret: 'BASE32', provisioning_uri: 'otpauth://totp/x' },
      (tfa) => tfa.setUpTotp(),
      'POST /api/v0/tfa/totp-setup/',
      {},
    ],
    [
      'confirms a new method',
      { success: true, msg: 'ok', backup_codes: ['AAAA-BBBB-CCCC'] },
      (tfa) => tfa.confirmNewMethod({ method: 'totp', code: '123456', secret, label: 'phone' }),
      'POST /api/v0/tfa/confirm-new/',
      { tfa_method: 'totp', code: '123456', secret: 'challenge-1', label: 'phone' },
    ],
    [
      'removes a method by backup code',
      { msg: 'ok', remaining_methods: 1 },
      (tfa) => tfa.removeMethod({ backupCode: 'AAAA-BBBB-CCCC', targetId: '3' }),
      'DELETE /api/v0/tfa/',
      { backup_code: 'AAAA-BBBB-CCCC', target_id: 3 },
    ],
    [
      'changes a method',
      { success: true, msg: 'ok', method },
      (tfa) => tfa.updateMethod({ methodId: '3', label: 'phone', isPrimary: true }),
      'PUT /api/v0/tfa/update/',
      { tfa_method_id: 3, label: 'phone', is_primary: true },
    ],
    [
      'regenerates backup codes',
      { msg: 'ok', backup_codes: ['AAAA-BBBB-CCCC'] },
      (tfa) => tfa.regenerateBackupCodes({ method: 'totp', code: '123456' }),
      'PUT /api/v0/tfa/regen-backup-codes/',
      { tfa_method: 'totp', code: '123456' },
    ],
    [
      'sends a code by the deprecated path',
      challenge,
      (tfa) => tfa.deprecated.test(),
      'POST /api/v0/tfa/test/',
      {},
    ],
    [
      'resends by the deprecated path',
      challenge,
      (tfa) => tfa.deprecated.resend({ secret }),
      'POST /api/v0/tfa/resend/',
      { secret: 'challenge-1' },
    ],
    [
      'confirms by the deprecated path',
      { msg: 'ok' },
      (tfa) =>
        tfa.deprecated.testSubmit({ method: 'sms', code: '123456', secret, phoneNumber: '+15551234567' }),
      'POST /api/v0/tfa/test-submit/',
      { tfa_method: 'sms', code: '123456', secret: 'challenge-1', phone_number: '+15551234567' },
    ],
  ];
  test.each(calls)('%s', async (_, answer, call, line, body) => {
    const { tfa, sent, requests } = setUp(answer);
    await call(tfa);
    expect(sent()).toEqual({ line, body, bearer: 'Bearer key' });
    expect(requests).toHaveLength(1);
  });

  test('reads the status in our units, also with an unknown kind of method', async () => {
    const { tfa } = setUp({
      success: true,
      tfa_enabled: true,
      methods: [{ ...method, method: 'passkey', locked_until: 1_700_000_900 }],
      backup_codes_remaining: 9,
      new_method_authorized: false,
    });
    expect(await tfa.status()).toMatchObject({
      enabled: true,
      backupCodesRemaining: 9,
      methods: [{ id: '3', method: 'passkey', lockedUntil: 1_700_000_900_000, createdAt: 1_700_000_000_000 }],
    });
  });

  test('gets a session key that no text shows', async () => {
    const { tfa } = setUp({
      ...user,
      session_key: 'session-1',
      backup_codes_remaining: 4,
      legacy_tfa_user: true,
    });
    const login = await tfa.login({ backupCode: 'AAAA-BBBB-CCCC' });
    expect(login).toMatchObject({ user: { id: '5' }, backupCodesRemaining: 4, legacyUser: true });
    expect(login.sessionKey?.reveal()).toBe('session-1');
    expect(JSON.stringify(login)).not.toContain('session-1');
  });

  test('is authorized at once by a backup code', async () => {
    const { tfa } = setUp({ success: true, msg: 'Authorization successful.' });
    expect(await tfa.authorizeNewMethod({ backupCode: 'AAAA-BBBB-CCCC' })).toEqual({
      type: 'authorized',
      message: 'Authorization successful.',
    });
  });

  test('never repeats a wrong or a locked code', async () => {
    const { tfa, requests } = setUp({ error: 'tfa_locked', msg: 'x', fail_count: 5, locked_until: 1 }, 429);
    await expect(tfa.login({ method: 'totp', code: '000000' })).rejects.toMatchObject({
      kind: 'locked',
      failCount: 5,
    });
    expect(requests).toHaveLength(1);
  });
});

describe('a logged-out caller', () => {
  const calls: readonly [string, (tfa: LoggedOutTfa) => Promise<unknown>, string, unknown][] = [
    ['sends an email code', (tfa) => tfa.sendEmailCode(), 'POST /api/v0/tfa/email/', {}],
    [
      'sends an SMS code',
      (tfa) => tfa.sendSmsCode({ methodId: '3' }),
      'POST /api/v0/tfa/sms/',
      { tfa_method_id: 3 },
    ],
    ['sends it again', (tfa) => tfa.resendSmsCode(), 'POST /api/v0/tfa/sms/resend/', {}],
    [
      'sends an SMS code by the deprecated path',
      (tfa) => tfa.deprecated.test({ phoneNumber: '+15551234567' }),
      'POST /api/v0/tfa/test/',
      { phone_number: '+15551234567' },
    ],
    [
      'sends it again by the deprecated path',
      (tfa) => tfa.deprecated.resend(),
      'POST /api/v0/tfa/resend/',
      {},
    ],
    [
      'logs in by authenticator',
      (tfa) => tfa.login({ method: 'totp', code: '123456' }),
      'POST /api/v0/tfa/',
      { tfa_method: 'totp', code: '123456' },
    ],
  ];
  test.each(calls)('%s with the secret and no key', async (_, call, line, body) => {
    const { loggedOut, sent } = setUp({ ...user, secret: 's2' }, 200, { 'set-cookie': 'session=1' });
    await call(loggedOut);
    expect(sent()).toEqual({ line, body: { ...(body as object), secret: 'challenge-1' }, bearer: undefined });
  });

  test('gets its session from the cookie', async () => {
    const { loggedOut } = setUp(user, 200, { 'set-cookie': 'session=1' });
    const login = await loggedOut.login({ method: 'totp', code: '123456' });
    expect(login.sessionCookie?.reveal()).toBe('session=1');
    expect(login.sessionKey).toBeUndefined();
  });
});

/** Contains the call shapes that the table of specification 4.8 forbids. It is never run: the compiler is the test. */
async function forbiddenShapes(bearer: BearerTfa, loggedOut: LoggedOutTfa): Promise<void> {
  const code = '123456';
  const backupCode = 'AAAA-BBBB-CCCC';
  // @ts-expect-error a sent code of a Bearer caller needs the secret of its challenge
  await bearer.login({ method: 'sms', code });
  // @ts-expect-error an authenticator's code takes no secret
  await bearer.login({ method: 'totp', code, secret });
  // @ts-expect-error a backup code stands alone
  await bearer.login({ backupCode, method: 'sms', code, secret });
  // @ts-expect-error something must prove the second factor
  await bearer.login({});
  // @ts-expect-error the code is missing
  await bearer.login({ method: 'totp' });
  // @ts-expect-error the logged-out caller's secret is given once, when the client is made
  await loggedOut.login({ method: 'sms', code, secret });
  // @ts-expect-error the status needs a key
  await loggedOut.status();
  // @ts-expect-error authorizing needs a key
  await loggedOut.authorizeNewMethod({ method: 'email' });
  // @ts-expect-error setting up an authenticator needs a key
  await loggedOut.setUpTotp();
  // @ts-expect-error confirming needs a key
  await loggedOut.confirmNewMethod({ method: 'totp', code, secret });
  // @ts-expect-error removing needs a key
  await loggedOut.removeMethod({ method: 'totp', code });
  // @ts-expect-error changing needs a key
  await loggedOut.updateMethod({ methodId: 3, label: 'x' });
  // @ts-expect-error new backup codes need a key
  await loggedOut.regenerateBackupCodes({ method: 'totp', code });
  // @ts-expect-error step 2 of authorizing needs the secret
  await bearer.confirmAuthorization({ code });
  // @ts-expect-error confirming always needs a secret
  await bearer.confirmNewMethod({ method: 'sms', code });
  // @ts-expect-error email is never stored as a method
  await bearer.confirmNewMethod({ method: 'email', code, secret });
  // @ts-expect-error a phone number belongs to SMS alone
  await bearer.confirmNewMethod({ method: 'totp', code, secret, phoneNumber: '+15551234567' });
  // @ts-expect-error a backup code must name the method to remove
  await bearer.removeMethod({ backupCode });
  // @ts-expect-error removing by email needs the secret
  await bearer.removeMethod({ method: 'email', code });
  // @ts-expect-error email cannot be changed, as it is no method
  await bearer.updateMethod({ method: 'email', label: 'x' });
  // @ts-expect-error one of method and id names what changes
  await bearer.updateMethod({ label: 'x' });
  // @ts-expect-error regenerating by SMS needs the secret
  await bearer.regenerateBackupCodes({ method: 'sms', code });
  // @ts-expect-error regenerating by email needs the secret
  await bearer.regenerateBackupCodes({ method: 'email', code });
  // @ts-expect-error an authenticator's code takes no secret, wherever it verifies
  await bearer.regenerateBackupCodes({ method: 'totp', code, secret });
  // @ts-expect-error a backup code authorizes alone
  await bearer.authorizeNewMethod({ backupCode, method: 'sms' });
  // @ts-expect-error step 1 of authorizing takes no secret
  await bearer.authorizeNewMethod({ method: 'email', secret });
  // @ts-expect-error step 1 of authorizing names a method, an id or a backup code
  await bearer.authorizeNewMethod({});
  // @ts-expect-error step 2 of authorizing needs the code
  await bearer.confirmAuthorization({ secret });
  // @ts-expect-error a code by email needs the secret of its challenge
  await bearer.login({ method: 'email', code });
  // @ts-expect-error removing by SMS needs the secret
  await bearer.removeMethod({ method: 'sms', code });
  // @ts-expect-error removing by an authenticator's code takes no secret
  await bearer.removeMethod({ method: 'totp', code, secret });
  // @ts-expect-error confirming needs the code
  await bearer.confirmNewMethod({ method: 'totp', secret });
  // @ts-expect-error confirming names its method
  await bearer.confirmNewMethod({ code, secret });
  // @ts-expect-error a change takes no secret
  await bearer.updateMethod({ methodId: 3, label: 'x', secret });
  // @ts-expect-error the status takes no secret
  await bearer.status({ secret });
  // @ts-expect-error setting up an authenticator takes no secret
  await bearer.setUpTotp({ secret });
  // @ts-expect-error step 2 of authorizing needs a key
  await loggedOut.confirmAuthorization({ code, secret });
  // @ts-expect-error the deprecated form of confirming needs a key
  await loggedOut.deprecated.testSubmit({ method: 'sms', code, secret });
  // @ts-expect-error the logged-out caller's secret goes with every call by itself
  await loggedOut.sendSmsCode({ secret });
  // @ts-expect-error the logged-out caller's secret goes with every call by itself
  await loggedOut.resendSmsCode({ secret });
  // @ts-expect-error the logged-out caller's secret goes with every call by itself
  await loggedOut.sendEmailCode({ secret });
}

test('a call shape that the table of specification 4.8 forbids does not compile', () => {
  expect(forbiddenShapes).toBeTypeOf('function');
});
