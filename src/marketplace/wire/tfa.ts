import * as z from 'zod';
import { Secret } from '../../lib/secret.ts';
import type { TfaMethod, TfaStatus } from '../tfa/status.ts';
import { epochMs, looseBoolean, looseInteger, looseNumber, looseText, wireId } from './scalars.ts';
import { userReply } from './user.ts';

/** A method as status lists it (specification 2.6). */
export const tfaMethodRow = z.object({
  id: wireId,
  method: z.string(),
  label: looseText,
  phone_number: looseText,
  is_primary: looseBoolean,
  fail_count: looseInteger,
  locked_until: looseNumber,
  created_at: looseNumber,
  last_used: looseNumber,
});

export const tfaStatusReply = z.object({
  tfa_enabled: looseBoolean,
  methods: z.array(tfaMethodRow),
  backup_codes_remaining: looseInteger,
  new_method_authorized: looseBoolean,
});

/** Reply of sending a code: the secret of its challenge. */
export const challengeReply = z.object({ secret: z.string().min(1), msg: looseText });

/** Reply of authorizing a new method: a challenge, or done at once by a backup code. */
export const authorizationReply = z.object({ secret: looseText, msg: looseText });

/** Reply of completing a login: the user, and for Bearer callers the session key. */
export const loginReply = userReply.extend({
  session_key: looseText,
  backup_codes_remaining: looseInteger,
  legacy_tfa_user: looseBoolean,
});

export const removedReply = z.object({ remaining_methods: looseInteger, msg: looseText });
export const confirmedReply = z.object({ msg: looseText, backup_codes: z.array(z.string()).optional() });
export const backupCodesReply = z.object({ msg: looseText, backup_codes: z.array(z.string()) });
export const totpSetupReply = z.object({ secret: z.string().min(1), provisioning_uri: z.string() });
export const updatedReply = z.object({ method: tfaMethodRow, msg: looseText });

/** The method in our names and units. */
export function toTfaMethod(row: z.infer<typeof tfaMethodRow>): TfaMethod {
  return {
    id: row.id,
    method: row.method,
    label: row.label,
    phoneNumber: row.phone_number,
    isPrimary: row.is_primary ?? false,
    failCount: row.fail_count ?? 0,
    lockedUntil: epochMs(row.locked_until),
    createdAt: epochMs(row.created_at),
    lastUsedAt: epochMs(row.last_used),
  };
}

/** The status in our names and units. */
export function toTfaStatus(row: z.infer<typeof tfaStatusReply>): TfaStatus {
  return {
    enabled: row.tfa_enabled ?? row.methods.length > 0,
    methods: row.methods.map(toTfaMethod),
    backupCodesRemaining: row.backup_codes_remaining ?? 0,
    newMethodAuthorized: row.new_method_authorized ?? false,
  };
}

/** Codes that are shown once. */
export function toSecrets(codes: readonly string[]): Secret[] {
  return codes.map((code) => new Secret(code));
}
