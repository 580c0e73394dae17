import type { Json, JsonObject } from '../json.ts';
import type { TfaAccount, TfaMethod } from '../tables/tfa.ts';
import { isAuthorized } from './authorize.ts';
import { backupCodesRemaining } from './backup-codes.ts';
import { epochSeconds, failureCounts } from './lockout.ts';
import type { TfaStatus } from './state.ts';

/** A method as status and update show it (specification 2.6): numbers masked, TOTP secrets never. */
export function methodView(method: TfaMethod, owner: { userId: number; now: number }): JsonObject {
  const phone = method.method === 'sms' ? { phone_number: maskNumber(method.phoneNumber) } : {};
  return {
    id: method.id,
    user_id: owner.userId,
    method: method.method,
    label: method.label,
    ...phone,
    is_primary: method.isPrimary,
    ...failureCounts(method, owner.now),
    created_at: epochSeconds(method.createdAt),
    last_used: epochSeconds(method.lastUsed ?? method.createdAt),
  };
}

/** `GET /tfa/status/`. `tfa_enabled` does not tell `enabled` from `legacy`. */
export function statusView(account: TfaAccount, status: TfaStatus, now: number): JsonObject {
  const methods: Json = account.methods.map((method) => methodView(method, { userId: account.id, now }));
  return {
    success: true,
    tfa_enabled: status !== 'disabled',
    methods,
    backup_codes_remaining: backupCodesRemaining(account.backupCodes),
    new_method_authorized: isAuthorized(account.authorizedUntil, now),
  };
}

/** The last four digits stay visible. */
function maskNumber(phoneNumber: string): string {
  return phoneNumber.slice(-4).padStart(phoneNumber.length, '*');
}
