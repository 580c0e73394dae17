import type { MicroDollars } from '../lib/money.ts';
import type { MarketplaceId } from './ids.ts';

/** Second factor of the account's logins. `legacy`: set up before methods had rows. */
export type TwoFactorStatus = 'enabled' | 'disabled' | 'legacy' | 'unrecognized';

/** The user behind a key. */
export interface LoginUser {
  readonly id: MarketplaceId;
  /** Credit in micro-dollars, negative if the account owes money. */
  readonly credit: MicroDollars | undefined;
  /** Registered public key; undefined if there is none or the market does not report it. */
  readonly sshKey: string | undefined;
  /** Undefined if the key may not read it. */
  readonly twoFactor: TwoFactorStatus | undefined;
}
