import type { MarketplaceErrorKind, Outcome } from './errors.ts';

/** Which endpoints a code is used by: one word can mean different things elsewhere. */
export type ErrorArea = 'tfa' | 'rent' | 'search' | 'instances' | 'volumes' | 'groups' | 'account' | 'any';

/** One code of a service: how it arrives, what it means to code, and what a person should do. */
export interface ErrorCodeRow {
  /** `*`: the service's text alone tells, because no code is documented. */
  readonly code: string;
  /** The HTTP statuses it is documented with. */
  readonly statuses: readonly number[];
  readonly area: ErrorArea;
  /** Only if the service's text contains this. */
  readonly text?: string;
  readonly kind: MarketplaceErrorKind;
  /** `refused` only if the effect certainly did not happen. */
  readonly outcome: Outcome;
  readonly advice: string;
}

/** The rows of one area. */
function inArea(area: ErrorArea, rows: readonly Omit<ErrorCodeRow, 'area'>[]): readonly ErrorCodeRow[] {
  return rows.map((row) => ({ ...row, area }));
}

/** Two-factor authentication: specification 7, in its order. */
const TFA_CODES = inArea('tfa', [
  {
    code: 'bad_request',
    statuses: [400],
    kind: 'invalidRequest',
    outcome: 'refused',
    advice: 'Correct the request: a field is missing, has the wrong type or an unknown value.',
  },
  {
    code: 'auth_error',
    statuses: [403],
    kind: 'unauthorized',
    outcome: 'refused',
    advice: 'Log in again, or give a valid API key.',
  },
  {
    code: 'invalid_tfa_method',
    statuses: [400],
    kind: 'invalidRequest',
    outcome: 'refused',
    advice: 'Use sms, totp or email as the method.',
  },
  {
    code: 'missing_auth_value',
    statuses: [400, 401],
    kind: 'invalidRequest',
    outcome: 'refused',
    advice: 'Give a code or a backup code; when logged out, the secret of the challenge too.',
  },
  {
    code: 'missing_params',
    statuses: [400],
    kind: 'invalidRequest',
    outcome: 'refused',
    advice: 'Give both the code and the secret of the challenge.',
  },
  {
    code: 'email_not_verified',
    statuses: [400],
    kind: 'conflict',
    outcome: 'refused',
    advice: 'Verify the email address of the account first.',
  },
  {
    code: '2fa_expired',
    statuses: [400],
    kind: 'conflict',
    outcome: 'refused',
    advice: 'The challenge is older than 10 minutes: send a new code.',
  },
  {
    code: 'challenge_not_found',
    statuses: [400],
    kind: 'conflict',
    outcome: 'refused',
    advice: 'The secret belongs to no challenge: send a new code and use the secret that comes back.',
  },
  {
    code: 'no_challenge_found',
    statuses: [400],
    kind: 'conflict',
    outcome: 'refused',
    advice: 'No challenge is open: send a code first.',
  },
  {
    code: 'tfa_challenge_exists',
    statuses: [400],
    kind: 'conflict',
    outcome: 'refused',
    advice: 'A code was sent a moment ago: wait for it, or use resend.',
  },
  {
    code: 'authorization_required',
    statuses: [403],
    kind: 'conflict',
    outcome: 'refused',
    advice: 'Authorize the new method first; the authorization lasts 30 minutes.',
  },
  {
    code: 'no_pending_authorization',
    statuses: [400],
    kind: 'conflict',
    outcome: 'refused',
    advice: 'Start the authorization of a new method before confirming it.',
  },
  {
    code: 'invalid_backup_code',
    statuses: [401],
    kind: 'verificationFailed',
    outcome: 'refused',
    advice: 'The backup code is wrong or already used: take another one.',
  },
  {
    code: 'untracked_2fa_found',
    statuses: [400],
    kind: 'conflict',
    outcome: 'refused',
    advice: 'This legacy account needs new backup codes before anything else: regenerate them.',
  },
  {
    code: 'duplicate_tfa_method',
    statuses: [400],
    kind: 'conflict',
    outcome: 'refused',
    advice: 'A method of this kind is already set up: remove it first, or use it.',
  },
  {
    code: 'twilio_error',
    statuses: [400],
    kind: 'unavailable',
    outcome: 'unknown',
    advice: 'The SMS could not be delivered: check the number, or use another method.',
  },
  {
    code: 'preauth_phone_cap',
    statuses: [429],
    kind: 'throttled',
    outcome: 'refused',
    advice: 'This phone number was used in too many attempts: wait, or use another number.',
  },
  {
    code: 'sms_rate_limited',
    statuses: [429],
    kind: 'throttled',
    outcome: 'refused',
    advice: 'Too many SMS codes were asked for: wait before the next.',
  },
  {
    code: 'twilio_rate_limited',
    statuses: [429],
    kind: 'throttled',
    outcome: 'refused',
    advice: 'The SMS provider is limiting requests: wait before the next.',
  },
  {
    code: 'tfa_locked',
    statuses: [429],
    kind: 'locked',
    outcome: 'refused',
    advice: 'This method is locked for 15 minutes after failed attempts: wait, or use another method.',
  },
  {
    code: 'service_unavailable',
    statuses: [503],
    kind: 'unavailable',
    outcome: 'unknown',
    advice: 'The service could not check the authorization: try again.',
  },
  {
    code: 'phone_number_mismatch',
    statuses: [400],
    kind: 'invalidRequest',
    outcome: 'refused',
    advice: 'Give the phone number that the challenge was sent to.',
  },
  {
    code: '2fa_login_failed',
    statuses: [400],
    kind: 'verificationFailed',
    outcome: 'refused',
    advice: 'The code was not accepted: check it, or send a new one.',
  },
  {
    code: '2fa_verification_failed',
    statuses: [400],
    kind: 'verificationFailed',
    outcome: 'refused',
    advice: 'The code was not accepted: check it; repeated failures lock the method.',
  },
  {
    code: 'team_user_forbidden',
    statuses: [403],
    kind: 'forbidden',
    outcome: 'refused',
    advice: 'Two-factor settings are personal: leave the team context and use your own key.',
  },
  {
    code: 'missing_email',
    statuses: [400],
    kind: 'conflict',
    outcome: 'refused',
    advice: 'Set an email address on the account.',
  },
  {
    code: 'missing_phone_number',
    statuses: [400],
    kind: 'invalidRequest',
    outcome: 'refused',
    advice: 'Give a phone number in E.164 form, e.g. +15551234567.',
  },
  {
    code: 'not_found',
    statuses: [404],
    kind: 'notFound',
    outcome: 'refused',
    advice: 'No such method: `gpu-rent tfa status` shows what is set up.',
  },
  {
    code: 'tfa_method_not_configured',
    statuses: [400],
    kind: 'conflict',
    outcome: 'refused',
    advice:
      'The method is missing or its secret cannot be read: see `gpu-rent tfa status`, then set it up again.',
  },
  {
    code: 'challenge_creation_failed',
    statuses: [500],
    kind: 'unavailable',
    outcome: 'unknown',
    advice: 'The challenge could not be made: try again.',
  },
  {
    code: 'sms_blocked_number',
    statuses: [400],
    kind: 'conflict',
    outcome: 'refused',
    advice: 'This number is blocked for SMS: use another number or method.',
  },
  {
    code: 'sms_fraud_detected',
    statuses: [403],
    kind: 'forbidden',
    outcome: 'refused',
    advice: 'SMS is disabled for this account: contact the support of the service, or use another method.',
  },
]);

/**
 * Renting. Only what proves that no machine was created is `refused`: a 400 has been seen with a machine behind
 * it, so the list settles its outcome like that of a lost reply.
 */
const RENT_CODES = inArea('rent', [
  {
    code: 'no_such_ask',
    statuses: [400, 404, 410, 200],
    kind: 'offerGone',
    outcome: 'refused',
    advice: 'The offer is taken or withdrawn: choose another.',
  },
  {
    code: 'invalid_args',
    statuses: [404, 410, 200],
    text: 'no_such_ask',
    kind: 'offerGone',
    outcome: 'refused',
    advice: 'The offer is taken or withdrawn: choose another.',
  },
  {
    code: 'invalid_args',
    statuses: [400, 403],
    kind: 'invalidRequest',
    outcome: 'unknown',
    advice: 'Correct the image, disk, env or other fields of the request.',
  },
  {
    code: 'invalid_price',
    statuses: [400],
    kind: 'invalidRequest',
    outcome: 'unknown',
    advice: 'Bid at least the lowest bid of the offer, between 0.001 and 128 dollars an hour.',
  },
  {
    code: 'no_ssh_key_for_vm',
    statuses: [400],
    kind: 'invalidRequest',
    outcome: 'unknown',
    advice: 'Register an SSH key on the account before renting a virtual machine.',
  },
  {
    code: 'no_ssh_key',
    statuses: [400],
    kind: 'invalidRequest',
    outcome: 'unknown',
    advice: 'Register an SSH key on the account first.',
  },
  {
    code: 'missing_billing',
    statuses: [400],
    kind: 'insufficientCredit',
    outcome: 'unknown',
    advice: 'Add a payment method or credit to the account.',
  },
  {
    code: 'insufficient_credit',
    statuses: [400, 402, 403],
    kind: 'insufficientCredit',
    outcome: 'unknown',
    advice: 'Add credit to the account.',
  },
]);

/** Codes of the other areas. */
const OTHER_CODES = [
  ...inArea('search', [
    {
      code: 'search_quota_exceeded',
      statuses: [429],
      kind: 'quotaExceeded',
      outcome: 'refused',
      advice: 'The daily number of searches is used up; it renews at midnight UTC.',
    },
    {
      code: 'invalid_request',
      statuses: [400],
      kind: 'invalidRequest',
      outcome: 'refused',
      advice: 'Correct the filters of the search.',
    },
  ]),
  ...inArea('instances', [
    {
      code: 'no_such_instance',
      statuses: [404, 410, 400, 200],
      kind: 'notFound',
      outcome: 'refused',
      advice: 'No such instance: see `list instances`.',
    },
    {
      code: 'label_too_long',
      statuses: [400],
      kind: 'invalidRequest',
      outcome: 'refused',
      advice: 'Use a label of at most 1024 characters.',
    },
    {
      code: 'missing_billing',
      statuses: [400],
      kind: 'insufficientCredit',
      outcome: 'refused',
      advice: 'Add a payment method or credit to the account.',
    },
    {
      code: 'insufficient_credit',
      statuses: [400, 402, 403],
      kind: 'insufficientCredit',
      outcome: 'refused',
      advice: 'Add credit to the account.',
    },
    {
      code: 'invalid_args',
      statuses: [400],
      kind: 'invalidRequest',
      outcome: 'refused',
      advice: 'Correct the value; a bid is at least 0.001 dollars an hour.',
    },
    {
      code: 'invalid_request',
      statuses: [400],
      kind: 'invalidRequest',
      outcome: 'refused',
      advice: 'Correct the filter of the list; computed columns cannot be filtered.',
    },
    {
      code: 'invalid_token',
      statuses: [400],
      kind: 'invalidRequest',
      outcome: 'refused',
      advice: 'The page token is not valid any more: begin the list again.',
    },
  ]),
  ...inArea('volumes', [
    {
      code: 'no_such_volume',
      statuses: [404],
      kind: 'notFound',
      outcome: 'refused',
      advice: 'No such volume: see the ids with `search volumes`.',
    },
    {
      code: '*',
      statuses: [400],
      text: 'does not exist',
      kind: 'notFound',
      outcome: 'refused',
      advice: 'No such volume listing: see the ids with `search volumes`.',
    },
    {
      code: '*',
      statuses: [400],
      text: 'active volume listing',
      kind: 'conflict',
      outcome: 'refused',
      advice: 'The listing is active: wait until the rentals on it have ended.',
    },
    {
      code: '*',
      statuses: [400],
      text: 'Unable to delete volume listing',
      kind: 'refused',
      outcome: 'unknown',
      advice: 'The listing could not be deleted: look whether it is still there, then try again.',
    },
    {
      code: '*',
      statuses: [400],
      text: 'must be passed',
      kind: 'invalidRequest',
      outcome: 'refused',
      advice: 'Give the id of the volume listing.',
    },
    {
      code: 'invalid_args',
      statuses: [400],
      kind: 'invalidRequest',
      outcome: 'refused',
      advice: 'Correct the id or the size of the volume.',
    },
  ]),
  ...inArea('groups', [
    {
      code: 'invalid_args',
      statuses: [400],
      text: 'not found for user',
      kind: 'notFound',
      outcome: 'refused',
      advice: 'No such endpoint group of this account.',
    },
    {
      code: 'invalid_args',
      statuses: [400],
      kind: 'invalidRequest',
      outcome: 'refused',
      advice: 'Correct the options of the endpoint group.',
    },
    {
      code: 'no_such_workergroup',
      statuses: [404],
      kind: 'notFound',
      outcome: 'refused',
      advice: 'No such worker group of this account.',
    },
  ]),
  ...inArea('account', [
    {
      code: 'invalid_permissions',
      statuses: [400],
      kind: 'invalidRequest',
      outcome: 'refused',
      advice: 'Give permissions as {"api": {"<category>": {}}} with known categories.',
    },
    {
      code: 'missing_permissions',
      statuses: [400],
      kind: 'invalidRequest',
      outcome: 'refused',
      advice: 'Give the permissions that the key shall have.',
    },
    {
      code: 'no_ssh_key',
      statuses: [400],
      kind: 'invalidRequest',
      outcome: 'refused',
      advice: 'Give a public SSH key in the form of one line of authorized_keys.',
    },
  ]),
  ...inArea('any', [
    {
      code: 'bad_request',
      statuses: [400],
      kind: 'invalidRequest',
      outcome: 'refused',
      advice: 'Correct the request: a field is missing, has the wrong type or an unknown value.',
    },
    {
      code: 'auth_error',
      statuses: [401, 403],
      kind: 'unauthorized',
      outcome: 'refused',
      advice: 'Give a valid API key.',
    },
  ]),
];

/** Every documented code, one row each per area and text. Earlier rows win. */
export const ERROR_CATALOGUE: readonly ErrorCodeRow[] = [...TFA_CODES, ...RENT_CODES, ...OTHER_CODES];

/** What a person should do about a failure for which the service gave no known code. */
export const ADVICE_BY_KIND: Readonly<Record<MarketplaceErrorKind, string>> = {
  unauthorized: 'Give a valid API key: this one is wrong, revoked or expired.',
  sessionExpired: 'Log in again with the second factor, or use the ordinary API key.',
  twoFactorRequired: 'Log in with the second factor: `gpu-rent tfa login`.',
  forbidden: 'Use a key with the permission for this call.',
  offerGone: 'Choose another offer.',
  notFound: 'Check the id.',
  invalidRequest: 'Correct the request.',
  conflict: 'Look at the present state, then try what fits it.',
  insufficientCredit: 'Add credit to the account.',
  verificationFailed: 'Check the code, or send a new one.',
  throttled: 'Wait a little and try again.',
  quotaExceeded: 'Wait until the quota renews.',
  locked: 'Wait until the lock ends, or use another method.',
  gone: 'The service no longer serves this form: use the newer one.',
  redirected: 'Give the address that the service redirects to: redirects are never followed.',
  unavailable: 'The service cannot be reached or failed: try again later.',
  timeout: 'The service did not answer in time: try again; look first whether the effect happened.',
  malformedReply: 'The service answered something that cannot be read: check the address.',
  aborted: 'Nothing to do: the call was given up.',
  blockedAddress: 'Use a public https address, or allow this one in the configuration.',
  refused: 'The service refused: look at its message.',
};

/** Which failure is looked up. */
export interface CodeQuery {
  readonly area: ErrorArea;
  readonly code: string | undefined;
  readonly status: number;
  readonly text: string;
}

function matches(row: ErrorCodeRow, query: CodeQuery): boolean {
  const inArea = row.area === query.area || row.area === 'any';
  return (
    inArea &&
    (row.code === '*' || row.code === query.code) &&
    row.statuses.includes(query.status) &&
    (row.text === undefined || query.text.includes(row.text))
  );
}

/** The row of a failure: code, area, documented status and text must agree. */
export function findErrorCode(query: CodeQuery): ErrorCodeRow | undefined {
  return ERROR_CATALOGUE.find((row) => matches(row, query));
}

const CERTIFICATE_ADVICE =
  'The certificate of the service cannot be trusted: check the address, the clock and the authorities that are trusted.';

/** What a person should do about a connection that failed with a code of the system; undefined: nothing special. */
export function connectionAdvice(code: string | undefined): string | undefined {
  return code !== undefined && /CERT|SIGNED|SIGNATURE|ALTNAME/.test(code) ? CERTIFICATE_ADVICE : undefined;
}
