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
  smsChallenge,
  totpNow,
} from '../../../test/builders/tfa-account.ts';

/** The three callers of specification 4.8. */
type Caller = 'secret only' | 'Bearer' | 'Bearer and secret';

interface Shape {
  readonly endpoint: string;
  readonly caller: Caller;
  /** `yes`, or the error if the table forbids the shape. */
  readonly answer: string;
  readonly attempt: (service: SimulatedService) => Promise<Answered>;
}

const LOGGED_OUT = { key: null };

/** Returns a code sent by SMS to the first method, for this challenge. */
async function sentBySms(service: SimulatedService, secret?: string, options = {}) {
  const sent = await service.call('POST /api/v0/tfa/sms/', secret ? { secret } : {}, options);
  return { secret: sent.body.secret, code: service.lastCode() };
}

async function sentByEmail(service: SimulatedService) {
  const sent = await service.call('POST /api/v0/tfa/email/', {});
  return { secret: sent.body.secret, code: service.lastCode() };
}

/** Adds an SMS method whose last SMS was long ago. */
async function withSms(service: SimulatedService): Promise<void> {
  await addMethod(service, 'sms');
  service.advance(61);
}

const NEW_NUMBER = '+14155550177';

const shapes: readonly Shape[] = [
  {
    endpoint: 'POST /tfa/ with SMS',
    caller: 'secret only',
    answer: 'yes',
    attempt: async (service) => {
      await withSms(service);
      const { secret, code } = await sentBySms(service, await loginSecret(service), LOGGED_OUT);
      return service.call('POST /api/v0/tfa/', { tfa_method: 'sms', code, secret }, LOGGED_OUT);
    },
  },
  {
    endpoint: 'POST /tfa/ with TOTP',
    caller: 'secret only',
    answer: 'yes',
    attempt: async (service) => {
      const { totpSecret } = await addMethod(service, 'totp');
      const body = {
        tfa_method: 'totp',
        code: totpNow(service, totpSecret),
        secret: await loginSecret(service),
      };
      return service.call('POST /api/v0/tfa/', body, LOGGED_OUT);
    },
  },
  {
    endpoint: 'POST /tfa/ with TOTP',
    caller: 'Bearer',
    answer: 'yes',
    attempt: async (service) => {
      const { totpSecret } = await addMethod(service, 'totp');
      return service.call('POST /api/v0/tfa/', { tfa_method: 'totp', code: totpNow(service, totpSecret) });
    },
  },
  {
    endpoint: 'POST /tfa/ with SMS',
    caller: 'Bearer and secret',
    answer: 'yes',
    attempt: async (service) => {
      await withSms(service);
      return service.call('POST /api/v0/tfa/', await sentBySms(service));
    },
  },
  {
    endpoint: 'POST /tfa/ with email',
    caller: 'Bearer and secret',
    answer: 'yes',
    attempt: async (service) => {
      await addMethod(service, 'totp');
      return service.call('POST /api/v0/tfa/', { tfa_method: 'email', ...(await sentByEmail(service)) });
    },
  },
  {
    endpoint: 'POST /tfa/ with SMS',
    caller: 'Bearer',
    answer: 'missing_params',
    attempt: async (service) => {
      await withSms(service);
      const { code } = await sentBySms(service);
      return service.call('POST /api/v0/tfa/', { tfa_method: 'sms', code });
    },
  },
  {
    endpoint: 'POST /tfa/email/',
    caller: 'secret only',
    answer: 'yes',
    attempt: async (service) =>
      service.call('POST /api/v0/tfa/email/', { secret: await loginSecret(service) }, LOGGED_OUT),
  },
  {
    endpoint: 'POST /tfa/email/',
    caller: 'Bearer',
    answer: 'yes',
    attempt: (service) => service.call('POST /api/v0/tfa/email/', {}),
  },
  {
    endpoint: 'POST /tfa/email/',
    caller: 'Bearer and secret',
    answer: 'yes',
    attempt: async (service) =>
      service.call('POST /api/v0/tfa/email/', { secret: await loginSecret(service) }),
  },
  {
    endpoint: 'POST /tfa/sms/',
    caller: 'secret only',
    answer: 'yes',
    attempt: async (service) => {
      await withSms(service);
      return service.call('POST /api/v0/tfa/sms/', { secret: await loginSecret(service) }, LOGGED_OUT);
    },
  },
  {
    endpoint: 'POST /tfa/sms/',
    caller: 'Bearer',
    answer: 'yes',
    attempt: (service) => service.call('POST /api/v0/tfa/sms/', { phone_number: PHONE }),
  },
  {
    endpoint: 'POST /tfa/sms/resend/',
    caller: 'secret only',
    answer: 'yes',
    attempt: async (service) => {
      await withSms(service);
      const { secret } = await sentBySms(service, await loginSecret(service), LOGGED_OUT);
      return service.call('POST /api/v0/tfa/sms/resend/', { secret }, LOGGED_OUT);
    },
  },
  {
    endpoint: 'POST /tfa/sms/resend/',
    caller: 'Bearer',
    answer: 'yes',
    attempt: async (service) => {
      await smsChallenge(service, PHONE);
      return service.call('POST /api/v0/tfa/sms/resend/', { phone_number: PHONE });
    },
  },
  {
    endpoint: 'POST /tfa/sms/resend/',
    caller: 'Bearer and secret',
    answer: 'yes',
    attempt: async (service) =>
      service.call('POST /api/v0/tfa/sms/resend/', { secret: await smsChallenge(service, PHONE) }),
  },
  {
    endpoint: 'GET /tfa/status/',
    caller: 'secret only',
    answer: 'auth_error',
    attempt: async (service) =>
      service.call('GET /api/v0/tfa/status/', { secret: await loginSecret(service) }, LOGGED_OUT),
  },
  {
    endpoint: 'GET /tfa/status/',
    caller: 'Bearer',
    answer: 'yes',
    attempt: (service) => service.call('GET /api/v0/tfa/status/'),
  },
  {
    endpoint: 'POST /tfa/authorize-new-method/',
    caller: 'secret only',
    answer: 'auth_error',
    attempt: async (service) =>
      service.call(
        'POST /api/v0/tfa/authorize-new-method/',
        { secret: await loginSecret(service) },
        LOGGED_OUT,
      ),
  },
  {
    endpoint: 'POST /tfa/authorize-new-method/',
    caller: 'Bearer',
    answer: 'yes',
    attempt: (service) => service.call('POST /api/v0/tfa/authorize-new-method/', { tfa_method: 'email' }),
  },
  {
    endpoint: 'PUT /tfa/authorize-new-method/',
    caller: 'secret only',
    answer: 'auth_error',
    attempt: async (service) => {
      const { body } = await service.call('POST /api/v0/tfa/authorize-new-method/', {});
      const answer = { code: service.lastCode(), secret: body.secret };
      return service.call('PUT /api/v0/tfa/authorize-new-method/', answer, LOGGED_OUT);
    },
  },
  {
    endpoint: 'PUT /tfa/authorize-new-method/',
    caller: 'Bearer',
    answer: 'missing_params',
    attempt: async (service) => {
      await service.call('POST /api/v0/tfa/authorize-new-method/', {});
      return service.call('PUT /api/v0/tfa/authorize-new-method/', { code: service.lastCode() });
    },
  },
  {
    endpoint: 'PUT /tfa/authorize-new-method/',
    caller: 'Bearer and secret',
    answer: 'yes',
    attempt: async (service) => {
      const { body } = await service.call('POST /api/v0/tfa/authorize-new-method/', {});
      const answer = { code: service.lastCode(), secret: body.secret };
      return service.call('PUT /api/v0/tfa/authorize-new-method/', answer);
    },
  },
  {
    endpoint: 'POST /tfa/totp-setup/',
    caller: 'secret only',
    answer: 'auth_error',
    attempt: async (service) =>
      service.call('POST /api/v0/tfa/totp-setup/', { secret: await loginSecret(service) }, LOGGED_OUT),
  },
  {
    endpoint: 'POST /tfa/totp-setup/',
    caller: 'Bearer',
    answer: 'yes',
    attempt: (service) => service.call('POST /api/v0/tfa/totp-setup/'),
  },
  {
    endpoint: 'POST /tfa/confirm-new/',
    caller: 'secret only',
    answer: 'auth_error',
    attempt: async (service) => {
      await authorize(service);
      const body = {
        tfa_method: 'sms',
        secret: await smsChallenge(service, PHONE),
        code: service.lastCode(),
      };
      return service.call('POST /api/v0/tfa/confirm-new/', body, LOGGED_OUT);
    },
  },
  {
    endpoint: 'POST /tfa/confirm-new/',
    caller: 'Bearer',
    answer: 'missing_params',
    attempt: async (service) => {
      await authorize(service);
      await smsChallenge(service, PHONE);
      return service.call('POST /api/v0/tfa/confirm-new/', { tfa_method: 'sms', code: service.lastCode() });
    },
  },
  {
    endpoint: 'POST /tfa/confirm-new/',
    caller: 'Bearer and secret',
    answer: 'yes',
    attempt: async (service) => {
      await authorize(service);
      const body = {
        tfa_method: 'sms',
        secret: await smsChallenge(service, PHONE),
        code: service.lastCode(),
      };
      return service.call('POST /api/v0/tfa/confirm-new/', body);
    },
  },
  {
    endpoint: 'DELETE /tfa/ with SMS',
    caller: 'secret only',
    answer: 'auth_error',
    attempt: async (service) => {
      await withSms(service);
      return service.call('DELETE /api/v0/tfa/', await sentBySms(service), LOGGED_OUT);
    },
  },
  {
    endpoint: 'DELETE /tfa/ with TOTP',
    caller: 'Bearer',
    answer: 'yes',
    attempt: async (service) => {
      const { totpSecret } = await addMethod(service, 'totp');
      return service.call('DELETE /api/v0/tfa/', { tfa_method: 'totp', code: totpNow(service, totpSecret) });
    },
  },
  {
    endpoint: 'DELETE /tfa/ with SMS',
    caller: 'Bearer',
    answer: 'missing_params',
    attempt: async (service) => {
      await withSms(service);
      return service.call('DELETE /api/v0/tfa/', { tfa_method: 'sms', code: '123456' });
    },
  },
  {
    endpoint: 'DELETE /tfa/ with SMS',
    caller: 'Bearer and secret',
    answer: 'yes',
    attempt: async (service) => {
      await withSms(service);
      return service.call('DELETE /api/v0/tfa/', { tfa_method: 'sms', ...(await sentBySms(service)) });
    },
  },
  {
    endpoint: 'PUT /tfa/update/',
    caller: 'secret only',
    answer: 'auth_error',
    attempt: async (service) => {
      const body = { tfa_method: 'totp', label: 'x', secret: await loginSecret(service) };
      return service.call('PUT /api/v0/tfa/update/', body, LOGGED_OUT);
    },
  },
  {
    endpoint: 'PUT /tfa/update/',
    caller: 'Bearer',
    answer: 'yes',
    attempt: async (service) => {
      await addMethod(service, 'totp');
      return service.call('PUT /api/v0/tfa/update/', { tfa_method: 'totp', label: 'phone' });
    },
  },
  {
    endpoint: 'PUT /tfa/regen-backup-codes/',
    caller: 'secret only',
    answer: 'auth_error',
    attempt: async (service) => {
      await withSms(service);
      return service.call('PUT /api/v0/tfa/regen-backup-codes/', await sentBySms(service), LOGGED_OUT);
    },
  },
  {
    endpoint: 'PUT /tfa/regen-backup-codes/ with TOTP',
    caller: 'Bearer',
    answer: 'yes',
    attempt: async (service) => {
      const { totpSecret } = await addMethod(service, 'totp');
      const body = { tfa_method: 'totp', code: totpNow(service, totpSecret) };
      return service.call('PUT /api/v0/tfa/regen-backup-codes/', body);
    },
  },
  {
    endpoint: 'PUT /tfa/regen-backup-codes/ with SMS',
    caller: 'Bearer',
    answer: 'missing_params',
    attempt: async (service) => {
      await withSms(service);
      return service.call('PUT /api/v0/tfa/regen-backup-codes/', { tfa_method: 'sms', code: '123456' });
    },
  },
  {
    endpoint: 'PUT /tfa/regen-backup-codes/ with email',
    caller: 'Bearer and secret',
    answer: 'yes',
    attempt: async (service) => {
      await addMethod(service, 'totp');
      const body = { tfa_method: 'email', ...(await sentByEmail(service)) };
      return service.call('PUT /api/v0/tfa/regen-backup-codes/', body);
    },
  },
  {
    endpoint: 'POST /tfa/test/ (deprecated)',
    caller: 'Bearer',
    answer: 'yes',
    attempt: (service) => service.call('POST /api/v0/tfa/test/', { phone_number: PHONE }),
  },
  {
    endpoint: 'POST /tfa/test-submit/ (deprecated)',
    caller: 'Bearer and secret',
    answer: 'yes',
    attempt: async (service) => {
      await authorize(service);
      const secret = await smsChallenge(service, PHONE);
      return service.call('POST /api/v0/tfa/test-submit/', { secret, code: service.lastCode() });
    },
  },
  {
    endpoint: 'POST /tfa/resend/ (deprecated)',
    caller: 'Bearer and secret',
    answer: 'yes',
    attempt: async (service) =>
      service.call('POST /api/v0/tfa/resend/', { secret: await smsChallenge(service, PHONE) }),
  },
];

describe.for(['public', 'specification'] as const)(
  'call shapes of specification 4.8, %s profile',
  (profile) => {
    test.for(shapes)('$endpoint by $caller: $answer', async ({ attempt, answer }) => {
      const { status, body } = await attempt(simulatedService({ profile }));
      if (answer === 'yes') expect({ status, error: body.error }).toEqual({ status: 200, error: undefined });
      else expect(body.error).toBe(answer);
    });
  },
);

describe('who may be sent a code (specification 4.8, prerequisite)', () => {
  const admin = { isAdmin: true, emailVerifiedAt: null };

  test('admin users need no verified email on the two SMS send endpoints', async () => {
    const service = simulatedService();
    service.setUser(admin);
    const sent = await service.call('POST /api/v0/tfa/sms/', { phone_number: PHONE });
    expect(sent.status).toBe(200);
    expect((await service.call('POST /api/v0/tfa/sms/resend/', { secret: sent.body.secret })).status).toBe(
      200,
    );
  });

  test('does not exempt admin users when an email code is sent', async () => {
    const service = simulatedService();
    service.setUser(admin);
    expect((await service.call('POST /api/v0/tfa/email/', {})).body.error).toBe('email_not_verified');
    const first = await service.call('POST /api/v0/tfa/authorize-new-method/', {});
    expect(first.body.error).toBe('email_not_verified');
  });

  test('TOTP and backup-code authorizations need no verified email', async () => {
    const service = simulatedService();
    const { totpSecret, backupCodes } = await addMethod(service, 'totp');
    service.setUser({ emailVerifiedAt: null });
    const path = 'POST /api/v0/tfa/authorize-new-method/';
    const { body } = await service.call(path, { tfa_method: 'totp' });
    const answer = { code: totpNow(service, totpSecret), secret: body.secret };
    expect((await service.call('PUT /api/v0/tfa/authorize-new-method/', answer)).status).toBe(200);
    expect((await service.call(path, { backup_code: backupCodes[0] })).status).toBe(200);
  });

  test('an SMS authorization needs a verified email', async () => {
    const service = simulatedService();
    await withSms(service);
    service.setUser({ emailVerifiedAt: null });
    const { body } = await service.call('POST /api/v0/tfa/authorize-new-method/', { tfa_method: 'sms' });
    expect(body.error).toBe('email_not_verified');
  });

  test('a logged-out caller reaches only numbers that the account already has', async () => {
    const service = simulatedService();
    await withSms(service);
    const body = { secret: await loginSecret(service), phone_number: NEW_NUMBER };
    const { body: answered } = await service.call('POST /api/v0/tfa/sms/', body, LOGGED_OUT);
    expect(answered.error).toBe('phone_number_mismatch');
  });

  test('team context is refused for a logged-out caller too', async () => {
    const service = simulatedService();
    const secret = await loginSecret(service);
    service.setUser({ inTeam: true });
    const { status, body } = await service.call('POST /api/v0/tfa/email/', { secret }, LOGGED_OUT);
    expect({ status, error: body.error }).toEqual({ status: 403, error: 'team_user_forbidden' });
  });

  test('a legacy account answers an SMS to its number on file', async () => {
    const service = simulatedService();
    legacyUser(service);
    const { status, body } = await service.call('POST /api/v0/tfa/', await sentBySms(service));
    expect({ status, legacy: body.legacy_tfa_user }).toEqual({ status: 200, legacy: true });
  });
});
