import * as z from 'zod';
import { Secret } from '../../../lib/secret.ts';
import type { CallOptions } from '../../../market/call-options.ts';
import type { MarketplaceId } from '../../../market/ids.ts';
import { type ChangeAnswer, changeReply, type Requester } from '../http/call.ts';
import { toId, toOptionalWireId } from '../ids.ts';
import { epochMs, looseBoolean, looseInteger, looseNumber, looseText, wireId } from '../scalars.ts';
import {
  type BackupCode,
  type BearerVerification,
  type CodeMethod,
  type SentCodeWithSecret,
  sendTfa,
  type TotpCode,
  toWireVerification,
} from './login.ts';

/** A configured method (specification 2.6). Times are epoch milliseconds. */
export interface TfaMethod {
  readonly id: MarketplaceId;
  /** `sms`, `totp`, or an unknown word. */
  readonly method: string;
  readonly label: string | undefined;
  /** Masked. */
  readonly phoneNumber: string | undefined;
  readonly isPrimary: boolean;
  readonly failCount: number;
  /** Undefined: not locked. */
  readonly lockedUntil: number | undefined;
  readonly createdAt: number | undefined;
  readonly lastUsedAt: number | undefined;
}

export interface TfaStatus {
  readonly enabled: boolean;
  readonly methods: readonly TfaMethod[];
  readonly backupCodesRemaining: number;
  /** The window of 30 minutes in which a new method can be confirmed. */
  readonly newMethodAuthorized: boolean;
}

/**
 * Step 1 of adding a method: by a code that is sent or shown, or by a backup code. A configured method may be named by
 * its id alone (specification 4.8). An account without methods always gets an email.
 */
export type AuthorizationRequest =
  | {
      readonly method: CodeMethod;
      readonly methodId?: MarketplaceId;
      readonly backupCode?: never;
      readonly secret?: never;
    }
  | {
      readonly methodId: MarketplaceId;
      readonly method?: never;
      readonly backupCode?: never;
      readonly secret?: never;
    }
  | BackupCode;

export type Authorization =
  | { readonly type: 'challenge'; readonly secret: Secret }
  | { readonly type: 'authorized'; readonly message: string | undefined };

/**
 * Confirming a new method always needs a secret: that of the SMS challenge, or the base32 secret of the TOTP set-up.
 */
export type ConfirmRequest =
  | {
      readonly method: 'sms';
      readonly code: string;
      readonly secret: Secret;
      readonly phoneNumber?: string;
      readonly label?: string;
    }
  | {
      readonly method: 'totp';
      readonly code: string;
      readonly secret: Secret;
      readonly phoneNumber?: never;
      readonly label?: string;
    };

export interface Confirmation {
  readonly message: string | undefined;
  /** Only with the first method; only shown in this reply. */
  readonly backupCodes: readonly Secret[] | undefined;
}

/** A code removes the method that verifies, unless another is named; a backup code must name one. */
export type RemoveRequest =
  | ((SentCodeWithSecret | TotpCode) & { readonly targetId?: MarketplaceId })
  | (BackupCode & { readonly targetId: MarketplaceId });

export interface Removal {
  /** Undefined: it was the last one, and 2FA is off. */
  readonly remainingMethods: number | undefined;
  readonly message: string | undefined;
}

/** Email is no stored method, so it cannot be changed. */
export type UpdateRequest = (
  | { readonly methodId: MarketplaceId; readonly method?: never }
  | { readonly method: 'sms' | 'totp'; readonly methodId?: never }
) & { readonly label?: string; readonly isPrimary?: boolean };

/** A method in the status (specification 2.6). */
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

/** Reply of authorizing a new method: a challenge, or completed at once by a backup code. */
export const authorizationReply = z.object({ secret: looseText, msg: looseText });

export const removedReply = z.object({ remaining_methods: looseInteger, msg: looseText });
export const confirmedReply = z.object({ msg: looseText, backup_codes: z.array(z.string()).optional() });
export const backupCodesReply = z.object({ msg: looseText, backup_codes: z.array(z.string()) });
export const totpSetupReply = z.object({ secret: z.string().min(1), provisioning_uri: z.string() });
export const updatedReply = z.object({ method: tfaMethodRow, msg: looseText });

/** Returns the method in this program's names and units. */
export function toTfaMethod(row: z.infer<typeof tfaMethodRow>): TfaMethod {
  return {
    id: toId(row.id),
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

/** Returns the status in this program's names and units. */
export function toTfaStatus(row: z.infer<typeof tfaStatusReply>): TfaStatus {
  return {
    enabled: row.tfa_enabled ?? row.methods.length > 0,
    methods: row.methods.map(toTfaMethod),
    backupCodesRemaining: row.backup_codes_remaining ?? 0,
    newMethodAuthorized: row.new_method_authorized ?? false,
  };
}

/** Codes that are only shown in this reply. */
export function toSecrets(codes: readonly string[]): Secret[] {
  return codes.map((code) => new Secret(code));
}

/** Returns the configured methods. The only read of 2FA. */
export async function readStatus(requester: Requester, bounds: CallOptions | undefined): Promise<TfaStatus> {
  const { value } = await requester.send({
    operation: 'read the 2FA status',
    endpointClass: 'account',
    area: 'tfa',
    effect: 'read',
    method: 'GET',
    path: '/api/v0/tfa/status/',
    reply: tfaStatusReply,
    bounds,
  });
  return toTfaStatus(value);
}

/** Starts the authorization of a new method. */
export async function authorizeNewMethod(
  requester: Requester,
  request: AuthorizationRequest,
  bounds: CallOptions | undefined,
): Promise<Authorization> {
  const { value } = await sendTfa(requester, {
    operation: 'authorize a new 2FA method',
    method: 'POST',
    path: 'authorize-new-method/',
    body: {
      tfa_method: request.method,
      tfa_method_id: toOptionalWireId(request.methodId, 'methodId'),
      backup_code: request.backupCode,
    },
    reply: authorizationReply,
    bounds,
  });
  if (value.secret) return { type: 'challenge', secret: new Secret(value.secret) };
  return { type: 'authorized', message: value.msg };
}

/** Opens the window of 30 minutes. */
export async function confirmAuthorization(
  requester: Requester,
  request: { readonly code: string; readonly secret: Secret },
  bounds: CallOptions | undefined,
): Promise<ChangeAnswer> {
  const { value, answeredAt } = await sendTfa(requester, {
    operation: 'confirm the authorization of a new 2FA method',
    method: 'PUT',
    path: 'authorize-new-method/',
    body: { code: request.code, secret: request.secret.reveal() },
    reply: changeReply,
    bounds,
  });
  return { answeredAt, message: value.msg };
}

/** Creates a secret for an authenticator; the method is only added when it is confirmed. */
export async function setUpTotp(
  requester: Requester,
  bounds: CallOptions | undefined,
): Promise<{ secret: Secret; provisioningUri: Secret }> {
  const { value } = await sendTfa(requester, {
    operation: 'set up an authenticator',
    method: 'POST',
    path: 'totp-setup/',
    body: {},
    reply: totpSetupReply,
    bounds,
  });
  return { secret: new Secret(value.secret), provisioningUri: new Secret(value.provisioning_uri) };
}

/** Adds the method. `path`: the deprecated one is still served. */
export async function confirmNewMethod(
  requester: Requester,
  { request, path = 'confirm-new/' }: { request: ConfirmRequest; path?: 'confirm-new/' | 'test-submit/' },
  bounds: CallOptions | undefined,
): Promise<Confirmation> {
  const { value } = await sendTfa(requester, {
    operation: 'confirm a new 2FA method',
    method: 'POST',
    path,
    body: {
      tfa_method: request.method,
      code: request.code,
      secret: request.secret.reveal(),
      phone_number: request.phoneNumber,
      label: request.label,
    },
    reply: confirmedReply,
    bounds,
  });
  return { message: value.msg, backupCodes: value.backup_codes && toSecrets(value.backup_codes) };
}

/** Removes a method; removing the last one disables 2FA. */
export async function removeMethod(
  requester: Requester,
  request: RemoveRequest,
  bounds: CallOptions | undefined,
): Promise<Removal> {
  const { value } = await sendTfa(requester, {
    operation: 'remove a 2FA method',
    method: 'DELETE',
    path: '',
    body: { ...toWireVerification(request), target_id: toOptionalWireId(request.targetId, 'targetId') },
    reply: removedReply,
    bounds,
  });
  return { remainingMethods: value.remaining_methods, message: value.msg };
}

/** Changes label or primary flag. */
export async function updateMethod(
  requester: Requester,
  request: UpdateRequest,
  bounds: CallOptions | undefined,
): Promise<TfaMethod> {
  const { value } = await sendTfa(requester, {
    operation: 'change a 2FA method',
    method: 'PUT',
    path: 'update/',
    body: {
      tfa_method_id: toOptionalWireId(request.methodId, 'methodId'),
      tfa_method: request.method,
      label: request.label,
      is_primary: request.isPrimary,
    },
    reply: updatedReply,
    bounds,
  });
  return toTfaMethod(value.method);
}

/** Replaces all backup codes by ten new ones, which are only shown in this reply. */
export async function regenerateBackupCodes(
  requester: Requester,
  verification: BearerVerification,
  bounds: CallOptions | undefined,
): Promise<readonly Secret[]> {
  const { value } = await sendTfa(requester, {
    operation: 'regenerate backup codes',
    method: 'PUT',
    path: 'regen-backup-codes/',
    body: toWireVerification(verification),
    reply: backupCodesReply,
    bounds,
  });
  return toSecrets(value.backup_codes);
}
