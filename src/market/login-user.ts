import type { MicroDollars } from '../lib/money.ts';
import type { MarketplaceId } from './ids.ts';

/** Whether logins of this account need a second factor. `legacy`: set up before methods had rows. */
export type TwoFactorStatus = 'enabled' | 'disabled' | 'legacy' | 'unrecognized';

/** The user behind a key. */
export interface LoginUser {
  readonly id: MarketplaceId;
  /** Below zero when the account owes money. */
  readonly credit: MicroDollars | undefined;
  /** The registered public key; undefined if there is none or the market does not say. */
  readonly sshKey: string | undefined;
  /** undefined if the key may not read it. */
  readonly twoFactor: TwoFactorStatus | undefined;
}
