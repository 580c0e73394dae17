import type { CallOptions } from './offers.ts';
import type { User } from './user.ts';

export type { TwoFactorStatus, User } from './user.ts';

/** The account behind the key (specification 4.2). */
export interface UsersResource {
  /** Proves the key and says whose it is. A read: may be repeated. */
  current(options?: CallOptions): Promise<User>;
}
