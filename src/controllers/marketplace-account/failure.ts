import type { MarketplaceError, MarketplaceErrorKind } from '../../marketplace/errors/errors.ts';
import type { Failure } from './types.ts';

/** Codes under which a system reports a certificate that it does not trust, e.g. `CERT_HAS_EXPIRED`. */
const CERTIFICATE_CODE = /CERT|SIGNED|SIGNATURE|ALTNAME/;

/** A failure as far as conditions tell them apart. Its text stays behind. */
export function failureOf({ kind, code }: Pick<MarketplaceError, 'kind' | 'code'>): Failure {
  return { kind, badCertificate: kind === 'unavailable' && CERTIFICATE_CODE.test(code ?? '') };
}

const ABOUT_THE_KEY: ReadonlySet<MarketplaceErrorKind> = new Set<MarketplaceErrorKind>([
  'unauthorized',
  'sessionExpired',
  'twoFactorRequired',
  'forbidden',
]);

/** Whether a proof only failed to arrive: it says nothing about the key, and may work at the next try. */
export function saysNothing({ kind }: Failure): boolean {
  return !ABOUT_THE_KEY.has(kind);
}
