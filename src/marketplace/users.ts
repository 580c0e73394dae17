import type { Requester } from './http/request.ts';
import type { CallOptions } from './offers/offers.ts';
import type { User } from './user.ts';
import { toUser, userReply } from './wire/user.ts';

export type { TwoFactorStatus, User } from './user.ts';

/** The account behind the key (specification 4.2). */
export interface UsersResource {
  /** Proves the key and says whose it is. A read: may be repeated. */
  current(options?: CallOptions): Promise<User>;
}

/** The account over one requester. */
export function createUsers(requester: Requester): UsersResource {
  return {
    async current(options) {
      const { value } = await requester.send({
        operation: 'read the current user',
        endpointClass: 'account',
        area: 'account',
        effect: 'read',
        method: 'GET',
        path: '/api/v0/users/current/',
        reply: userReply,
        bounds: options,
      });
      return toUser(value);
    },
  };
}
