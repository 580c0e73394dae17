import type { MicroDollars } from '../lib/money.ts';

/** Whether logins of this account need a second factor. `legacy`: set up before methods had rows. */
export type TwoFactorStatus = 'enabled' | 'disabled' | 'legacy' | 'unrecognized';

/** The account behind a key (specification 2.4). */
export interface User {
  readonly id: number;
  readonly email: string | undefined;
  readonly fullName: string | undefined;
  readonly username: string | undefined;
  /** Below zero when the account owes money. */
  readonly credit: MicroDollars | undefined;
  /** The registered public key; undefined where there is none or the service does not say. */
  readonly sshKey: string | undefined;
  /** undefined where the key may not read it. */
  readonly twoFactor: TwoFactorStatus | undefined;
}
