import type { MarketplaceError } from '../../marketplace/errors.ts';
import type { Failure } from './types.ts';

/** Codes under which a system reports a certificate that it does not trust, e.g. `CERT_HAS_EXPIRED`. */
const CERTIFICATE_CODE = /CERT|SIGNED|SIGNATURE|ALTNAME/;

/** A failure as far as conditions tell them apart. Its text stays behind. */
export function failureOf({ kind, code }: Pick<MarketplaceError, 'kind' | 'code'>): Failure {
  return {
    kind,
    badCertificate: kind === 'unavailable' && code !== undefined && CERTIFICATE_CODE.test(code),
  };
}
