import type { MarketplaceErrorKind, Outcome } from '../../../market/errors.ts';

/** Endpoints that use a code: a code can have another meaning elsewhere. */
export type ErrorArea = 'tfa' | 'rent' | 'search' | 'instances' | 'volumes' | 'groups' | 'account' | 'any';

/** A code of a service: its form on the wire, its meaning, and advice to the user. */
export interface ErrorCodeRow {
  /** `*`: no code is documented, so only the service's text identifies the error. */
  readonly code: string;
  /** Documented HTTP statuses of the code. */
  readonly statuses: readonly number[];
  readonly area: ErrorArea;
  /** Set if the service's text must contain this. */
  readonly text?: string;
  readonly kind: MarketplaceErrorKind;
  /** `refused` only if the effect certainly did not happen. */
  readonly outcome: Outcome;
  readonly advice: string;
}

type AreaRow = Omit<ErrorCodeRow, 'area'>;

/** Returns the rows of one area. */
function inArea(area: ErrorArea, rows: readonly AreaRow[]): readonly ErrorCodeRow[] {
  return rows.map((row) => ({ ...row, area }));
}

/** Returns a code that proves that the call had no effect; only if the service's text contains `text`, if given. */
function refused(
  code: string,
  statuses: number | readonly number[],
  kind: MarketplaceErrorKind,
  advice: string,
  text?: string,
): AreaRow {
  const listed = typeof statuses === 'number' ? [statuses] : statuses;
  return { code, statuses: listed, kind, outcome: 'refused', advice, ...(text !== undefined && { text }) };
}

/** Returns a code that leaves open whether the call had an effect. */
function unclear(...row: Parameters<typeof refused>): AreaRow {
  return { ...refused(...row), outcome: 'unknown' };
}

/** Two-factor authentication: specification 7, in its order. */
// biome-ignore format: a code is a line.
const TFA_CODES = inArea('tfa', [
  refused('bad_request', 400, 'invalidRequest', 'Correct the request: a field is missing, has the wrong type or an unknown value.'),
  refused('auth_error', 403, 'unauthorized', 'Log in again, or give a valid API key.'),
  refused('invalid_tfa_method', 400, 'invalidRequest', 'Use sms, totp or email as the method.'),
  refused('missing_auth_value', [400, 401], 'invalidRequest', 'Give a code or a backup code; when logged out, the secret of the challenge too.'),
  refused('missing_params', 400, 'invalidRequest', 'Give both the code and the secret of the challenge.'),
  refused('email_not_verified', 400, 'conflict', 'Verify the email address of the account first.'),
  refused('2fa_expired', 400, 'conflict', 'The challenge is older than 10 minutes: send a new code.'),
  refused('challenge_not_found', 400, 'conflict', 'The secret belongs to no challenge: send a new code and use the secret that comes back.'),
  refused('no_challenge_found', 400, 'conflict', 'No challenge is open: send a code first.'),
  refused('tfa_challenge_exists', 400, 'conflict', 'A code was sent a moment ago: wait for it, or use resend.'),
  refused('authorization_required', 403, 'conflict', 'Authorize the new method first; the authorization lasts 30 minutes.'),
  refused('no_pending_authorization', 400, 'conflict', 'Start the authorization of a new method before confirming it.'),
  refused('invalid_backup_code', 401, 'verificationFailed', 'The backup code is wrong or already used: take another one.'),
  refused('untracked_2fa_found', 400, 'conflict', 'This legacy account needs new backup codes before anything else: regenerate them.'),
  refused('duplicate_tfa_method', 400, 'conflict', 'A method of this kind is already set up: remove it first, or use it.'),
  unclear('twilio_error', 400, 'unavailable', 'The SMS could not be delivered: check the number, or use another method.'),
  refused('preauth_phone_cap', 429, 'throttled', 'This phone number was used in too many attempts: wait, or use another number.'),
  refused('sms_rate_limited', 429, 'throttled', 'Too many SMS codes requested: wait before you request another.'),
  refused('twilio_rate_limited', 429, 'throttled', 'The SMS provider is limiting requests: wait before the next.'),
  refused('tfa_locked', 429, 'locked', 'This method is locked for 15 minutes after failed attempts: wait, or use another method.'),
  unclear('service_unavailable', 503, 'unavailable', 'The service could not check the authorization: try again.'),
  refused('phone_number_mismatch', 400, 'invalidRequest', 'Give the phone number that the challenge was sent to.'),
  refused('2fa_login_failed', 400, 'verificationFailed', 'The code was not accepted: check it, or send a new one.'),
  refused('2fa_verification_failed', 400, 'verificationFailed', 'The code was not accepted: check it; repeated failures lock the method.'),
  refused('team_user_forbidden', 403, 'forbidden', 'Two-factor settings are personal: leave the team context and use your own key.'),
  refused('missing_email', 400, 'conflict', 'Set an email address on the account.'),
  refused('missing_phone_number', 400, 'invalidRequest', 'Give a phone number in E.164 form, e.g. +15551234567.'),
  refused('not_found', 404, 'notFound', 'No such method: `gpu-rent tfa status` shows what is set up.'),
  refused('tfa_method_not_configured', 400, 'conflict', 'The method is missing or its secret cannot be read: see `gpu-rent tfa status`, then set it up again.'),
  unclear('challenge_creation_failed', 500, 'unavailable', 'The challenge could not be made: try again.'),
  refused('sms_blocked_number', 400, 'conflict', 'This number is blocked for SMS: use another number or method.'),
  refused('sms_fraud_detected', 403, 'forbidden', 'SMS is disabled for this account: contact the support of the service, or use another method.'),
]);

/**
 * Renting. Only codes that prove that no machine was created are `refused`. A 400 has been seen with a created machine,
 * so the list settles its outcome like that of a lost reply.
 */
// biome-ignore format: a code is a line.
const RENT_CODES = inArea('rent', [
  refused('no_such_ask', [400, 404, 410, 200], 'offerGone', 'The offer is taken or withdrawn: choose another.'),
  refused('invalid_args', [404, 410, 200], 'offerGone', 'The offer is taken or withdrawn: choose another.', 'no_such_ask'),
  unclear('invalid_args', [400, 403], 'invalidRequest', 'Correct the image, disk, env or other fields of the request.'),
  unclear('invalid_price', 400, 'invalidRequest', 'Bid at least the lowest bid of the offer, between 0.001 and 128 dollars an hour.'),
  unclear('no_ssh_key_for_vm', 400, 'invalidRequest', 'Register an SSH key on the account before renting a virtual machine.'),
  unclear('no_ssh_key', 400, 'invalidRequest', 'Register an SSH key on the account first.'),
  unclear('missing_billing', 400, 'insufficientCredit', 'Add a payment method or credit to the account.'),
  unclear('insufficient_credit', [400, 402, 403], 'insufficientCredit', 'Add credit to the account.'),
]);

/** Codes of the other areas. */
// biome-ignore format: a code is a line.
const OTHER_CODES = [
  ...inArea('search', [
    refused('search_quota_exceeded', 429, 'quotaExceeded', 'The daily number of searches is used up; it renews at midnight UTC.'),
    refused('invalid_request', 400, 'invalidRequest', 'Correct the filters of the search.'),
  ]),
  ...inArea('instances', [
    refused('no_such_instance', [404, 410, 400, 200], 'notFound', 'No such instance: see `list instances`.'),
    refused('label_too_long', 400, 'invalidRequest', 'Use a label of at most 1024 characters.'),
    refused('missing_billing', 400, 'insufficientCredit', 'Add a payment method or credit to the account.'),
    refused('insufficient_credit', [400, 402, 403], 'insufficientCredit', 'Add credit to the account.'),
    refused('invalid_args', 400, 'invalidRequest', 'Correct the value; a bid is at least 0.001 dollars an hour.'),
    refused('invalid_request', 400, 'invalidRequest', 'Correct the filter of the list; computed columns cannot be filtered.'),
    refused('invalid_token', 400, 'invalidRequest', 'The page token is not valid any more: begin the list again.'),
  ]),
  ...inArea('volumes', [
    refused('no_such_volume', 404, 'notFound', 'No such volume: see the ids with `search volumes`.'),
    refused('*', 400, 'notFound', 'No such volume listing: see the ids with `search volumes`.', 'does not exist'),
    refused('*', 400, 'conflict', 'The listing is active: wait until the rentals on it have ended.', 'active volume listing'),
    unclear('*', 400, 'refused', 'The listing could not be deleted: look whether it is still there, then try again.', 'Unable to delete volume listing'),
    refused('*', 400, 'invalidRequest', 'Give the id of the volume listing.', 'must be passed'),
    refused('invalid_args', 400, 'invalidRequest', 'Correct the id or the size of the volume.'),
  ]),
  ...inArea('groups', [
    refused('invalid_args', 400, 'notFound', 'No such endpoint group of this account.', 'not found for user'),
    refused('invalid_args', 400, 'invalidRequest', 'Correct the options of the endpoint group.'),
    refused('no_such_workergroup', 404, 'notFound', 'No such worker group of this account.'),
  ]),
  ...inArea('account', [
    refused('invalid_permissions', 400, 'invalidRequest', 'Give permissions as {"api": {"<category>": {}}} with known categories.'),
    refused('missing_permissions', 400, 'invalidRequest', 'Give the permissions of the new key.'),
    refused('no_ssh_key', 400, 'invalidRequest', 'Give a public SSH key in the form of one line of authorized_keys.'),
  ]),
  ...inArea('any', [
    refused('bad_request', 400, 'invalidRequest', 'Correct the request: a field is missing, has the wrong type or an unknown value.'),
    refused('auth_error', [401, 403], 'unauthorized', 'Give a valid API key.'),
  ]),
];

/** Every documented code, one row per area and text. Earlier rows take precedence. */
export const ERROR_CATALOGUE: readonly ErrorCodeRow[] = [...TFA_CODES, ...RENT_CODES, ...OTHER_CODES];

/** Advice to the user for failures without a known code. */
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
  throttled: 'Wait and try again.',
  quotaExceeded: 'Wait until the quota renews.',
  locked: 'Wait until the lock ends, or use another method.',
  gone: 'The service no longer serves this form: use the newer one.',
  redirected: 'Give the address that the service redirects to: redirects are never followed.',
  unavailable: 'The service cannot be reached or failed: try again later.',
  timeout: 'The service did not answer in time: try again; look first whether the effect happened.',
  malformedReply: 'The service answered something that cannot be read: check the address.',
  aborted: 'No action needed: the call was aborted.',
  blockedAddress: 'Use a public https address, or allow this one in the configuration.',
  refused: 'The service refused: look at its message.',
};

/** The failure to look up. */
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

/** Returns the row of a failure: code, area, documented status and text must agree. */
export function findErrorCode(query: CodeQuery): ErrorCodeRow | undefined {
  return ERROR_CATALOGUE.find((row) => matches(row, query));
}

const CERTIFICATE_ADVICE =
  'The certificate of the service cannot be trusted: check the address, the clock and the authorities that are trusted.';

/** Returns advice for a connection that failed with a system code; undefined if there is none. */
export function connectionAdvice(code: string | undefined): string | undefined {
  return code !== undefined && /CERT|SIGNED|SIGNATURE|ALTNAME/.test(code) ? CERTIFICATE_ADVICE : undefined;
}
