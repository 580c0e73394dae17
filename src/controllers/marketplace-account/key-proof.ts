import type { MarketplaceAccount, MarketplaceAccountStatus } from '../../api/v1alpha1/marketplace-account.ts';
import type { Secret } from '../../lib/secret.ts';
import type { MarketplaceError, MarketplaceErrorKind } from '../../market/errors.ts';
import type { LoginUser } from '../../market/login-user.ts';
import { type Login, loginText } from '../../ownership/login.ts';

/** Which key was tried: the one in the user's Secret, or the one kept from an earlier proof. */
export type KeySource = 'user' | 'kept';

/** A failure, reduced to what a decision reads and a person may be shown. */
export interface Failure {
  readonly kind: MarketplaceErrorKind;
  /** The connection failed since the service's certificate cannot be trusted. */
  readonly badCertificate: boolean;
  /** Of the reply, if there was one. */
  readonly httpStatus?: number | undefined;
  /** Of the marketplace or the connection: letters, digits and _ only. */
  readonly code?: string | undefined;
}

/** What is known of the account's key. */
export type KeyProof =
  | {
      readonly type: 'proven';
      readonly source: KeySource;
      readonly key: Secret;
      readonly login: Login;
      readonly user: LoginUser;
      /** False if the key may not destroy. */
      readonly mayDestroy: boolean;
      /** Of a kept key: what the key in the user's Secret proved, where there is one and it serves worse. */
      readonly insteadOf?: KeyProof;
    }
  /** One reply named the user of the key; {@link namedAfter} requires a second one. */
  | { readonly type: 'unconfirmed'; readonly source: KeySource; readonly login: Login }
  | { readonly type: 'failed'; readonly source: KeySource; readonly failure: Failure }
  /** There is no key to try. */
  | { readonly type: 'none' };

/** Codes under which a system reports a certificate that it does not trust, e.g. `CERT_HAS_EXPIRED`. */
const CERTIFICATE_CODE = /CERT|SIGNED|SIGNATURE|ALTNAME/;

/** A failure as far as conditions tell them apart. Its text stays behind. */
export function failureOf({
  kind,
  code,
  status,
}: Pick<MarketplaceError, 'kind' | 'code'> & Partial<Pick<MarketplaceError, 'status'>>): Failure {
  const badCertificate = kind === 'unavailable' && CERTIFICATE_CODE.test(code ?? '');
  return { kind, badCertificate, httpStatus: status, code };
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

/** True if a proof says nothing about the key yet: it did not arrive, or a second reply has to agree. */
export function isUndecided(proof: KeyProof): boolean {
  return proof.type === 'unconfirmed' || (proof.type === 'failed' && isInconclusive(proof.failure));
}

/**
 * Milliseconds between two requests at least whose replies together prove the user of a key. A single wrong reply needs no
 * longer: every process proves each key before it may do anything, so a whole poll would delay the first destroy after
 * each start. A service that names another user for seconds may do so for longer than a poll as well.
 */
export const CONFIRMATION_MS = 1_000;

/** The user that the latest replies about a key name. */
export interface NamedUser {
  readonly key: Secret;
  readonly login: Login;
  /** On `clock.monotonic()`: the request of the first reply in a row that names this user. */
  readonly askedAt: number;
  /** Two replies agree. */
  readonly isConfirmed: boolean;
  /** A probe showed that the key may destroy. False if no probe showed it yet. */
  readonly mayDestroy: boolean;
}

/** The user that one reply about a key names. */
export type NamingReply = Pick<NamedUser, 'key' | 'login' | 'askedAt'>;

/**
 * The named user after one more reply. A key that is new to this process, and a reply that names another user than the
 * one before, need a second reply that agrees: no single reply moves an account to another login.
 */
export function namedAfter(before: NamedUser | undefined, reply: NamingReply): NamedUser {
  const agrees = before?.key.equals(reply.key) === true && loginText(before.login) === loginText(reply.login);
  if (!agrees) return { ...reply, isConfirmed: false, mayDestroy: false };
  const isConfirmed = before.isConfirmed || reply.askedAt - before.askedAt >= CONFIRMATION_MS;
  return { ...before, isConfirmed };
}

export type PinnedLogin = NonNullable<MarketplaceAccountStatus['login']>;

/** Whether the pinned login and a proven one are the same user of the same marketplace. */
export function sameLogin(pinned: PinnedLogin, proven: Login): boolean {
  return loginText(pinned) === loginText(proven);
}

/** Whether a proof is one of the account's own login: the first one pins it. */
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
    case 'unconfirmed':
      return false;
    case 'failed':
      return !isInconclusive(own.failure);
    case 'proven':
      return !own.mayDestroy && sameLogin(status.login, own.login);
  }
}

/** The proof that counts beside a kept key. While that one is undecided, what it proved before holds. */
export function chooseProof(own: KeyProof, kept: KeyProof): KeyProof {
  if (own.type === 'none' || isUndecided(kept)) return kept;
  if (kept.type !== 'proven' || (own.type === 'proven' && !kept.mayDestroy)) return own;
  return { ...kept, insteadOf: own };
}
