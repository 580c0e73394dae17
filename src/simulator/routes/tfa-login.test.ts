import { describe, expect, test } from 'vitest';
import { type SimulatedService, simulatedService } from '../../../test/builders/simulated-service.ts';
import { addMethod, loginSecret, setTfa, smsChallenge, totpNow } from '../../../test/builders/tfa-account.ts';

const status = async (service: SimulatedService) => (await service.call('GET /api/v0/tfa/status/')).body;
const login = (service: SimulatedService, body: object) => service.call('POST /api/v0/tfa/', body);

/** Sends wrong codes until the TOTP method is locked. */
async function lock(service: SimulatedService): Promise<void> {
  for (let attempt = 0; attempt < 5; attempt += 1)
    await login(service, { tfa_method: 'totp', code: '000000' });
}

describe.for(['public', 'specification'] as const)('2FA, %s profile', (profile) => {
  const start = () => simulatedService({ profile });

  describe('completing a login (specification 4.8)', () => {
    test('a Bearer caller finds the user and a session_key that works as Bearer', async () => {
      const service = start();
      const { totpSecret } = await addMethod(service, 'totp');
      const { body } = await login(service, { tfa_method: 'totp', code: totpNow(service, totpSecret) });
      expect(body).toMatchObject({
        id: service.user().id,
        email: service.user().email,
        tfa_status: 'enabled',
      });
      expect(body).not.toHaveProperty('backup_codes_remaining');
      expect(body).not.toHaveProperty('legacy_tfa_user');
      const me = await service.call('GET /api/v0/users/current/', undefined, { key: body.session_key });
      expect(me.body.id).toBe(service.user().id);
    });

    test('a logged-out caller gets its session as cookie and header, with no key in the body', async () => {
      const service = start();
      const { totpSecret } = await addMethod(service, 'totp');
      const { body, headers } = await service.call(
        'POST /api/v0/tfa/',
        { tfa_method: 'totp', code: totpNow(service, totpSecret), secret: await loginSecret(service) },
        { key: null },
      );
      expect(body.id).toBe(service.user().id);
      expect(body).not.toHaveProperty('session_key');
      const cookie = headers['set-cookie']?.split(';')[0] ?? '';
      const session = headers['x-session-key'] ?? '';
      for (const own of [{ cookie }, { 'x-session-key': session }]) {
        const me = await service.call('GET /api/v0/users/current/', undefined, { key: null, headers: own });
        expect(me.status).toBe(200);
      }
    });

    test('returns backup_codes_remaining after a backup code, and omits it at 0', async () => {
      const service = start();
      const { backupCodes } = await addMethod(service, 'totp');
      for (const [index, backup_code] of backupCodes.entries()) {
        const { body } = await login(service, { backup_code });
        expect(body.backup_codes_remaining).toBe(index === 9 ? undefined : 9 - index);
      }
      expect((await login(service, { backup_code: backupCodes[0] })).body.error).toBe('invalid_backup_code');
    });

    test('a backup code works in lower case but only once', async () => {
      const service = start();
      const { backupCodes } = await addMethod(service, 'totp');
      const backup_code = backupCodes[0]?.toLowerCase();
      expect((await login(service, { backup_code })).status).toBe(200);
      expect((await login(service, { backup_code })).status).toBe(401);
    });

    test('without tfa_method the default is sms', async () => {
      const service = start();
      await addMethod(service, 'sms');
      service.advance(61);
      const sent = await service.call('POST /api/v0/tfa/sms/', {});
      const { body } = await login(service, { code: service.lastCode(), secret: sent.body.secret });
      expect(body.session_key).toMatch(/\S/);
    });

    test.for([
      { late: 30, status: 200 },
      { late: 60, status: 400 },
    ])('a TOTP code that is $late s old answers $status', async ({ late, status }) => {
      const service = start();
      const { totpSecret } = await addMethod(service, 'totp');
      const code = totpNow(service, totpSecret);
      service.advance(late);
      expect((await login(service, { tfa_method: 'totp', code })).status).toBe(status);
    });

    test('several methods of one type need tfa_method_id', async () => {
      const service = start();
      const first = await addMethod(service, 'totp');
      await addMethod(service, 'totp');
      const code = totpNow(service, first.totpSecret);
      expect((await login(service, { tfa_method: 'totp', code })).body.error).toBe('bad_request');
      const named = await login(service, { tfa_method: 'totp', code, tfa_method_id: first.id });
      expect(named.status).toBe(200);
    });

    test('admin asks for an admin session, which only admin users get', async () => {
      const service = start();
      const { totpSecret } = await addMethod(service, 'totp');
      const body = { tfa_method: 'totp', code: totpNow(service, totpSecret), admin: true };
      expect((await login(service, body)).body.error).toBe('auth_error');
      service.setUser({ isAdmin: true });
      expect((await login(service, body)).status).toBe(200);
    });

    test('an answered challenge is used up', async () => {
      const service = start();
      await addMethod(service, 'totp');
      const sent = await service.call('POST /api/v0/tfa/email/', {});
      const answer = { tfa_method: 'email', code: service.lastCode(), secret: sent.body.secret };
      expect((await login(service, answer)).status).toBe(200);
      expect((await login(service, answer)).body.error).toBe('challenge_not_found');
    });

    test('a code sent to a number that is no method proves nothing', async () => {
      const service = start();
      await addMethod(service, 'totp');
      const secret = await smsChallenge(service, '+14155550123');
      const { body } = await login(service, { tfa_method: 'sms', code: service.lastCode(), secret });
      expect(body.error).toBe('2fa_login_failed');
    });

    test('a key may be made to log in with a code first, by a setting', async () => {
      const service = start();
      const { totpSecret } = await addMethod(service, 'totp');
      setTfa(service, { requireLogin: true });
      const plain = await service.call('GET /api/v0/users/current/');
      expect({ status: plain.status, msg: plain.body.msg }).toEqual({
        status: 401,
        msg: expect.stringContaining('Two Factor Authentication'),
      });
      const { body } = await login(service, { tfa_method: 'totp', code: totpNow(service, totpSecret) });
      const me = await service.call('GET /api/v0/users/current/', undefined, { key: body.session_key });
      expect(me.status).toBe(200);
    });

    test('an ended session answers 401 with the text public clients act on', async () => {
      const service = start();
      const { totpSecret } = await addMethod(service, 'totp');
      const { body } = await login(service, { tfa_method: 'totp', code: totpNow(service, totpSecret) });
      service.advance(604_801);
      const ended = await service.call('GET /api/v0/users/current/', undefined, { key: body.session_key });
      expect({ status: ended.status, msg: ended.body.msg }).toEqual({
        status: 401,
        msg: 'Session expired. Please log in again.',
      });
    });
  });

  describe('lockout (specification 3.3, 8)', () => {
    test('lasts 15 minutes, and attempts meanwhile neither count nor extend it', async () => {
      const service = start();
      const { totpSecret } = await addMethod(service, 'totp');
      await lock(service);
      for (let minute = 0; minute < 15; minute += 1) {
        const { body } = await login(service, { tfa_method: 'totp', code: '000000' });
        expect(body).toMatchObject({ error: 'tfa_locked', fail_count: 5 });
        service.advance(60);
      }
      expect((await status(service)).methods[0]).toMatchObject({ fail_count: 0, locked_until: null });
      expect((await login(service, { tfa_method: 'totp', code: totpNow(service, totpSecret) })).status).toBe(
        200,
      );
    });

    test('has ended at locked_until, which is whole seconds', async () => {
      const service = start();
      const { totpSecret } = await addMethod(service, 'totp');
      service.advance(0.4);
      await lock(service);
      const { locked_until } = (await status(service)).methods[0];
      expect(Number.isInteger(locked_until)).toBe(true);
      service.advance(locked_until - 1 - service.simulator.now() / 1000);
      const code = totpNow(service, totpSecret);
      expect((await login(service, { tfa_method: 'totp', code })).body.error).toBe('tfa_locked');
      service.advance(locked_until - service.simulator.now() / 1000);
      expect((await login(service, { tfa_method: 'totp', code })).status).toBe(200);
    });

    test('is of one method only: another one and backup codes still verify', async () => {
      const service = start();
      const { backupCodes } = await addMethod(service, 'totp');
      await addMethod(service, 'sms');
      service.advance(61);
      await lock(service);
      const sent = await service.call('POST /api/v0/tfa/sms/', {});
      expect((await login(service, { code: service.lastCode(), secret: sent.body.secret })).status).toBe(200);
      expect((await login(service, { backup_code: backupCodes[0] })).status).toBe(200);
    });

    test('a success ends the count', async () => {
      const service = start();
      const { totpSecret } = await addMethod(service, 'totp');
      await login(service, { tfa_method: 'totp', code: '000000' });
      expect((await status(service)).methods[0].fail_count).toBe(1);
      await login(service, { tfa_method: 'totp', code: totpNow(service, totpSecret) });
      expect((await status(service)).methods[0]).toMatchObject({
        fail_count: 0,
        last_used: expect.any(Number),
      });
    });

    test('a locked method grants no authorization', async () => {
      const service = start();
      await addMethod(service, 'totp');
      await lock(service);
      const { body } = await service.call('POST /api/v0/tfa/authorize-new-method/', { tfa_method: 'totp' });
      expect(body.error).toBe('tfa_locked');
    });
  });
});
