import { Secret } from '../../lib/secret.ts';
import type { ChangeAnswer } from '../http/change.ts';
import type { Requester } from '../http/request.ts';
import type { CallOptions } from '../offers/offers.ts';
import { changeReply } from '../wire/failure-body.ts';
import {
  authorizationReply,
  confirmedReply,
  removedReply,
  tfaStatusReply,
  toSecrets,
  toTfaMethod,
  toTfaStatus,
  totpSetupReply,
  updatedReply,
} from '../wire/tfa.ts';
import { sendTfa } from './call.ts';
import type { TfaMethod, TfaStatus } from './status.ts';
import {
  type BackupCode,
  type CodeMethod,
  type SentCodeWithSecret,
  type TotpCode,
  toWireVerification,
} from './verification.ts';

/**
 * Step 1 of adding a method: by a code that is sent or shown, or by a backup code. A method that is set up may
 * be named by its id alone (specification 4.8); an account without methods is sent an email whatever is named.
 */
export type AuthorizationRequest =
  | {
      readonly method: CodeMethod;
      readonly methodId?: number;
      readonly backupCode?: never;
      readonly secret?: never;
    }
  | {
      readonly methodId: number;
      readonly method?: never;
      readonly backupCode?: never;
      readonly secret?: never;
    }
  | BackupCode;

export type Authorization =
  | { readonly type: 'challenge'; readonly secret: Secret }
  | { readonly type: 'authorized'; readonly message: string | undefined };

/**
 * Confirming a new method always takes a secret: of the SMS challenge, or the base32 secret of the TOTP set-up.
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
  /** Only with the first method; shown this once. */
  readonly backupCodes: readonly Secret[] | undefined;
}

/** A code removes the method that verifies, unless another is named; a backup code must name one. */
export type RemoveRequest =
  | ((SentCodeWithSecret | TotpCode) & { readonly targetId?: number })
  | (BackupCode & { readonly targetId: number });

export interface Removal {
  /** undefined: it was the last, and 2FA is off. */
  readonly remainingMethods: number | undefined;
  readonly message: string | undefined;
}

/** Email is no stored method, so it cannot be changed. */
export type UpdateRequest = (
  | { readonly methodId: number; readonly method?: never }
  | { readonly method: 'sms' | 'totp'; readonly methodId?: never }
) & { readonly label?: string; readonly isPrimary?: boolean };

/** What is set up. The only read of 2FA. */
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

/** Begins to authorize a new method. */
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
      tfa_method_id: request.methodId,
      backup_code: request.backupCode,
    },
    reply: authorizationReply,
    bounds,
  });
  if (value.secret) return { type: 'challenge', secret: new Secret(value.secret) };
  return { type: 'authorized', message: value.msg };
}

/** Grants the window of 30 minutes. */
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

/** Makes a secret for an authenticator; nothing is added before it is confirmed. */
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

/** Removes a method; removing the last switches 2FA off. */
export async function removeMethod(
  requester: Requester,
  request: RemoveRequest,
  bounds: CallOptions | undefined,
): Promise<Removal> {
  const { value } = await sendTfa(requester, {
    operation: 'remove a 2FA method',
    method: 'DELETE',
    path: '',
    body: { ...toWireVerification(request), target_id: request.targetId },
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
      tfa_method_id: request.methodId,
      tfa_method: request.method,
      label: request.label,
      is_primary: request.isPrimary,
    },
    reply: updatedReply,
    bounds,
  });
  return toTfaMethod(value.method);
}
