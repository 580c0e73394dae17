import type { Random } from '../../lib/random.ts';
import type { TfaSettings } from './settings.ts';

/*
 * 2FA of one account as plain data. All times are milliseconds of simulated time since the epoch. The
 * machines of this folder move a draft of it, which `transition.ts` hands out and takes back.
 */

/** What the user object shows as `tfa_status` (specification 2.4). */
export type TfaStatus = 'enabled' | 'disabled' | 'legacy';

interface MethodCommon {
  readonly id: number;
  label: string;
  isPrimary: boolean;
  /** Failed verifications since the last success or the end of the last lockout. */
  failCount: number;
  /** Null when no lockout was imposed since the last success. */
  lockedUntil: number | null;
  readonly createdAt: number;
  /** Null in worlds kept by older versions, for a method that never verified after its confirmation. */
  lastUsed: number | null;
}

export interface SmsMethod extends MethodCommon {
  readonly method: 'sms';
  readonly phoneNumber: string;
}

export interface TotpMethod extends MethodCommon {
  readonly method: 'totp';
  /** Base32; null where the stored secret is missing or cannot be decrypted (`tfa_method_not_configured`). */
  readonly totpSecret: string | null;
  /** The time step of the last code that verified. */
  lastStep: number | null;
}

/** A stored second factor. Email is never stored as one (specification 2.6). */
export type TfaMethod = SmsMethod | TotpMethod;
export type MethodType = TfaMethod['method'];

export interface BackupCode {
  readonly code: string;
  usedAt: number | null;
  /** Set when the whole set was replaced or 2FA was disabled: the row stays, the code is dead. */
  deletedAt: number | null;
}

/** How a challenge is answered. */
export type ChallengeProof =
  /** The password step named the user; no code left yet, so a TOTP code or a send has to follow. */
  | { readonly type: 'login' }
  | { readonly type: 'email'; readonly code: string }
  /** `methodId` null: the number is no method (it is being added, or is a legacy account's own). */
  | {
      readonly type: 'sms';
      readonly code: string;
      readonly phoneNumber: string;
      readonly methodId: number | null;
    }
  | { readonly type: 'totp'; readonly methodId: number };

export interface Challenge {
  readonly secret: string;
  proof: ChallengeProof;
  /** A resend does not move it. */
  readonly createdAt: number;
  /** When the last code left. */
  sentAt: number | null;
}

/** An SMS that was asked for, kept for the rate limits. */
export interface SmsSend {
  readonly at: number;
  readonly phoneNumber: string;
}

/** 2FA of one account; `id` is the user's. Whether it is on stands in the user's row. */
export interface TfaAccount {
  readonly id: number;
  /** `billing_blacklisted=1`: flagged for SMS fraud. */
  billingBlacklisted: boolean;
  methods: TfaMethod[];
  backupCodes: BackupCode[];
  challenges: Challenge[];
  smsSends: SmsSend[];
  /** Secret of the authorization that waits for its code (step 1 done, step 2 not). */
  pendingAuthorization: string | null;
  /** Until when methods may be added. */
  authorizedUntil: number | null;
}

/** A code that left for a person, as `GET /sim/outbox` lists it. */
export interface SentCode {
  readonly id: number;
  readonly at: number;
  readonly channel: 'email' | 'sms';
  readonly to: string;
  readonly code: string;
}

/** What 2FA has to know of a user. */
export interface TfaUser {
  readonly id: number;
  readonly email: string | null;
  readonly emailVerifiedAt: number | null;
  /** The number on file; a legacy account's second factor. */
  readonly phoneNumber: string | null;
  readonly isAdmin: boolean;
}

/** One step of a machine: the draft it moves, and all it may look at. */
export interface TfaStep {
  readonly account: TfaAccount;
  status: TfaStatus;
  readonly user: TfaUser;
  readonly settings: TfaSettings;
  readonly now: number;
  readonly random: Random;
  /** Next id of a method. */
  readonly nextMethodId: () => number;
  /** How often other accounts sent to a number since a time. */
  readonly foreignSends: (phoneNumber: string, since: number) => number;
  /** Codes that this step sends. */
  readonly sent: Omit<SentCode, 'id'>[];
}

/** An account on which 2FA was never set up. */
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

/** The methods of one type, in the order they were added. */
export function methodsOfType(account: TfaAccount, type: MethodType): readonly TfaMethod[] {
  return account.methods.filter(({ method }) => method === type);
}
