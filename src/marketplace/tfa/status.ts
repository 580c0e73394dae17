/** A method that is set up (specification 2.6). Times are epoch milliseconds. */
export interface TfaMethod {
  readonly id: number;
  /** `sms`, `totp`, or a word that we do not know. */
  readonly method: string;
  readonly label: string | undefined;
  /** Masked. */
  readonly phoneNumber: string | undefined;
  readonly isPrimary: boolean;
  readonly failCount: number;
  /** undefined: not locked. */
  readonly lockedUntil: number | undefined;
  readonly createdAt: number | undefined;
  readonly lastUsedAt: number | undefined;
}

export interface TfaStatus {
  readonly enabled: boolean;
  readonly methods: readonly TfaMethod[];
  readonly backupCodesRemaining: number;
  /** The window of 30 minutes in which a new method can be confirmed. */
  readonly newMethodAuthorized: boolean;
}
