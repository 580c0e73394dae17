import { describe, expect, test } from 'vitest';
import { type SimulatedService, simulatedService } from '../../../test/builders/simulated-service.ts';
import { addMethod, authorize, PHONE, smsChallenge, totpNow } from '../../../test/builders/tfa-account.ts';

const BACKUP_CODE = /^[A-Z0-9]{4}-[A-Z0-9]{4}-[A-Z0-9]{4}$/;
const status = async (service: SimulatedService) => (await service.call('GET /api/v0/tfa/status/')).body;

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

    test('tfa_method_id alone names the method', async () => {
      const service = start();
      const { id, totpSecret } = await addMethod(service, 'totp');
      const { body } = await service.call('POST /api/v0/tfa/authorize-new-method/', {
        // Public clients send text; the specification shows an integer.
        tfa_method_id: profile === 'public' ? String(id) : id,
      });
      const answer = { code: totpNow(service, totpSecret), secret: body.secret };
      const done = await service.call('PUT /api/v0/tfa/authorize-new-method/', answer);
      expect(done.body).toEqual({ success: true, msg: 'Authorization successful.' });
    });

    test('totp-setup adds nothing and gives a base32 secret with its otpauth URI', async () => {
      const service = start();
      const { body } = await service.call('POST /api/v0/tfa/totp-setup/');
      expect(body.secret).toMatch(/^[A-Z2-7]{40}$/);
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
          last_used: now,
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
});
