import type { TfaSettings } from '../../src/simulator/settings.ts';
import type { Answered, SimulatedService } from './simulated-service.ts';
import { totpCode } from './totp.ts';

/** A number that the simulated provider delivers to. */
export const PHONE = '+14155550100';

/** A method that was added, with the backup codes where it was the first. */
export interface AddedMethod {
  readonly id: number;
  readonly totpSecret: string;
  readonly backupCodes: readonly string[];
}

/** Changes 2FA settings of the running service. */
export function setTfa(service: SimulatedService, change: Partial<TfaSettings>): void {
  const world = service.simulator.world();
  const settings = { ...world.settings, tfa: { ...world.settings.tfa, ...change } };
  service.simulator.store.replace({ ...world, settings });
}

/** Returns the code that an authenticator app shows now. */
export function totpNow(service: SimulatedService, secret: string): string {
  return totpCode(secret, service.simulator.now());
}

/** Grants the right to add methods, by email. */
export async function authorize(service: SimulatedService): Promise<void> {
  const { body } = await succeeds(
    service.call('POST /api/v0/tfa/authorize-new-method/', { tfa_method: 'email' }),
  );
  const answer = { code: service.lastCode(), secret: body.secret };
  await succeeds(service.call('PUT /api/v0/tfa/authorize-new-method/', answer));
}

/** Starts an SMS challenge and answers its secret. */
export async function smsChallenge(service: SimulatedService, phone: string): Promise<string> {
  const { body } = await succeeds(service.call('POST /api/v0/tfa/sms/', { phone_number: phone }));
  return body.secret;
}

/** Adds a method the way a person does: authorize, set up, confirm. */
export async function addMethod(
  service: SimulatedService,
  type: 'sms' | 'totp',
  phone = PHONE,
): Promise<AddedMethod> {
  await authorize(service);
  const secret = type === 'sms' ? await smsChallenge(service, phone) : await newTotpSecret(service);
  const code = type === 'sms' ? service.lastCode() : totpNow(service, secret);
  const { body } = await succeeds(
    service.call('POST /api/v0/tfa/confirm-new/', { tfa_method: type, code, secret }),
  );
  const status = await service.call('GET /api/v0/tfa/status/');
  return {
    id: status.body.methods.at(-1).id,
    totpSecret: type === 'totp' ? secret : '',
    backupCodes: body.backup_codes ?? [],
  };
}

async function newTotpSecret(service: SimulatedService): Promise<string> {
  const { body } = await succeeds(service.call('POST /api/v0/tfa/totp-setup/', {}));
  return body.secret;
}

/** Makes the first user a legacy account: 2FA on, a number on file, no method rows. */
export function legacyUser(service: SimulatedService): void {
  service.setUser({ tfaStatus: 'legacy', phoneNumber: PHONE });
}

/** Returns the secret with which a logged-out caller continues after the password step. */
export async function loginSecret(service: SimulatedService): Promise<string> {
  const { body } = await succeeds(
    service.call('POST /sim/login', { username: service.user().username }, { key: null }),
  );
  return body.secret;
}

async function succeeds(call: Promise<Answered>): Promise<Answered> {
  const answered = await call;
  if (answered.status !== 200) throw new Error(`Expected 200: ${JSON.stringify(answered.body)}`);
  return answered;
}
