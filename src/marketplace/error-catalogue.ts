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
  /** Only where the service's text contains this. */
  readonly text?: string;
  readonly kind: MarketplaceErrorKind;
  /** `refused` only where the effect certainly did not happen. */
  readonly outcome: Outcome;
  readonly advice: string;
}

type Row = readonly [
  code: string,
  statuses: readonly number[],
  kind: MarketplaceErrorKind,
  outcome: Outcome,
  advice: string,
  text?: string,
];

const rows = (area: ErrorArea, list: readonly Row[]): ErrorCodeRow[] =>
  list.map(([code, statuses, kind, outcome, advice, text]) => ({
    code,
    statuses,
    area,
    kind,
    outcome,
    advice,
    ...(text === undefined ? {} : { text }),
  }));

/** Specification 7, in its order. */
const TFA_ROWS = rows('tfa', [
  [
    'bad_request',
    [400],
    'invalidRequest',
    'refused',
    'Correct the request: a field is missing, has the wrong type or an unknown value.',
  ],
  ['auth_error', [403], 'unauthorized', 'refused', 'Log in again, or give a valid API key.'],
  ['invalid_tfa_method', [400], 'invalidRequest', 'refused', 'Use sms, totp or email as the method.'],
  [
    'missing_auth_value',
    [400, 401],
    'invalidRequest',
    'refused',
    'Give a code or a backup code; when logged out, the secret of the challenge too.',
  ],
  [
    'missing_params',
    [400],
    'invalidRequest',
    'refused',
    'Give both the code and the secret of the challenge.',
  ],
  ['email_not_verified', [400], 'conflict', 'refused', 'Verify the email address of the account first.'],
  ['2fa_expired', [400], 'conflict', 'refused', 'The challenge is older than 10 minutes: send a new code.'],
  [
    'challenge_not_found',
    [400],
    'conflict',
    'refused',
    'The secret belongs to no challenge: send a new code and use the secret that comes back.',
  ],
  ['no_challenge_found', [400], 'conflict', 'refused', 'No challenge is open: send a code first.'],
  [
    'tfa_challenge_exists',
    [400],
    'conflict',
    'refused',
    'A code was sent a moment ago: wait for it, or use resend.',
  ],
  [
    'authorization_required',
    [403],
    'conflict',
    'refused',
    'Authorize the new method first; the authorization lasts 30 minutes.',
  ],
  [
    'no_pending_authorization',
    [400],
    'conflict',
    'refused',
    'Start the authorization of a new method before confirming it.',
  ],
  [
    'invalid_backup_code',
    [401],
    'verificationFailed',
    'refused',
    'The backup code is wrong or already used: take another one.',
  ],
  [
    'untracked_2fa_found',
    [400],
    'conflict',
    'refused',
    'This legacy account needs new backup codes before anything else: regenerate them.',
  ],
  [
    'duplicate_tfa_method',
    [400],
    'conflict',
    'refused',
    'A method of this kind is already set up: remove it first, or use it.',
  ],
  [
    'twilio_error',
    [400],
    'unavailable',
    'unknown',
    'The SMS could not be delivered: check the number, or use another method.',
  ],
  [
    'preauth_phone_cap',
    [429],
    'throttled',
    'refused',
    'This phone number was used in too many attempts: wait, or use another number.',
  ],
  [
    'sms_rate_limited',
    [429],
    'throttled',
    'refused',
    'Too many SMS codes were asked for: wait before the next.',
  ],
  [
    'twilio_rate_limited',
    [429],
    'throttled',
    'refused',
    'The SMS provider is limiting requests: wait before the next.',
  ],
  [
    'tfa_locked',
    [429],
    'locked',
    'refused',
    'This method is locked for 15 minutes after failed attempts: wait, or use another method.',
  ],
  [
    'service_unavailable',
    [503],
    'unavailable',
    'unknown',
    'The service could not check the authorization: try again.',
  ],
  [
    'phone_number_mismatch',
    [400],
    'invalidRequest',
    'refused',
    'Give the phone number that the challenge was sent to.',
  ],
  [
    '2fa_login_failed',
    [400],
    'verificationFailed',
    'refused',
    'The code was not accepted: check it, or send a new one.',
  ],
  [
    '2fa_verification_failed',
    [400],
    'verificationFailed',
    'refused',
    'The code was not accepted: check it; repeated failures lock the method.',
  ],
  [
    'team_user_forbidden',
    [403],
    'forbidden',
    'refused',
    'Two-factor settings are personal: leave the team context and use your own key.',
  ],
  ['missing_email', [400], 'conflict', 'refused', 'Set an email address on the account.'],
  [
    'missing_phone_number',
    [400],
    'invalidRequest',
    'refused',
    'Give a phone number in E.164 form, e.g. +15551234567.',
  ],
  ['not_found', [404], 'notFound', 'refused', 'No such method: see the ids with `tfa status`.'],
  [
    'tfa_method_not_configured',
    [400],
    'conflict',
    'refused',
    'The authenticator secret is missing: set the method up again.',
  ],
  [
    'challenge_creation_failed',
    [500],
    'unavailable',
    'unknown',
    'The challenge could not be made: try again.',
  ],
  [
    'sms_blocked_number',
    [400],
    'conflict',
    'refused',
    'This number is blocked for SMS: use another number or method.',
  ],
  [
    'sms_fraud_detected',
    [403],
    'forbidden',
    'refused',
    'SMS is disabled for this account: contact the support of the service, or use another method.',
  ],
]);

/**
 * Renting. Only what proves that no machine was made is `refused`: a 400 has been seen with a machine behind
 * it, so its outcome is settled by the list like that of a lost reply.
 */
const RENT_ROWS = rows('rent', [
  [
    'no_such_ask',
    [400, 404, 410, 200],
    'offerGone',
    'refused',
    'The offer is taken or withdrawn: choose another.',
  ],
  [
    'invalid_args',
    [404, 410, 200],
    'offerGone',
    'refused',
    'The offer is taken or withdrawn: choose another.',
    'no_such_ask',
  ],
  [
    'invalid_args',
    [400, 403],
    'invalidRequest',
    'unknown',
    'Correct the image, disk, env or other fields of the request.',
  ],
  [
    'invalid_price',
    [400],
    'invalidRequest',
    'unknown',
    'Bid at least the lowest bid of the offer, between 0.001 and 128 dollars an hour.',
  ],
  [
    'no_ssh_key_for_vm',
    [400],
    'invalidRequest',
    'unknown',
    'Register an SSH key on the account before renting a virtual machine.',
  ],
  ['no_ssh_key', [400], 'invalidRequest', 'unknown', 'Register an SSH key on the account first.'],
  [
    'missing_billing',
    [400],
    'insufficientCredit',
    'unknown',
    'Add a payment method or credit to the account.',
  ],
  ['insufficient_credit', [400, 402, 403], 'insufficientCredit', 'unknown', 'Add credit to the account.'],
]);

const OTHER_ROWS: readonly ErrorCodeRow[] = [
  ...rows('search', [
    [
      'search_quota_exceeded',
      [429],
      'quotaExceeded',
      'refused',
      'The daily number of searches is used up; it renews at midnight UTC.',
    ],
    ['invalid_request', [400], 'invalidRequest', 'refused', 'Correct the filters of the search.'],
  ]),
  ...rows('instances', [
    [
      'no_such_instance',
      [404, 410, 400, 200],
      'notFound',
      'refused',
      'No such instance: see `search instances`.',
    ],
    ['label_too_long', [400], 'invalidRequest', 'refused', 'Use a label of at most 1024 characters.'],
    [
      'missing_billing',
      [400],
      'insufficientCredit',
      'refused',
      'Add a payment method or credit to the account.',
    ],
    ['insufficient_credit', [400, 402, 403], 'insufficientCredit', 'refused', 'Add credit to the account.'],
    [
      'invalid_args',
      [400],
      'invalidRequest',
      'refused',
      'Correct the value; a bid is at least 0.001 dollars an hour.',
    ],
    [
      'invalid_request',
      [400],
      'invalidRequest',
      'refused',
      'Correct the filter of the list; computed columns cannot be filtered.',
    ],
    [
      'invalid_token',
      [400],
      'invalidRequest',
      'refused',
      'The page token is not valid any more: begin the list again.',
    ],
  ]),
  ...rows('volumes', [
    ['no_such_volume', [404], 'notFound', 'refused', 'No such volume: see the ids with `search volumes`.'],
    [
      '*',
      [400],
      'notFound',
      'refused',
      'No such volume listing: see the ids with `search volumes`.',
      'does not exist',
    ],
    [
      '*',
      [400],
      'conflict',
      'refused',
      'The listing is active: wait until the rentals on it have ended.',
      'active volume listing',
    ],
    [
      '*',
      [400],
      'refused',
      'unknown',
      'The listing could not be deleted: look whether it is still there, then try again.',
      'Unable to delete volume listing',
    ],
    ['*', [400], 'invalidRequest', 'refused', 'Give the id of the volume listing.', 'must be passed'],
    ['invalid_args', [400], 'invalidRequest', 'refused', 'Correct the id or the size of the volume.'],
  ]),
  ...rows('groups', [
    [
      'invalid_args',
      [400],
      'notFound',
      'refused',
      'No such endpoint group of this account.',
      'not found for user',
    ],
    ['invalid_args', [400], 'invalidRequest', 'refused', 'Correct the options of the endpoint group.'],
    ['no_such_workergroup', [404], 'notFound', 'refused', 'No such worker group of this account.'],
  ]),
  ...rows('account', [
    [
      'invalid_permissions',
      [400],
      'invalidRequest',
      'refused',
      'Give permissions as {"api": {"<category>": {}}} with known categories.',
    ],
    [
      'missing_permissions',
      [400],
      'invalidRequest',
      'refused',
      'Give the permissions that the key shall have.',
    ],
    [
      'no_ssh_key',
      [400],
      'invalidRequest',
      'refused',
      'Give a public SSH key in the form of one line of authorized_keys.',
    ],
  ]),
  ...rows('any', [
    [
      'bad_request',
      [400],
      'invalidRequest',
      'refused',
      'Correct the request: a field is missing, has the wrong type or an unknown value.',
    ],
    ['auth_error', [401, 403], 'unauthorized', 'refused', 'Give a valid API key.'],
  ]),
];

/** Every documented code, one row each per area and text. Earlier rows win. */
export const ERROR_CATALOGUE: readonly ErrorCodeRow[] = [...TFA_ROWS, ...RENT_ROWS, ...OTHER_ROWS];

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

/** What a person should do about a failure. */
export function adviceFor(failure: { kind: MarketplaceErrorKind; code?: string | undefined }): string {
  const row = ERROR_CATALOGUE.find(
    (candidate) => candidate.code === failure.code && candidate.kind === failure.kind,
  );
  return row?.advice ?? ADVICE_BY_KIND[failure.kind];
}
