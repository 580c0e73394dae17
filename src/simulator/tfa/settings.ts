import * as z from 'zod';
import { amount, count, type Row } from '../tables/row.ts';

/**
 * Every threshold of the 2FA rules. Those of specification 8 stand first; the rest is what the
 * specification leaves open (its section 8, last line), each with a documented default. Times are seconds
 * of simulated time.
 */
export const tfaSettings = z.strictObject({
  /** How long a challenge can be answered (specification 8: 10 minutes). */
  challengeSeconds: amount,
  /** How long a granted authorization lets methods be added (specification 8: 30 minutes). */
  authorizationSeconds: amount,
  /** How long a method stays locked (specification 8: 15 minutes). */
  lockoutSeconds: amount,
  /** Failed verifications of one method that lock it. */
  failuresBeforeLockout: z.int().min(1),
  /** A second SMS to one number within this span is `tfa_challenge_exists`; resend is the way. */
  recentSmsSeconds: amount,
  /** SMS codes one account may ask for within {@link smsWindowSeconds}, then `sms_rate_limited`. */
  smsPerWindow: count,
  smsWindowSeconds: amount,
  /** Authorization attempts that may name one phone number within {@link phoneCapSeconds}, then `preauth_phone_cap`. */
  phoneCap: count,
  phoneCapSeconds: amount,
  /** Methods of one type an account may have, then `duplicate_tfa_method`. */
  methodsPerType: count,
  /** Numbers whose messages the provider fails to deliver: `twilio_error`. */
  undeliverableNumbers: z.array(z.string()),
  /** Numbers whose verification the provider throttles: `twilio_rate_limited`. */
  throttledNumbers: z.array(z.string()),
  /** Numbers blocked for SMS pumping: `sms_blocked_number`. */
  blockedNumbers: z.array(z.string()),
  /** Time steps of 30 s a TOTP code may be off, either way (RFC 6238 5.2 recommends one). */
  totpWindow: z.int().min(0).max(100),
  /**
   * Whether a TOTP code is refused after it verified once (RFC 6238 5.2). Off by default, because public
   * clients repeat 2FA calls whose reply was lost and the specification names no such refusal.
   */
  totpSingleUse: z.boolean(),
  /** How long a session of a completed login lasts. */
  sessionSeconds: amount,
  /** Whether the plain key of an account with 2FA has to log in with a code before it may do anything. */
  requireLogin: z.boolean(),
  /** The store of authorizations does not answer: `service_unavailable`. */
  authorizationStoreDown: z.boolean(),
  /** An authorization (POST authorize-new-method) cannot create its challenge: `challenge_creation_failed`. */
  challengeStoreDown: z.boolean(),
});
export type TfaSettings = Row<typeof tfaSettings>;

export const defaultTfaSettings: TfaSettings = {
  challengeSeconds: 600,
  authorizationSeconds: 1800,
  lockoutSeconds: 900,
  failuresBeforeLockout: 5,
  recentSmsSeconds: 60,
  smsPerWindow: 5,
  smsWindowSeconds: 600,
  phoneCap: 10,
  phoneCapSeconds: 86_400,
  methodsPerType: 5,
  undeliverableNumbers: ['+15005550009'],
  throttledNumbers: ['+15005550003'],
  blockedNumbers: ['+15005550004'],
  totpWindow: 1,
  totpSingleUse: false,
  sessionSeconds: 604_800,
  requireLogin: false,
  authorizationStoreDown: false,
  challengeStoreDown: false,
};

/** How many backup codes are issued at a time (specification 8). */
export const BACKUP_CODES_PER_SET = 10;
