import type { MarketplaceAccount, MarketplaceAccountStatus } from '../../api/v1alpha1/marketplace-account.ts';
import type { Secret } from '../../lib/secret.ts';
import type { MarketplaceError, MarketplaceErrorKind } from '../../marketplace/errors/errors.ts';
import type { User } from '../../marketplace/users.ts';
import { type Login, loginText } from '../../ownership/login.ts';

/** Which key was tried: the one in the user's Secret, or the one kept from an earlier proof. */
export type KeySource = 'user' | 'kept';

/** A failure, reduced to what a decision reads and a person may be shown. */
export interface Failure {
  readonly kind: MarketplaceErrorKind;
  /** The connection failed since the service's certificate cannot be trusted. */
  readonly badCertificate: boolean;
}

/** What is known of the account's key. */
export type KeyProof =
  | {
      readonly type: 'proven';
      readonly source: KeySource;
      readonly key: Secret;
      readonly login: Login;
      readonly user: User;
      /** False if the key may not destroy. */
      readonly mayDestroy: boolean;
      /** Of a kept key: what the key in the user's Secret proved, where there is one and it serves worse. */
      readonly insteadOf?: KeyProof;
    }
  | { readonly type: 'failed'; readonly source: KeySource; readonly failure: Failure }
  /** There is no key to try. */
  | { readonly type: 'none' };

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
export function isInconclusive({ kind }: Failure): boolean {
  return !ABOUT_THE_KEY.has(kind);
}

type PinnedLogin = NonNullable<MarketplaceAccountStatus['login']>;

/** Whether the pinned login and a proven one are the same user of the same marketplace. */
export function sameLogin(pinned: PinnedLogin, proven: Login): boolean {
  return loginText(pinned) === loginText(proven);
}

/** Whether a proof is one of the account's own login: the first proof pins it. */
export function provesPinned(
  proof: KeyProof,
  pinned: PinnedLogin | undefined,
): proof is Extract<KeyProof, { type: 'proven' }> {
  return proof.type === 'proven' && (pinned === undefined || sameLogin(pinned, proof.login));
}

/**
 * Whether machines of the account's login may have to be ended by the key that was kept: there is no other, or it is
 * refused, or may not destroy. A key of another login is a person's mistake, of which nothing follows.
 */
export function needsFallbackKey(own: KeyProof, { status }: MarketplaceAccount): boolean {
  if (!status?.login) return false;
  switch (own.type) {
    case 'none':
      return true;
    case 'failed':
      return !isInconclusive(own.failure);
    case 'proven':
      return !own.mayDestroy && sameLogin(status.login, own.login);
  }
}

/** What a kept key is worth beside the account's own. Where it only failed to answer, what it proved before holds. */
export function chooseProof(own: KeyProof, kept: KeyProof): KeyProof {
  if (own.type === 'none' || (kept.type === 'failed' && isInconclusive(kept.failure))) return kept;
  if (kept.type !== 'proven' || (own.type === 'proven' && !kept.mayDestroy)) return own;
  return { ...kept, insteadOf: own };
}
