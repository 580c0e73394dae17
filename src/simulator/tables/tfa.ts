import * as z from 'zod';
import { count, type Row, rowId, time } from './row.ts';

/* 2FA of one account. The functions of `tfa/` change a copy, a {@link MutableTfaAccount}. */

const commonFields = {
  id: rowId,
  label: z.string(),
  isPrimary: z.boolean(),
  /** Failed verifications since the last success or the end of the last lockout. */
  failCount: count,
  /** Null if no lockout was imposed since the last success. */
  lockedUntil: time.nullable(),
  createdAt: time,
  /** Null in worlds of older versions, for a method that never verified after its confirmation. */
  lastUsed: time.nullable(),
};

const smsMethod = z.strictObject({ ...commonFields, method: z.literal('sms'), phoneNumber: z.string() });
export type SmsMethod = z.infer<typeof smsMethod>;

const totpMethod = z.strictObject({
  ...commonFields,
  method: z.literal('totp'),
  /** Base32; null if the stored secret is missing or cannot be decrypted (`tfa_method_not_configured`). */
  totpSecret: z.string().nullable(),
  /** The time step of the last code that verified. */
  lastStep: z.number().nullable(),
});
export type TotpMethod = z.infer<typeof totpMethod>;

/** A stored second factor. Email is never stored as one (specification 2.6). */
export type TfaMethod = SmsMethod | TotpMethod;
export type MethodType = TfaMethod['method'];

const backupCodeRow = z.strictObject({
  code: z.string(),
  usedAt: time.nullable(),
  /** Set when the whole set was replaced or 2FA was disabled: the row stays, the code is invalid. */
  deletedAt: time.nullable(),
});
export type BackupCode = z.infer<typeof backupCodeRow>;

/** Ways to answer a challenge. */
const proof = z.discriminatedUnion('type', [
  /** The password step identified the user; no code was sent yet, so a TOTP code or a send must follow. */
  z.strictObject({ type: z.literal('login') }),
  z.strictObject({ type: z.literal('email'), code: z.string() }),
  z.strictObject({
    type: z.literal('sms'),
    code: z.string(),
    phoneNumber: z.string(),
    /** Null: the number is no method (it is being added, or is a legacy account's own). */
    methodId: rowId.nullable(),
  }),
  z.strictObject({ type: z.literal('totp'), methodId: rowId }),
]);
export type ChallengeProof = z.infer<typeof proof>;

const challenge = z.strictObject({
  secret: z.string(),
  proof,
  /** A resend does not change it. */
  createdAt: time,
  /** Time of the last sent code. */
  sentAt: time.nullable(),
});
export type Challenge = z.infer<typeof challenge>;

/** 2FA of one account; `id` is the user's. The user's row holds whether it is enabled. */
export const tfaAccountRow = z.strictObject({
  id: rowId,
  /** `billing_blacklisted=1`: flagged for SMS fraud. */
  billingBlacklisted: z.boolean(),
  methods: z.array(z.discriminatedUnion('method', [smsMethod, totpMethod])),
  backupCodes: z.array(backupCodeRow),
  challenges: z.array(challenge),
  /** Every requested SMS, kept for the rate limits. */
  smsSends: z.array(z.strictObject({ at: time, phoneNumber: z.string() })),
  /** Secret of the authorization that waits for its code (step 1 done, step 2 not). */
  pendingAuthorization: z.string().nullable(),
  /** Time until which methods may be added. */
  authorizedUntil: time.nullable(),
});
export type TfaAccount = Row<typeof tfaAccountRow>;
/** A copy of an account that may be changed. */
export type MutableTfaAccount = z.infer<typeof tfaAccountRow>;

/** A code that was sent to a person, in `GET /sim/outbox`. */
export const sentCodeRow = z.strictObject({
  id: rowId,
  at: time,
  channel: z.enum(['email', 'sms']),
  to: z.string(),
  code: z.string(),
});
export type SentCode = Row<typeof sentCodeRow>;

/** Returns an account on which 2FA was never set up. */
export function newTfaAccount(userId: number): TfaAccount {
  return {
    id: userId,
    billingBlacklisted: false,
    methods: [],
    backupCodes: [],
    challenges: [],
    smsSends: [],
    pendingAuthorization: null,
    authorizedUntil: null,
  };
}
