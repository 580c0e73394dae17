import { describe, expect, test } from 'vitest';
import { type SimulatedService, simulatedService } from '../../../test/builders/simulated-service.ts';
import {
  addMethod,
  legacyUser,
  PHONE,
  setTfa,
  smsChallenge,
  totpNow,
} from '../../../test/builders/tfa-account.ts';

const status = async (service: SimulatedService) => (await service.call('GET /api/v0/tfa/status/')).body;
const login = (service: SimulatedService, body: object) => service.call('POST /api/v0/tfa/', body);

describe.for(['public', 'specification'] as const)('2FA, %s profile', (profile) => {
  const start = () => simulatedService({ profile });

  describe('removing a method (specification 3.3, 4.8)', () => {
    test('returns remaining_methods while methods remain', async () => {
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
