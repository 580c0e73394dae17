import type { Secret } from '../../lib/secret.ts';

/** How a code reaches its owner. Email is never stored as a method. */
export type CodeMethod = 'sms' | 'email' | 'totp';

/** A code that was sent, by SMS or email: it belongs to a challenge. */
interface SentCode {
  readonly method: 'sms' | 'email';
  /** Six digits. */
  readonly code: string;
  /** Needed where several methods of one kind are set up. */
  readonly methodId?: number;
  readonly backupCode?: never;
}

/** A code of an authenticator: it belongs to no challenge, so it takes no secret (specification 4.8). */
export interface TotpCode {
  readonly method: 'totp';
  readonly code: string;
  readonly methodId?: number;
  readonly secret?: never;
  readonly backupCode?: never;
}

/** One of the ten backup codes, `XXXX-XXXX-XXXX`: it stands alone. */
export interface BackupCode {
  readonly backupCode: string;
  readonly method?: never;
  readonly code?: never;
  readonly methodId?: never;
  readonly secret?: never;
}

/** A sent code of a Bearer caller: the secret that its challenge answered goes with it. */
export type SentCodeWithSecret = SentCode & { readonly secret: Secret };

/** A sent code of a logged-out caller, whose only credential, the secret, is already known. */
export type SentCodeAlone = SentCode & { readonly secret?: never };

/** How a Bearer caller proves the second factor. */
export type BearerVerification = SentCodeWithSecret | TotpCode | BackupCode;

/** How a logged-out caller proves it. */
export type LoggedOutVerification = SentCodeAlone | TotpCode | BackupCode;

/** A verification under its wire names. */
export function toWireVerification(
  verification: BearerVerification | LoggedOutVerification,
): Record<string, unknown> {
  if (verification.backupCode !== undefined) return { backup_code: verification.backupCode };
  return {
    tfa_method: verification.method,
    code: verification.code,
    secret: verification.secret?.reveal(),
    tfa_method_id: verification.methodId,
  };
}
