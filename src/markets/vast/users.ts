import * as z from 'zod';
import type { CallOptions } from '../../market/call-options.ts';
import type { LoginUser, TwoFactorStatus } from '../../market/login-user.ts';
import type { Requester } from './http/call.ts';
import { toId } from './ids.ts';
import { looseNumber, looseText, wireId } from './scalars.ts';

/** The account behind a key (specification 2.4). */
export interface User extends LoginUser {
  readonly email: string | undefined;
  readonly fullName: string | undefined;
  readonly username: string | undefined;
}

/** The user object (specification 2.4), without the keys that it may contain. */
export const userReply = z.object({
  id: wireId,
  email: looseText,
  username: looseText,
  full_name: looseText,
  fullname: looseText,
  credit: looseNumber,
  ssh_key: looseText,
  tfa_status: looseText,
});

/** A user in wire names. */
export type WireUser = z.infer<typeof userReply>;

const TWO_FACTOR: ReadonlyMap<string, TwoFactorStatus> = new Map([
  ['enabled', 'enabled'],
  ['disabled', 'disabled'],
  ['legacy', 'legacy'],
]);

/** Returns the user in this program's names and units. */
export function toUser(row: WireUser): User {
  return {
    id: toId(row.id),
    email: row.email,
    username: row.username,
    fullName: row.full_name ?? row.fullname,
    credit: row.credit === undefined ? undefined : Math.round(row.credit * 1_000_000),
    sshKey: row.ssh_key?.trim() || undefined,
    twoFactor: row.tfa_status === undefined ? undefined : (TWO_FACTOR.get(row.tfa_status) ?? 'unrecognized'),
  };
}

/** The account behind the key (specification 4.2). */
export interface UsersResource {
  /** Verifies the key and returns its user. A read: may be repeated. */
  current(options?: CallOptions): Promise<User>;
}

/** Returns the account over one requester. */
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
