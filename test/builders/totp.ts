import { Secret, TOTP } from 'otpauth';

/** The six digits that an authenticator app shows at a moment (milliseconds since the epoch). */
export function totpCode(secret: string, at: number): string {
  return TOTP.generate({ secret: Secret.fromBase32(secret), timestamp: at });
}
