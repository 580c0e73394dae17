import { Secret, TOTP } from 'otpauth';

/** Returns the six digits that an authenticator app shows at a time (milliseconds since the epoch). */
export function totpCode(secret: string, at: number): string {
  return TOTP.generate({ secret: Secret.fromBase32(secret), timestamp: at });
}
