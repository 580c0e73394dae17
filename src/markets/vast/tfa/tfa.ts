import type { Secret } from '../../../lib/secret.ts';
import type { CallOptions } from '../../../market/call-options.ts';
import type { ChangeAnswer, Requester } from '../http/call.ts';
import {
  type BearerSms,
  type BearerVerification,
  type Challenge,
  type ChallengePath,
  completeLogin,
  type LoggedOutVerification,
  type Login,
  type LoginRequest,
  type SmsTarget,
  sendCode,
} from './login.ts';
import {
  type Authorization,
  type AuthorizationRequest,
  authorizeNewMethod,
  type Confirmation,
  type ConfirmRequest,
  confirmAuthorization,
  confirmNewMethod,
  type Removal,
  type RemoveRequest,
  readStatus,
  regenerateBackupCodes,
  removeMethod,
  setUpTotp,
  type TfaMethod,
  type TfaStatus,
  type UpdateRequest,
  updateMethod,
} from './methods.ts';

/** Calls of a logged-out caller, who only has the secret of a login (specification 4.8). */
export interface LoggedOutTfa {
  login(verification: LoggedOutVerification & LoginRequest, options?: CallOptions): Promise<Login>;
  sendEmailCode(options?: CallOptions): Promise<Challenge>;
  sendSmsCode(target?: SmsTarget, options?: CallOptions): Promise<Challenge>;
  resendSmsCode(target?: SmsTarget, options?: CallOptions): Promise<Challenge>;
  /** Paths that are still served and replaced by those above (specification 9). */
  readonly deprecated: {
    test(target?: SmsTarget, options?: CallOptions): Promise<Challenge>;
    resend(target?: SmsTarget, options?: CallOptions): Promise<Challenge>;
  };
}

/** Calls of a caller with a key. */
export interface BearerTfa {
  status(options?: CallOptions): Promise<TfaStatus>;
  login(verification: BearerVerification & LoginRequest, options?: CallOptions): Promise<Login>;
  /** Sends a code by email; without a secret always for a new challenge. */
  sendEmailCode(challenge?: { readonly secret?: Secret }, options?: CallOptions): Promise<Challenge>;
  sendSmsCode(challenge?: BearerSms, options?: CallOptions): Promise<Challenge>;
  resendSmsCode(challenge?: BearerSms, options?: CallOptions): Promise<Challenge>;
  authorizeNewMethod(request: AuthorizationRequest, options?: CallOptions): Promise<Authorization>;
  confirmAuthorization(
    request: { readonly code: string; readonly secret: Secret },
    options?: CallOptions,
  ): Promise<ChangeAnswer>;
  setUpTotp(options?: CallOptions): Promise<{ secret: Secret; provisioningUri: Secret }>;
  confirmNewMethod(request: ConfirmRequest, options?: CallOptions): Promise<Confirmation>;
  removeMethod(request: RemoveRequest, options?: CallOptions): Promise<Removal>;
  updateMethod(request: UpdateRequest, options?: CallOptions): Promise<TfaMethod>;
  regenerateBackupCodes(verification: BearerVerification, options?: CallOptions): Promise<readonly Secret[]>;
  /** Paths that are still served and replaced by those above (specification 9). */
  readonly deprecated: DeprecatedTfa;
}

/** Deprecated spellings of sending, resending and confirming. */
export interface DeprecatedTfa {
  test(challenge?: BearerSms, options?: CallOptions): Promise<Challenge>;
  resend(challenge?: BearerSms, options?: CallOptions): Promise<Challenge>;
  testSubmit(request: ConfirmRequest, options?: CallOptions): Promise<Confirmation>;
}

/** Creates the 2FA calls of a caller with a key. */
export function createBearerTfa(requester: Requester): BearerTfa {
  return {
    status: (options) => readStatus(requester, options),
    login: (verification, options) => completeLogin(requester, { verification }, options),
    sendEmailCode: (target = {}, options) => sendCode(requester, { path: 'email/', target }, options),
    sendSmsCode: (target = {}, options) => sendCode(requester, { path: 'sms/', target }, options),
    resendSmsCode: (target = {}, options) => sendCode(requester, { path: 'sms/resend/', target }, options),
    authorizeNewMethod: (request, options) => authorizeNewMethod(requester, request, options),
    confirmAuthorization: (request, options) => confirmAuthorization(requester, request, options),
    setUpTotp: (options) => setUpTotp(requester, options),
    confirmNewMethod: (request, options) => confirmNewMethod(requester, { request }, options),
    removeMethod: (request, options) => removeMethod(requester, request, options),
    updateMethod: (request, options) => updateMethod(requester, request, options),
    regenerateBackupCodes: (request, options) => regenerateBackupCodes(requester, request, options),
    deprecated: {
      test: (target = {}, options) => sendCode(requester, { path: 'test/', target }, options),
      resend: (target = {}, options) => sendCode(requester, { path: 'resend/', target }, options),
      testSubmit: (request, options) =>
        confirmNewMethod(requester, { request, path: 'test-submit/' }, options),
    },
  };
}

/** Creates the 2FA calls of a logged-out caller. The requester must have no key: the secret is the only credential. */
export function createLoggedOutTfa(requester: Requester, secret: Secret): LoggedOutTfa {
  const sendTo =
    (path: ChallengePath) =>
    (target: SmsTarget = {}, options?: CallOptions): Promise<Challenge> =>
      sendCode(requester, { path, target: { ...target, secret } }, options);
  return {
    login: (verification, options) => completeLogin(requester, { verification, secret }, options),
    sendEmailCode: (options) => sendTo('email/')({}, options),
    sendSmsCode: sendTo('sms/'),
    resendSmsCode: sendTo('sms/resend/'),
    deprecated: { test: sendTo('test/'), resend: sendTo('resend/') },
  };
}
