import { Secret } from '../../lib/secret.ts';
import type { Requester } from '../http/request.ts';
import type { CallOptions } from '../offers/offers.ts';
import type { User } from '../user.ts';
import { loginReply } from '../wire/tfa.ts';
import { toUser } from '../wire/user.ts';
import { sendTfa } from './call.ts';
import { type BearerVerification, type LoggedOutVerification, toWireVerification } from './verification.ts';

/** A login that is complete. */
export interface Login {
  readonly user: User;
  /** Bearer callers: the key for later calls. */
  readonly sessionKey: Secret | undefined;
  /** Logged-out callers: the session as the service set it. */
  readonly sessionCookie: Secret | undefined;
  /** Only after a backup code, while at least one remains. */
  readonly backupCodesRemaining: number | undefined;
  readonly legacyUser: boolean;
}

/** What a login shall be. */
export interface LoginWish {
  /** Asks for an administrator's session. */
  readonly admin?: boolean;
}

/** Completes a login (specification 4.8). `secret`: the logged-out caller's only credential. */
export async function completeLogin(
  requester: Requester,
  request: { verification: (BearerVerification | LoggedOutVerification) & LoginWish; secret?: Secret },
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
