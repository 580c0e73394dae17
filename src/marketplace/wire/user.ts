import * as z from 'zod';
import type { TwoFactorStatus, User } from '../user.ts';
import { looseNumber, looseText, wireId } from './scalars.ts';

/** The user object (specification 2.4), without the keys it may contain. */
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

/** The user in our names and units. */
export function toUser(row: WireUser): User {
  return {
    id: row.id,
    email: row.email,
    username: row.username,
    fullName: row.full_name ?? row.fullname,
    credit: row.credit === undefined ? undefined : Math.round(row.credit * 1_000_000),
    sshKey: row.ssh_key?.trim() || undefined,
    twoFactor: row.tfa_status === undefined ? undefined : (TWO_FACTOR.get(row.tfa_status) ?? 'unrecognized'),
  };
}
