import type { JsonObject } from '../json.ts';
import type { Profile } from '../settings.ts';
import type { User } from '../tables/users.ts';
import { creditMicros } from './ledger.ts';
import type { World } from './world.ts';

/** Returns the user object in the profile's form; a 2FA login answers with it as well. */
export function userRow(world: World, user: User, profile: Profile): JsonObject {
  const specified = {
    id: user.id,
    email: user.email,
    credit: creditMicros(world, user, world.now) / 1e6,
    ssh_key: user.sshKey,
    full_name: user.fullName,
    tfa_status: user.tfaStatus,
  };
  if (profile === 'specification') return specified;
  return {
    ...specified,
    fullname: user.fullName,
    username: user.username,
    balance: 0,
    has_billing: user.hasBilling,
    can_pay: user.hasBilling,
    host_agreement_accepted: false,
    tfa_enabled: user.tfaStatus !== 'disabled',
    email_verified_at: user.emailVerifiedAt === null ? null : user.emailVerifiedAt / 1000,
    phone_number: user.phoneNumber === null ? null : `******${user.phoneNumber.slice(-4)}`,
    billing_creditonly: 0,
    is_admin: user.isAdmin,
  };
}
