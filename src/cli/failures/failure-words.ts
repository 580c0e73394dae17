import type { MarketplaceErrorKind } from '../../marketplace/errors/errors.ts';

/** What happened, as a person says it. */
export const WORDS_BY_KIND: Readonly<Record<MarketplaceErrorKind, string>> = {
  unauthorized: 'the API key is not accepted',
  sessionExpired: 'the session has ended',
  twoFactorRequired: 'a login with the second factor is needed',
  forbidden: 'the key may not do this',
  offerGone: 'the offer is taken or withdrawn',
  notFound: 'there is no such thing',
  invalidRequest: 'the service does not take the request',
  conflict: 'it does not fit the present state',
  insufficientCredit: 'the credit does not suffice',
  verificationFailed: 'the code was not taken',
  throttled: 'too many requests',
  quotaExceeded: 'the quota is used up',
  locked: 'the method is locked',
  gone: 'the service no longer serves this',
  redirected: 'the service redirects elsewhere',
  unavailable: 'the service failed or cannot be reached',
  timeout: 'no reply in time',
  malformedReply: 'the reply cannot be read',
  aborted: 'given up',
  blockedAddress: 'our own rules refuse the address',
  refused: 'the service refused',
};
