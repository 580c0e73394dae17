import { describe, expect, test } from 'vitest';
import { type SimulatedService, simulatedService } from '../builders/simulated-service.ts';
import { addMethod, authorize, loginSecret, PHONE, setTfa, smsChallenge } from '../builders/tfa-account.ts';
import { totpCode } from '../builders/totp.ts';

/*
 * Two-factor authentication where the specification can be misread: each case as its text has it, and the choices
 * that it leaves open as test/evidence/conformance.md tells them. Ids such as D2 are those of the audit that found the case.
 */

describe.for(['public', 'specification'] as const)('adding a 2FA method, %s profile', (profile) => {
  const start = (): SimulatedService => simulatedService({ profile });
  const complete = (service: SimulatedService, secret: string, code = service.lastCode()) =>
    service.call('PUT /api/v0/tfa/authorize-new-method/', { code, secret });
  const isAuthorized = async (service: SimulatedService) =>
    (await service.call('GET /api/v0/tfa/status/')).body.new_method_authorized;

  test('is authorized by the code of a challenge that the email endpoint began (D2)', async () => {
    const service = start();
    const { body } = await service.call('POST /api/v0/tfa/email/', {});
    expect((await complete(service, body.secret)).status).toBe(200);
    expect(await isAuthorized(service)).toBe(true);
  });

  test.for(['a number that is a method', 'a new number'])(
    'is authorized by the code of a challenge that the SMS endpoint began, to %s (D2)',
    async (to) => {
      const service = start();
      if (to === 'a number that is a method') {
        await addMethod(service, 'sms');
        service.advance(1801);
      }
      expect(await isAuthorized(service)).toBe(false);
      const secret = await smsChallenge(service, PHONE);
      const wrong = service.lastCode() === '000000' ? '000001' : '000000';
      expect((await complete(service, secret, wrong)).status).toBe(400);
      expect(await isAuthorized(service)).toBe(false);
      expect((await complete(service, secret)).status).toBe(200);
      expect(await isAuthorized(service)).toBe(true);
    },
  );

  test('is not authorized by another challenge while a requested authorization waits (D3)', async () => {
    const service = start();
    const asked = await service.call('POST /api/v0/tfa/authorize-new-method/', { tfa_method: 'email' });
    const own = service.lastCode();
    const other = await service.call('POST /api/v0/tfa/email/', {});
    expect((await complete(service, other.body.secret)).body.error).toBe('no_challenge_found');
    expect((await complete(service, asked.body.secret)).body.error).toBe('2fa_login_failed');
    expect((await complete(service, other.body.secret, own)).body.error).toBe('no_challenge_found');
    expect(await isAuthorized(service)).toBe(false);
    expect((await complete(service, asked.body.secret, own)).status).toBe(200);
    expect(await isAuthorized(service)).toBe(true);
  });

  test('is authorized by any sent code again once the requested authorization has expired (D3)', async () => {
    const service = start();
    await service.call('POST /api/v0/tfa/authorize-new-method/', { tfa_method: 'email' });
    service.advance(601);
    const { body } = await service.call('POST /api/v0/tfa/email/', {});
    expect((await complete(service, body.secret)).status).toBe(200);
  });

  test('answers no_pending_authorization, challenge_not_found and 2fa_expired, each for its case (D2)', async () => {
    const service = start();
    expect((await complete(service, 'x', '123456')).body.error).toBe('no_pending_authorization');
    await loginSecret(service);
    expect((await complete(service, 'x', '123456')).body.error, 'no code was sent').toBe(
      'no_pending_authorization',
    );
    const { body } = await service.call('POST /api/v0/tfa/email/', {});
    expect((await complete(service, 'x', '123456')).body.error).toBe('challenge_not_found');
    service.advance(601);
    expect((await complete(service, body.secret)).body.error).toBe('2fa_expired');
    expect((await complete(service, 'x', '123456')).body.error).toBe('no_pending_authorization');
  });

  test('takes the TOTP secret that totp-setup issued to this user and no other (D13)', async () => {
    const service = start();
    await authorize(service);
    const now = service.simulator.now();
    const confirm = (secret: string) =>
      service.call('POST /api/v0/tfa/confirm-new/', {
        tfa_method: 'totp',
        secret,
        code: totpCode(secret, now),
      });
    const foreign = 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP';
    expect((await confirm(foreign)).body.error).toBe('challenge_not_found');
    const { body } = await service.call('POST /api/v0/tfa/totp-setup/', {});
    const last = body.secret.at(-1) === 'A' ? 'B' : 'A';
    expect((await confirm(`${body.secret.slice(0, -1)}${last}`)).body.error).toBe('challenge_not_found');
    expect((await confirm(body.secret)).status).toBe(200);
  });

  test('records the confirming code as the first use: last_used is a number (D15)', async () => {
    const service = start();
    await addMethod(service, 'totp');
    const { body } = await service.call('GET /api/v0/tfa/status/');
    expect(body.methods).toEqual([expect.objectContaining({ last_used: expect.any(Number) })]);
  });

  test('lets several methods of one type stand beside each other, the same one twice not (D10)', async () => {
    const service = start();
    await addMethod(service, 'totp');
    await addMethod(service, 'totp');
    await addMethod(service, 'sms');
    const secret = await smsChallenge(service, PHONE).catch(() => '');
    const { body } = await service.call('POST /api/v0/tfa/confirm-new/', {
      tfa_method: 'sms',
      secret,
      code: service.lastCode(),
    });
    expect(body.error).toBe('duplicate_tfa_method');
  });
});

describe.for(['public', 'specification'] as const)('2FA errors, %s profile', (profile) => {
  const start = (): SimulatedService => simulatedService({ profile });

  test.for([
    ['PUT /api/v0/tfa/update/', { tfa_method: 'sms', label: 'x' }],
    ['POST /api/v0/tfa/authorize-new-method/', { tfa_method: 'sms' }],
  ] as const)(
    '%s names a missing SMS method not_found, not tfa_method_not_configured (D5)',
    async ([call, body]) => {
      const service = start();
      await addMethod(service, 'totp');
      expect(await service.call(call, body)).toMatchObject({ status: 404, body: { error: 'not_found' } });
    },
  );

  test('tfa_method_not_configured is for TOTP (D5)', async () => {
    const service = start();
    await addMethod(service, 'sms');
    const { body } = await service.call('PUT /api/v0/tfa/update/', { tfa_method: 'totp', label: 'x' });
    expect(body.error).toBe('tfa_method_not_configured');
  });

  test('missing_auth_value is 401 on a login without identification, auth_error 403 on a send (D11)', async () => {
    const nobody = { key: null };
    expect(await start().call('POST /api/v0/tfa/', {}, nobody)).toMatchObject({
      status: 401,
      body: { error: 'missing_auth_value' },
    });
    for (const path of ['email', 'sms', 'sms/resend']) {
      expect(await start().call(`POST /api/v0/tfa/${path}/`, {}, nobody)).toMatchObject({
        status: 403,
        body: { error: 'auth_error' },
      });
    }
  });

  test('challenge_creation_failed comes while an authorization is requested, not when a code is sent (D12)', async () => {
    const service = start();
    setTfa(service, { challengeStoreDown: true });
    expect((await service.call('POST /api/v0/tfa/email/', {})).status).toBe(200);
    expect((await service.call('POST /api/v0/tfa/sms/', { phone_number: PHONE })).status).toBe(200);
    expect(await service.call('POST /api/v0/tfa/authorize-new-method/', {})).toMatchObject({
      status: 500,
      body: { error: 'challenge_creation_failed' },
    });
  });
});

describe.for(['public', 'specification'] as const)(
  'a verification without tfa_method, %s profile',
  (profile) => {
    test.for(['DELETE /api/v0/tfa/', 'PUT /api/v0/tfa/regen-backup-codes/'])(
      'is one by SMS, as at login, or by the method that tfa_method_id names: %s',
      async (call) => {
        const service = simulatedService({ profile });
        const { id, totpSecret } = await addMethod(service, 'totp');
        await addMethod(service, 'sms');
        const secret = await smsChallenge(service, PHONE);
        expect((await service.call(call, { code: service.lastCode(), secret })).status).toBe(200);
        const code = totpCode(totpSecret, service.simulator.now());
        expect((await service.call(call, { code, tfa_method_id: id })).status).toBe(200);
      },
    );
  },
);

describe.for(['public', 'specification'] as const)('updating a 2FA method, %s profile', (profile) => {
  async function withMethods() {
    const service = simulatedService({ profile });
    const { id } = await addMethod(service, 'totp');
    const update = (body: object) => service.call('PUT /api/v0/tfa/update/', { tfa_method_id: id, ...body });
    return { service, id, update };
  }

  test('sets an empty label, which has no more than 30 characters (D14)', async () => {
    const { update } = await withMethods();
    expect((await update({ label: '' })).body).toMatchObject({ success: true, method: { label: '' } });
    expect((await update({ label: '😀'.repeat(30) })).status).toBe(200);
    expect((await update({ label: '😀'.repeat(31) })).status).toBe(400);
  });

  test('says so when it names nothing to change (D14)', async () => {
    const { update } = await withMethods();
    const { body } = await update({});
    expect(body).toMatchObject({ success: true, msg: expect.stringContaining('No change was given') });
    expect((await update({ label: 'x' })).body.msg).toBe('2FA method updated.');
  });

  test('moves the primary mark to another method when it is taken from one (D14)', async () => {
    const { service, update } = await withMethods();
    await addMethod(service, 'sms');
    expect((await update({ is_primary: false })).body.method.is_primary).toBe(false);
    const { body } = await service.call('GET /api/v0/tfa/status/');
    expect(body.methods.map(({ is_primary }: { is_primary: boolean }) => is_primary)).toEqual([false, true]);
  });
});
