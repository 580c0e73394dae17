import { describe, expect, test } from 'vitest';
import { type SimulatedService, simulatedService } from '../../../test/builders/simulated-service.ts';
import {
  addMethod,
  authorize,
  legacyUser,
  loginSecret,
  PHONE,
  setTfa,
  smsChallenge,
  totpNow,
} from '../../../test/builders/tfa-account.ts';

const BACKUP_CODE = /^[A-Z0-9]{4}-[A-Z0-9]{4}-[A-Z0-9]{4}$/;
const status = async (service: SimulatedService) => (await service.call('GET /api/v0/tfa/status/')).body;
const login = (service: SimulatedService, body: object) => service.call('POST /api/v0/tfa/', body);

/** Wrong codes until the TOTP method is locked. */
async function lock(service: SimulatedService): Promise<void> {
  for (let attempt = 0; attempt < 5; attempt += 1)
    await login(service, { tfa_method: 'totp', code: '000000' });
}

describe.for(['public', 'specification'] as const)('2FA, %s profile', (profile) => {
  const start = () => simulatedService({ profile });

  describe('adding a method (specification 3.3)', () => {
    test('the first method switches 2FA on and returns ten backup codes once', async () => {
      const service = start();
      const { backupCodes } = await addMethod(service, 'totp');
      expect(backupCodes).toHaveLength(10);
      expect(new Set(backupCodes).size).toBe(10);
      for (const code of backupCodes) expect(code).toMatch(BACKUP_CODE);
      expect(await status(service)).toMatchObject({ tfa_enabled: true, backup_codes_remaining: 10 });
      expect((await service.call('GET /api/v0/users/current/')).body.tfa_status).toBe('enabled');
    });

    test('a second method returns no backup codes', async () => {
      const service = start();
      await addMethod(service, 'totp');
      expect((await addMethod(service, 'sms')).backupCodes).toEqual([]);
      expect((await status(service)).methods).toHaveLength(2);
    });

    test('the authorization shows in status for 30 minutes', async () => {
      const service = start();
      expect((await status(service)).new_method_authorized).toBe(false);
      await authorize(service);
      expect((await status(service)).new_method_authorized).toBe(true);
      service.advance(1800);
      expect((await status(service)).new_method_authorized).toBe(true);
      service.advance(1);
      expect((await status(service)).new_method_authorized).toBe(false);
    });

    test('a user without methods is forced to email, whatever is asked for', async () => {
      const service = start();
      await service.call('POST /api/v0/tfa/authorize-new-method/', { tfa_method: 'sms' });
      expect(service.outbox().at(-1)).toMatchObject({ channel: 'email', to: service.user().email });
    });

    test('a backup code authorizes at once with exactly this text', async () => {
      const service = start();
      const { backupCodes } = await addMethod(service, 'totp');
      service.advance(3600);
      const { body } = await service.call('POST /api/v0/tfa/authorize-new-method/', {
        backup_code: backupCodes[3],
      });
      expect(body).toEqual({ success: true, msg: 'Authorization successful.' });
      expect(await status(service)).toMatchObject({ new_method_authorized: true, backup_codes_remaining: 9 });
    });

    test('tfa_method_id alone names the method, as text too', async () => {
      const service = start();
      const { id, totpSecret } = await addMethod(service, 'totp');
      const { body } = await service.call('POST /api/v0/tfa/authorize-new-method/', {
        tfa_method_id: String(id),
      });
      const answer = { code: totpNow(service, totpSecret), secret: body.secret };
      const done = await service.call('PUT /api/v0/tfa/authorize-new-method/', answer);
      expect(done.body).toEqual({ success: true, msg: 'Authorization successful.' });
    });

    test('totp-setup adds nothing and gives a base32 secret with its otpauth URI', async () => {
      const service = start();
      const { body } = await service.call('POST /api/v0/tfa/totp-setup/');
      expect(body.secret).toMatch(/^[A-Z2-7]{32}$/);
      expect(body.provisioning_uri).toMatch(/^otpauth:\/\/totp\/.*secret=/);
      expect(body.provisioning_uri).toContain(`secret=${body.secret}`);
      expect((await status(service)).methods).toEqual([]);
    });

    test('a label has at most 30 characters', async () => {
      const service = start();
      await authorize(service);
      const { body: setup } = await service.call('POST /api/v0/tfa/totp-setup/');
      const confirm = { tfa_method: 'totp', code: totpNow(service, setup.secret), secret: setup.secret };
      const long = await service.call('POST /api/v0/tfa/confirm-new/', { ...confirm, label: 'x'.repeat(31) });
      expect(long.body.error).toBe('bad_request');
      const fits = await service.call('POST /api/v0/tfa/confirm-new/', { ...confirm, label: 'x'.repeat(30) });
      expect(fits.body).toMatchObject({ success: true, msg: expect.stringContaining('TOTP') });
      expect((await status(service)).methods[0].label).toBe('x'.repeat(30));
    });

    test('SMS is confirmed with the secret of its challenge, and says so', async () => {
      const service = start();
      await authorize(service);
      const secret = await smsChallenge(service, PHONE);
      const code = service.lastCode();
      const { body } = await service.call('POST /api/v0/tfa/confirm-new/', {
        tfa_method: 'sms',
        code,
        secret,
        phone_number: PHONE,
      });
      expect(body.msg).toContain('SMS');
    });

    test('a number other than the challenged one is not confirmed', async () => {
      const service = start();
      await authorize(service);
      const secret = await smsChallenge(service, PHONE);
      const { body } = await service.call('POST /api/v0/tfa/confirm-new/', {
        tfa_method: 'sms',
        code: service.lastCode(),
        secret,
        phone_number: '+14155550111',
      });
      expect(body.error).toBe('phone_number_mismatch');
    });
  });

  describe('status (specification 2.6, 4.8)', () => {
    test('lists methods with masked numbers, counts and times, and never a TOTP secret', async () => {
      const service = start();
      const { totpSecret } = await addMethod(service, 'totp');
      await addMethod(service, 'sms');
      const body = await status(service);
      const now = Math.floor(service.simulator.now() / 1000);
      expect(body).toMatchObject({ success: true, tfa_enabled: true, new_method_authorized: true });
      expect(body.methods).toEqual([
        {
          id: 1,
          user_id: service.user().id,
          method: 'totp',
          label: 'Authenticator app',
          is_primary: true,
          fail_count: 0,
          locked_until: null,
          created_at: now,
          last_used: null,
        },
        expect.objectContaining({ id: 2, method: 'sms', phone_number: '********0100', is_primary: false }),
      ]);
      expect(JSON.stringify(body)).not.toContain(totpSecret);
    });

    test('email is never stored as a method', async () => {
      const service = start();
      await authorize(service);
      expect((await status(service)).methods).toEqual([]);
    });
  });

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

    test('backup_codes_remaining is told after a backup code, and omitted at 0', async () => {
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

    test('several methods of one type need tfa_method_id', async () => {
      const service = start();
      const first = await addMethod(service, 'totp');
      await addMethod(service, 'totp');
      const code = totpNow(service, first.totpSecret);
      expect((await login(service, { tfa_method: 'totp', code })).body.error).toBe('bad_request');
      const named = await login(service, { tfa_method: 'totp', code, tfa_method_id: String(first.id) });
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

  describe('removing a method (specification 3.3, 4.8)', () => {
    test('while others remain it tells how many', async () => {
      const service = start();
      const { id, totpSecret } = await addMethod(service, 'totp');
      await addMethod(service, 'sms');
      const body = { tfa_method: 'totp', code: totpNow(service, totpSecret), target_id: id };
      const removed = await service.call('DELETE /api/v0/tfa/', body);
      expect(removed.body).toEqual({ msg: expect.any(String), remaining_methods: 1 });
      expect((await status(service)).methods).toMatchObject([{ method: 'sms', is_primary: true }]);
    });

    test('the last one switches 2FA off and retires all backup codes', async () => {
      const service = start();
      const { totpSecret, backupCodes } = await addMethod(service, 'totp');
      const body = { tfa_method: 'totp', code: totpNow(service, totpSecret) };
      expect((await service.call('DELETE /api/v0/tfa/', body)).body).toEqual({
        msg: '2FA Successfully Disabled',
      });
      expect(await status(service)).toMatchObject({
        tfa_enabled: false,
        methods: [],
        backup_codes_remaining: 0,
      });
      expect((await service.call('GET /api/v0/users/current/')).body.tfa_status).toBe('disabled');
      await addMethod(service, 'totp');
      expect((await login(service, { backup_code: backupCodes[0] })).body.error).toBe('invalid_backup_code');
    });

    test('a backup code removes its target', async () => {
      const service = start();
      const { id, backupCodes } = await addMethod(service, 'totp');
      const body = { backup_code: backupCodes[0], target_id: id };
      expect((await service.call('DELETE /api/v0/tfa/', body)).body.msg).toBe('2FA Successfully Disabled');
    });

    test('an unknown target is refused before any code is used up', async () => {
      const service = start();
      const { backupCodes } = await addMethod(service, 'totp');
      const { body } = await service.call('DELETE /api/v0/tfa/', {
        backup_code: backupCodes[0],
        target_id: 99,
      });
      expect(body.error).toBe('not_found');
      expect((await status(service)).backup_codes_remaining).toBe(10);
    });

    test('a legacy account is switched off by any verification', async () => {
      const service = start();
      legacyUser(service);
      const sent = await service.call('POST /api/v0/tfa/sms/', {});
      const body = { tfa_method: 'sms', code: service.lastCode(), secret: sent.body.secret };
      expect((await service.call('DELETE /api/v0/tfa/', body)).body).toEqual({
        msg: '2FA Successfully Disabled',
      });
      expect((await status(service)).tfa_enabled).toBe(false);
    });
  });

  describe('updating a method and its codes', () => {
    test('a label and the primary mark are changed; exactly one method is primary', async () => {
      const service = start();
      await addMethod(service, 'totp');
      const { id } = await addMethod(service, 'sms');
      const { body } = await service.call('PUT /api/v0/tfa/update/', {
        tfa_method_id: id,
        label: 'work',
        is_primary: true,
      });
      expect(body).toMatchObject({
        success: true,
        msg: expect.any(String),
        method: { id, label: 'work', is_primary: true },
      });
      expect((await status(service)).methods).toMatchObject([{ is_primary: false }, { is_primary: true }]);
    });

    test('it does not apply to email', async () => {
      const service = start();
      await addMethod(service, 'totp');
      const { body } = await service.call('PUT /api/v0/tfa/update/', { tfa_method: 'email', label: 'x' });
      expect(body.error).toBe('invalid_tfa_method');
    });

    test('new backup codes replace all old ones', async () => {
      const service = start();
      const { totpSecret, backupCodes } = await addMethod(service, 'totp');
      const proof = { tfa_method: 'totp', code: totpNow(service, totpSecret) };
      const { body } = await service.call('PUT /api/v0/tfa/regen-backup-codes/', proof);
      expect(body.backup_codes).toHaveLength(10);
      expect((await login(service, { backup_code: backupCodes[0] })).status).toBe(401);
      expect((await login(service, { backup_code: body.backup_codes[0] })).status).toBe(200);
    });

    test('new backup codes of a legacy account backfill its number as an SMS method', async () => {
      const service = start();
      legacyUser(service);
      expect(await status(service)).toMatchObject({
        tfa_enabled: true,
        methods: [],
        backup_codes_remaining: 0,
      });
      const sent = await service.call('POST /api/v0/tfa/sms/', {});
      const proof = { tfa_method: 'sms', code: service.lastCode(), secret: sent.body.secret };
      const { body } = await service.call('PUT /api/v0/tfa/regen-backup-codes/', proof);
      expect(body.backup_codes).toHaveLength(10);
      expect((await status(service)).methods).toMatchObject([
        { method: 'sms', phone_number: '********0100' },
      ]);
      expect((await service.call('GET /api/v0/users/current/')).body.tfa_status).toBe('enabled');
    });
  });

  describe('sending codes (specification 4.8)', () => {
    test('a Bearer email call without secret always makes a fresh challenge, with one it keeps it', async () => {
      const service = start();
      const first = await service.call('POST /api/v0/tfa/email/', {});
      const second = await service.call('POST /api/v0/tfa/email/', {});
      const third = await service.call('POST /api/v0/tfa/email/', { secret: second.body.secret });
      expect(first.body).toMatchObject({ success: true, msg: expect.any(String) });
      expect(second.body.secret).not.toBe(first.body.secret);
      expect(third.body.secret).toBe(second.body.secret);
    });

    test('a resend with the secret keeps the challenge and its ten minutes', async () => {
      const service = start();
      const secret = await smsChallenge(service, PHONE);
      service.advance(500);
      const again = await service.call('POST /api/v0/tfa/sms/resend/', { secret });
      expect(again.body.secret).toBe(secret);
      service.advance(101);
      expect((await service.call('POST /api/v0/tfa/sms/resend/', { secret })).body.error).toBe('2fa_expired');
    });

    test('a resend by Bearer alone returns a new secret', async () => {
      const service = start();
      const secret = await smsChallenge(service, PHONE);
      const again = await service.call('POST /api/v0/tfa/sms/resend/', {});
      expect(again.body.secret).not.toBe(secret);
      expect((await service.call('POST /api/v0/tfa/sms/resend/', { secret })).body.error).toBe(
        'challenge_not_found',
      );
    });

    test('the outbox shows what left, when and where to', async () => {
      const service = start();
      await smsChallenge(service, PHONE);
      const { body } = await service.call('GET /sim/outbox', undefined, { key: null });
      expect(body).toEqual([
        {
          at: service.simulator.now() / 1000,
          channel: 'sms',
          to: PHONE,
          code: expect.stringMatching(/^\d{6}$/),
        },
      ]);
    });

    test('a number is capped over all accounts together', async () => {
      const service = start();
      setTfa(service, { phoneCap: 1 });
      const other = { ...service.user(), id: 999, username: 'other', email: 'other@example.com' };
      service.put('users', other);
      const key = service.addKey({ userId: other.id });
      await service.call('POST /api/v0/tfa/sms/', { phone_number: PHONE }, { key });
      const { body } = await service.call('POST /api/v0/tfa/sms/', { phone_number: PHONE });
      expect(body.error).toBe('preauth_phone_cap');
    });

    test('a TOTP code may be refused after its first use, by a setting', async () => {
      const service = start();
      const { totpSecret } = await addMethod(service, 'totp');
      setTfa(service, { totpSingleUse: true });
      const body = { tfa_method: 'totp', code: totpNow(service, totpSecret) };
      expect((await login(service, body)).body.error).toBe('2fa_verification_failed');
      service.advance(30);
      const next = { tfa_method: 'totp', code: totpNow(service, totpSecret) };
      expect((await login(service, next)).status).toBe(200);
    });
  });
});
