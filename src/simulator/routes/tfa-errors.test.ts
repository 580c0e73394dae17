import { describe, expect, test } from 'vitest';
import {
  type Answered,
  type SimulatedService,
  simulatedService,
} from '../../../test/builders/simulated-service.ts';
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
import { tfaErrorStatus } from '../tfa/step.ts';

/** A way to provoke an error: the set-up, and the refused call. */
interface Row {
  readonly code: keyof typeof tfaErrorStatus;
  readonly when: string;
  readonly status?: number;
  readonly provoke: (service: SimulatedService) => Promise<Answered>;
}

const NEW_TOTP = 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP';

const rows: readonly Row[] = [
  {
    code: 'bad_request',
    when: 'the body is malformed JSON',
    provoke: (service) => service.call('POST /api/v0/tfa/email/', undefined, { rawBody: '{"secret":' }),
  },
  {
    code: 'bad_request',
    when: 'a field has the wrong type',
    provoke: (service) => service.call('POST /api/v0/tfa/', { code: 123456 }),
  },
  {
    code: 'bad_request',
    when: 'the code has not six digits',
    provoke: (service) => service.call('POST /api/v0/tfa/', { code: '12345', secret: 'x' }),
  },
  {
    code: 'bad_request',
    when: 'the phone number is not E.164',
    provoke: (service) => service.call('POST /api/v0/tfa/sms/', { phone_number: '555-0100' }),
  },
  {
    code: 'bad_request',
    when: 'confirm-new lacks its tfa_method',
    provoke: (service) => service.call('POST /api/v0/tfa/confirm-new/', { code: '123456', secret: 'x' }),
  },
  {
    code: 'bad_request',
    when: 'a label has more than 30 characters',
    provoke: (service) =>
      service.call('PUT /api/v0/tfa/update/', { tfa_method_id: 1, label: 'x'.repeat(31) }),
  },
  {
    code: 'bad_request',
    when: 'a backup code comes without target_id',
    provoke: async (service) => {
      const { backupCodes } = await addMethod(service, 'totp');
      return service.call('DELETE /api/v0/tfa/', { backup_code: backupCodes[0] });
    },
  },
  {
    code: 'bad_request',
    when: 'a backup code comes without target_id, on an account without 2FA',
    provoke: (service) => service.call('DELETE /api/v0/tfa/', { backup_code: 'AAAA-BBBB-CCCC' }),
  },
  {
    code: 'missing_auth_value',
    when: 'new backup codes are asked for without any, on an account without 2FA',
    provoke: (service) => service.call('PUT /api/v0/tfa/regen-backup-codes/', {}),
  },
  {
    code: 'auth_error',
    when: 'a login comes with a Bearer token that is worth nothing, and no secret',
    provoke: (service) => service.call('POST /api/v0/tfa/', { code: '123456' }, { key: 'nobody' }),
  },
  {
    code: 'auth_error',
    when: 'status is asked without a Bearer token',
    provoke: (service) => service.call('GET /api/v0/tfa/status/', undefined, { key: null }),
  },
  {
    code: 'auth_error',
    when: 'a code is asked for with neither a Bearer token nor a secret',
    provoke: (service) => service.call('POST /api/v0/tfa/sms/', {}, { key: null }),
  },
  {
    code: 'auth_error',
    when: 'the session has expired',
    provoke: async (service) => {
      const session = service.addKey({ session: true, expiresAt: service.simulator.now() + 1000 });
      service.advance(2);
      return service.call('GET /api/v0/tfa/status/', undefined, { key: session });
    },
  },
  {
    code: 'invalid_tfa_method',
    when: 'the method is none that exists',
    provoke: async (service) => {
      await addMethod(service, 'totp');
      return service.call('POST /api/v0/tfa/', { tfa_method: 'pigeon', code: '123456' });
    },
  },
  {
    code: 'invalid_tfa_method',
    when: 'the method is none that exists, on an account without 2FA',
    provoke: (service) => service.call('POST /api/v0/tfa/', { tfa_method: 'pigeon', code: '123456' }),
  },
  {
    code: 'invalid_tfa_method',
    when: 'email is to be added as a method',
    provoke: (service) =>
      service.call('POST /api/v0/tfa/confirm-new/', { tfa_method: 'email', code: '123456', secret: 'x' }),
  },
  {
    code: 'missing_auth_value',
    when: 'neither code nor backup code comes',
    provoke: (service) => service.call('POST /api/v0/tfa/', { tfa_method: 'totp' }),
  },
  {
    code: 'missing_auth_value',
    when: 'both secret and Bearer token are missing',
    status: 401,
    provoke: (service) => service.call('POST /api/v0/tfa/', { code: '123456' }, { key: null }),
  },
  {
    code: 'missing_params',
    when: 'the authorization step lacks code and secret',
    provoke: (service) => service.call('PUT /api/v0/tfa/authorize-new-method/', {}),
  },
  {
    code: 'missing_params',
    when: 'an SMS code comes without the secret of its challenge',
    provoke: async (service) => {
      await addMethod(service, 'sms');
      return service.call('POST /api/v0/tfa/', { tfa_method: 'sms', code: '123456' });
    },
  },
  {
    code: 'email_not_verified',
    when: 'an email code is asked for on an unverified address',
    provoke: (service) => {
      service.setUser({ emailVerifiedAt: null });
      return service.call('POST /api/v0/tfa/email/', {});
    },
  },
  {
    code: 'email_not_verified',
    when: 'an SMS is asked for on an unverified address',
    provoke: (service) => {
      service.setUser({ emailVerifiedAt: null });
      return service.call('POST /api/v0/tfa/sms/', { phone_number: PHONE });
    },
  },
  {
    code: '2fa_expired',
    when: 'the challenge is older than 10 minutes',
    provoke: async (service) => {
      const { body } = await service.call('POST /api/v0/tfa/authorize-new-method/', { tfa_method: 'email' });
      service.advance(601);
      return service.call('PUT /api/v0/tfa/authorize-new-method/', {
        code: service.lastCode(),
        secret: body.secret,
      });
    },
  },
  {
    code: '2fa_expired',
    when: 'a logged-out caller answers by authenticator after ten minutes',
    provoke: async (service) => {
      const { totpSecret } = await addMethod(service, 'totp');
      const secret = await loginSecret(service);
      service.advance(601);
      const code = totpNow(service, totpSecret);
      return service.call('POST /api/v0/tfa/', { tfa_method: 'totp', code, secret }, { key: null });
    },
  },
  {
    code: 'challenge_not_found',
    when: 'the secret belongs to no challenge',
    provoke: (service) => service.call('POST /api/v0/tfa/sms/', { secret: 'nobody' }, { key: null }),
  },
  {
    code: 'no_challenge_found',
    when: 'a resend has nothing to send again',
    provoke: (service) => service.call('POST /api/v0/tfa/sms/resend/', {}),
  },
  {
    code: 'tfa_challenge_exists',
    when: 'a code to that number is recent',
    provoke: async (service) => {
      await service.call('POST /api/v0/tfa/sms/', { phone_number: PHONE });
      return service.call('POST /api/v0/tfa/sms/', { phone_number: PHONE });
    },
  },
  {
    code: 'authorization_required',
    when: 'a method is added without authorization',
    provoke: (service) =>
      service.call('POST /api/v0/tfa/confirm-new/', { tfa_method: 'totp', code: '123456', secret: NEW_TOTP }),
  },
  {
    code: 'authorization_required',
    when: 'the authorization is older than 30 minutes',
    provoke: async (service) => {
      await authorize(service);
      service.advance(1801);
      const code = totpNow(service, NEW_TOTP);
      return service.call('POST /api/v0/tfa/confirm-new/', { tfa_method: 'totp', code, secret: NEW_TOTP });
    },
  },
  {
    code: 'no_pending_authorization',
    when: 'step 2 comes without step 1',
    provoke: (service) =>
      service.call('PUT /api/v0/tfa/authorize-new-method/', { code: '123456', secret: 'x' }),
  },
  {
    code: 'invalid_backup_code',
    when: 'the account has no codes at all',
    provoke: (service) => service.call('POST /api/v0/tfa/', { backup_code: 'AAAA-BBBB-CCCC' }),
  },
  {
    code: 'invalid_backup_code',
    when: 'the backup code was used before',
    provoke: async (service) => {
      const { backupCodes } = await addMethod(service, 'totp');
      await service.call('POST /api/v0/tfa/', { backup_code: backupCodes[0] });
      return service.call('POST /api/v0/tfa/', { backup_code: backupCodes[0] });
    },
  },
  {
    code: 'untracked_2fa_found',
    when: 'a legacy account uses the deprecated test-submit path',
    provoke: (service) => {
      legacyUser(service);
      return service.call('POST /api/v0/tfa/test-submit/', { code: '123456', secret: 'x' });
    },
  },
  {
    code: 'duplicate_tfa_method',
    when: 'the number is already a method',
    provoke: async (service) => {
      await addMethod(service, 'sms');
      service.advance(61);
      await authorize(service);
      service.advance(61);
      const secret = await smsChallenge(service, PHONE);
      return service.call('POST /api/v0/tfa/confirm-new/', {
        tfa_method: 'sms',
        code: service.lastCode(),
        secret,
      });
    },
  },
  {
    code: 'twilio_error',
    when: 'the provider cannot deliver to the number',
    provoke: (service) => service.call('POST /api/v0/tfa/sms/', { phone_number: '+15005550009' }),
  },
  {
    code: 'preauth_phone_cap',
    when: 'the number was used in too many attempts',
    provoke: async (service) => {
      setTfa(service, { phoneCap: 2, recentSmsSeconds: 0 });
      await service.call('POST /api/v0/tfa/sms/', { phone_number: PHONE });
      service.advance(1);
      await service.call('POST /api/v0/tfa/sms/', { phone_number: PHONE });
      service.advance(1);
      return service.call('POST /api/v0/tfa/sms/', { phone_number: PHONE });
    },
  },
  {
    code: 'sms_rate_limited',
    when: 'too many SMS codes were asked for',
    provoke: async (service) => {
      for (let attempt = 0; attempt < 5; attempt += 1) {
        await service.call('POST /api/v0/tfa/sms/', { phone_number: PHONE });
        service.advance(61);
      }
      return service.call('POST /api/v0/tfa/sms/', { phone_number: PHONE });
    },
  },
  {
    code: 'twilio_rate_limited',
    when: 'the provider throttles the number',
    provoke: (service) => service.call('POST /api/v0/tfa/sms/', { phone_number: '+15005550003' }),
  },
  {
    code: 'tfa_locked',
    when: 'the method had too many failed verifications',
    provoke: async (service) => {
      const { totpSecret } = await addMethod(service, 'totp');
      for (let attempt = 0; attempt < 5; attempt += 1) {
        await service.call('POST /api/v0/tfa/', { tfa_method: 'totp', code: '000000' });
      }
      return service.call('POST /api/v0/tfa/', { tfa_method: 'totp', code: totpNow(service, totpSecret) });
    },
  },
  {
    code: 'service_unavailable',
    when: 'the store of authorizations does not answer',
    provoke: (service) => {
      setTfa(service, { authorizationStoreDown: true });
      return service.call('POST /api/v0/tfa/confirm-new/', {
        tfa_method: 'totp',
        code: '123456',
        secret: NEW_TOTP,
      });
    },
  },
  {
    code: 'phone_number_mismatch',
    when: 'a resend names another number than the challenge',
    provoke: async (service) => {
      const secret = await smsChallenge(service, PHONE);
      return service.call('POST /api/v0/tfa/sms/resend/', { secret, phone_number: '+14155550199' });
    },
  },
  {
    code: '2fa_login_failed',
    when: 'an emailed code is wrong',
    provoke: async (service) => {
      await addMethod(service, 'totp');
      const { body } = await service.call('POST /api/v0/tfa/email/', {});
      const code = service.lastCode() === '000000' ? '000001' : '000000';
      return service.call('POST /api/v0/tfa/', { tfa_method: 'email', code, secret: body.secret });
    },
  },
  {
    code: '2fa_login_failed',
    when: '2FA is not set up',
    provoke: (service) => service.call('POST /api/v0/tfa/', { tfa_method: 'totp', code: '123456' }),
  },
  {
    code: '2fa_verification_failed',
    when: 'the code of a configured method is wrong',
    provoke: async (service) => {
      await addMethod(service, 'totp');
      return service.call('POST /api/v0/tfa/', { tfa_method: 'totp', code: '000000' });
    },
  },
  {
    code: 'team_user_forbidden',
    when: 'the call comes from a team context',
    provoke: (service) => {
      service.setUser({ inTeam: true });
      return service.call('GET /api/v0/tfa/status/');
    },
  },
  {
    code: 'missing_email',
    when: 'the account has no email address',
    provoke: (service) => {
      service.setUser({ email: null, emailVerifiedAt: null });
      return service.call('POST /api/v0/tfa/email/', {});
    },
  },
  {
    code: 'missing_phone_number',
    when: 'no number is given and none is on file',
    provoke: (service) => service.call('POST /api/v0/tfa/sms/', {}),
  },
  {
    code: 'not_found',
    when: 'tfa_method_id matches no method',
    provoke: (service) => service.call('PUT /api/v0/tfa/update/', { tfa_method_id: 99, label: 'x' }),
  },
  {
    code: 'tfa_method_not_configured',
    when: 'the account has no TOTP method',
    provoke: async (service) => {
      await addMethod(service, 'sms');
      return service.call('POST /api/v0/tfa/', { tfa_method: 'totp', code: '123456' });
    },
  },
  {
    code: 'challenge_creation_failed',
    when: 'the store of challenges takes no new one',
    provoke: (service) => {
      setTfa(service, { challengeStoreDown: true });
      return service.call('POST /api/v0/tfa/authorize-new-method/', { tfa_method: 'email' });
    },
  },
  {
    code: 'sms_blocked_number',
    when: 'the number is blocked',
    provoke: (service) => service.call('POST /api/v0/tfa/sms/', { phone_number: '+15005550004' }),
  },
  {
    code: 'sms_fraud_detected',
    when: 'the account is flagged for SMS fraud',
    provoke: async (service) => {
      await loginSecret(service);
      const account = service.simulator.world().tables.tfaAccounts[service.user().id];
      if (account) service.put('tfaAccounts', { ...account, billingBlacklisted: true });
      return service.call('POST /api/v0/tfa/sms/', { phone_number: PHONE });
    },
  },
];

describe.for(['public', 'specification'] as const)(
  'each 2FA error of specification 7, %s profile',
  (profile) => {
    test.for(rows)('$code when $when', async ({ code, status, provoke }) => {
      const answered = await provoke(simulatedService({ profile }));
      expect({ status: answered.status, error: answered.body.error }).toEqual({
        status: status ?? tfaErrorStatus[code],
        error: code,
      });
      expect(answered.body.msg).toMatch(/\S/);
    });

    test('every code of the catalogue is provoked by a row', () => {
      const provoked = new Set<string>(rows.map(({ code }) => code));
      expect(Object.keys(tfaErrorStatus).filter((code) => !provoked.has(code))).toEqual([]);
    });

    test('tfa_locked and 2fa_verification_failed carry fail_count and locked_until', async () => {
      const service = simulatedService({ profile });
      await addMethod(service, 'totp');
      const wrong = () => service.call('POST /api/v0/tfa/', { tfa_method: 'totp', code: '000000' });
      expect((await wrong()).body).toMatchObject({ fail_count: 1, locked_until: null });
      for (let attempt = 0; attempt < 3; attempt += 1) await wrong();
      const lockedUntil = Math.floor(service.simulator.now() / 1000) + 900;
      expect((await wrong()).body).toMatchObject({ fail_count: 5, locked_until: lockedUntil });
      const locked = await wrong();
      expect(locked.body).toMatchObject({ error: 'tfa_locked', fail_count: 5, locked_until: lockedUntil });
    });
  },
);
