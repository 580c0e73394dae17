import type { ErrorArea, ErrorCodeRow } from './error-code-row.ts';
import { OTHER_CODES } from './error-codes-other.ts';
import { RENT_CODES } from './error-codes-rent.ts';
import { TFA_CODES } from './error-codes-tfa.ts';
import type { MarketplaceErrorKind } from './errors.ts';

export type { ErrorArea, ErrorCodeRow } from './error-code-row.ts';

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
