import * as z from 'zod';
import { Secret } from '../../../lib/secret.ts';
import type { CallOptions } from '../../../market/call-options.ts';
import type { MarketplaceId } from '../../../market/ids.ts';
import type { Answer, Requester } from '../http/call.ts';
import { toOptionalWireId } from '../ids.ts';
import { looseBoolean, looseInteger, looseText } from '../scalars.ts';
import { toUser, type User, userReply } from '../users.ts';

/** Transport of a code. Email is never stored as a method. */
export type CodeMethod = 'sms' | 'email' | 'totp';

/** A code that was sent by SMS or email: it belongs to a challenge. */
interface SentCode {
  readonly method: 'sms' | 'email';
  /** Six digits. */
  readonly code: string;
  /** Required if several methods of one kind are set up. */
  readonly methodId?: MarketplaceId;
  readonly backupCode?: never;
}

/** A code of an authenticator: it belongs to no challenge, so it needs no secret (specification 4.8). */
export interface TotpCode {
  readonly method: 'totp';
  readonly code: string;
  readonly methodId?: MarketplaceId;
  readonly secret?: never;
  readonly backupCode?: never;
}

/** A backup code (of ten), `XXXX-XXXX-XXXX`; it needs nothing else. */
export interface BackupCode {
  readonly backupCode: string;
  readonly method?: never;
  readonly code?: never;
  readonly methodId?: never;
  readonly secret?: never;
}

/** A sent code of a Bearer caller, with the secret of its challenge. */
export type SentCodeWithSecret = SentCode & { readonly secret: Secret };

/** A sent code of a logged-out caller, whose only credential, the secret, is already known. */
export type SentCodeAlone = SentCode & { readonly secret?: never };

/** Second factor of a Bearer caller. */
export type BearerVerification = SentCodeWithSecret | TotpCode | BackupCode;

/** Second factor of a logged-out caller. */
export type LoggedOutVerification = SentCodeAlone | TotpCode | BackupCode;

/** Returns a verification under its wire names. */
export function toWireVerification(
  verification: BearerVerification | LoggedOutVerification,
): Record<string, unknown> {
  if (verification.backupCode !== undefined) return { backup_code: verification.backupCode };
  return {
    tfa_method: verification.method,
    code: verification.code,
    secret: verification.secret?.reveal(),
    tfa_method_id: toOptionalWireId(verification.methodId, 'methodId'),
  };
}

/** A 2FA call, without the parts that all of them share. */
export interface TfaCall<Schema extends z.ZodType> {
  readonly operation: string;
  readonly method: 'POST' | 'PUT' | 'DELETE';
  /** Path below `/api/v0/tfa/`, with its final slash. */
  readonly path: string;
  readonly body: Readonly<Record<string, unknown>>;
  readonly reply: Schema;
  readonly bounds: CallOptions | undefined;
}

/**
 * Sends a 2FA write. It is sent once: a repeated wrong code would count towards the lockout. Rejects with a
 * MarketplaceError.
 */
export function sendTfa<Schema extends z.ZodType>(
  requester: Requester,
  { path, ...call }: TfaCall<Schema>,
): Promise<Answer<z.infer<Schema>>> {
  return requester.send({
    ...call,
    path: `/api/v0/tfa/${path}`,
    endpointClass: 'account',
    area: 'tfa',
    effect: 'write',
  });
}

/** Destination of an SMS. Without both fields: the number on file. */
export interface SmsTarget {
  /** E.164, e.g. `+15551234567`. */
  readonly phoneNumber?: string;
  readonly methodId?: MarketplaceId;
}

/** A challenge of a Bearer caller; without a secret a new one is created. */
export interface BearerSms extends SmsTarget {
  readonly secret?: Secret;
}

/** A code was sent. */
export interface Challenge {
  /** Secret that the call which completes the verification needs, within 10 minutes. */
  readonly secret: Secret;
  readonly message: string | undefined;
}

/** Path of the call that sends a code. */
export type ChallengePath = 'email/' | 'sms/' | 'sms/resend/' | 'test/' | 'resend/';

const OPERATION: Readonly<Record<ChallengePath, string>> = {
  'email/': 'send a code by email',
  'sms/': 'send a code by SMS',
  'sms/resend/': 'send a code by SMS again',
  'test/': 'send a code by SMS (deprecated path)',
  'resend/': 'send a code by SMS again (deprecated path)',
};

/** Sends a code and returns the secret of its challenge. */
export async function sendCode(
  requester: Requester,
  { path, target }: { path: ChallengePath; target: BearerSms },
  bounds: CallOptions | undefined,
): Promise<Challenge> {
  const { value } = await sendTfa(requester, {
    operation: OPERATION[path],
    method: 'POST',
    path,
    body: {
      phone_number: target.phoneNumber,
      tfa_method_id: toOptionalWireId(target.methodId, 'methodId'),
      secret: target.secret?.reveal(),
    },
    reply: challengeReply,
    bounds,
  });
  return { secret: new Secret(value.secret), message: value.msg };
}

/** Reply of sending a code: the secret of its challenge. */
export const challengeReply = z.object({ secret: z.string().min(1), msg: looseText });

/** Reply of completing a login: the user, and for Bearer callers the session key. */
export const loginReply = userReply.extend({
  session_key: looseText,
  backup_codes_remaining: looseInteger,
  legacy_tfa_user: looseBoolean,
});

/** A completed login. */
export interface Login {
  readonly user: User;
  /** Bearer callers: the key for later calls. */
  readonly sessionKey: Secret | undefined;
  /** Logged-out callers: the session that the service set. */
  readonly sessionCookie: Secret | undefined;
  /** Only after a backup code, while at least one remains. */
  readonly backupCodesRemaining: number | undefined;
  readonly legacyUser: boolean;
}

/** Settings of a login. */
export interface LoginRequest {
  /** Requests an administrator's session. */
  readonly admin?: boolean;
}

/** Completes a login (specification 4.8). `secret`: the logged-out caller's only credential. */
export async function completeLogin(
  requester: Requester,
  request: { verification: (BearerVerification | LoggedOutVerification) & LoginRequest; secret?: Secret },
  bounds: CallOptions | undefined,
): Promise<Login> {
  const { verification, secret } = request;
  const { value, headers } = await sendTfa(requester, {
    operation: 'complete a login',
    method: 'POST',
    path: '',
    body: {
      ...toWireVerification(verification),
      ...(secret === undefined ? {} : { secret: secret.reveal() }),
      admin: verification.admin,
    },
    reply: loginReply,
    bounds,
  });
  const cookie = headers['set-cookie'];
  return {
    user: toUser(value),
    sessionKey: value.session_key ? new Secret(value.session_key) : undefined,
    sessionCookie: cookie ? new Secret(cookie) : undefined,
    backupCodesRemaining: value.backup_codes_remaining,
    legacyUser: value.legacy_tfa_user ?? false,
  };
}
