import { Secret, TOTP } from 'otpauth';

const STEP_MS = 30_000;
const ISSUER = 'GPU Rental';
const BASE32_SECRET = /^[A-Z2-7]{16,128}=*$/;

/** Whether a string can serve as a TOTP secret: base32 of at least 80 bits. */
export function isTotpSecret(secret: string): boolean {
  return BASE32_SECRET.test(secret);
}

/** The otpauth URI that authenticator apps scan (SHA-1, 6 digits, 30 s: the defaults of RFC 6238). */
export function provisioningUri(secret: string, account: string): string {
  return new TOTP({ issuer: ISSUER, label: account, secret: Secret.fromBase32(secret) }).toString();
}

/** The six digits of a moment (milliseconds since the epoch). */
export function totpCode(secret: string, at: number): string {
  return TOTP.generate({ secret: Secret.fromBase32(secret), timestamp: at });
}

/**
 * The time step whose code this is, within `window` steps of `at` either way; undefined where it is none.
 * RFC 6238 section 5.2.
 */
export function totpStep(
  secret: string,
  attempt: { code: string; at: number; window: number },
): number | undefined {
  const delta = TOTP.validate({
    token: attempt.code,
    secret: Secret.fromBase32(secret),
    timestamp: attempt.at,
    window: attempt.window,
  });
  return delta === null ? undefined : Math.floor(attempt.at / STEP_MS) + delta;
}
