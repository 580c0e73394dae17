/** What Node's code of a refused certificate means, and what to do. */
const KNOWN: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: 'its certificate has expired; renew it',
  CERT_NOT_YET_VALID: 'its certificate is not valid yet; look at the clocks of both sides',
  ERR_TLS_CERT_ALTNAME_INVALID:
    'its certificate is for another name; write a name that the certificate carries into --prometheus-url',
};

const UNTRUSTED =
  'no authority that is trusted has signed its certificate; name the PEM of its authority with --prometheus-ca';

const UNTRUSTED_CODES: ReadonlySet<string> = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'CERT_SIGNATURE_FAILURE',
  'CERT_UNTRUSTED',
  'CERT_REJECTED',
  'CERT_REVOKED',
  'CERT_CHAIN_TOO_LONG',
  'PATH_LENGTH_EXCEEDED',
  'INVALID_CA',
  'INVALID_PURPOSE',
]);

/** Why the certificate of Prometheus was refused, with the remedy; undefined where something else went wrong. */
export function certificateProblem(error: unknown): string | undefined {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const code = 'code' in cause && typeof cause.code === 'string' ? cause.code : '';
    if (UNTRUSTED_CODES.has(code)) return UNTRUSTED;
    if (Object.hasOwn(KNOWN, code)) return KNOWN[code];
  }
  return undefined;
}
