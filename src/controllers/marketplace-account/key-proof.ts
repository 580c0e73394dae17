import type { MarketplaceAccount, MarketplaceAccountStatus } from '../../api/v1alpha1/marketplace-account.ts';
import type { Secret } from '../../lib/secret.ts';
import type { MarketplaceError, MarketplaceErrorKind } from '../../market/errors.ts';
import type { LoginUser } from '../../market/login-user.ts';
import { type Login, loginText } from '../../ownership/login.ts';

/** Source of the tested key: the user's Secret, or the stored key of an earlier proof. */
export type KeySource = 'user' | 'kept';

/** A failure, reduced to the fields for decisions and texts. */
export interface Failure {
  readonly kind: MarketplaceErrorKind;
  /** The connection failed because the service's certificate is not trusted. */
  readonly badCertificate: boolean;
  /** HTTP status of the reply, if there was one. */
  readonly httpStatus?: number | undefined;
  /** Code of the marketplace or the connection: letters, digits and _ only. */
  readonly code?: string | undefined;
}

/** Knowledge about the account's key. */
export type KeyProof =
  | {
      readonly type: 'proven';
      readonly source: KeySource;
      readonly key: Secret;
      readonly login: Login;
      readonly user: LoginUser;
      /** False if the key may not destroy. */
      readonly mayDestroy: boolean;
      /** Proof of the key in the user's Secret that a kept key replaces, if there is one. */
      readonly insteadOf?: KeyProof;
    }
  /** A single reply named the user of the key; {@link namedAfter} requires a second one. */
  | { readonly type: 'unconfirmed'; readonly source: KeySource; readonly login: Login }
  | { readonly type: 'failed'; readonly source: KeySource; readonly failure: Failure }
  /** There is no key to try. */
  | { readonly type: 'none' };

/** Codes under which a system reports a certificate that it does not trust, e.g. `CERT_HAS_EXPIRED`. */
const CERTIFICATE_CODE = /CERT|SIGNED|SIGNATURE|ALTNAME/;

/** Returns the parts of a failure that conditions distinguish, without its text. */
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

/**
 * Returns true if a proof did not arrive. It shows nothing about the key, and may succeed at the next attempt.
 */
export function isInconclusive({ kind }: Failure): boolean {
  return !ABOUT_THE_KEY.has(kind);
}

/** Returns true if a proof is undecided: it did not arrive, or a second reply must agree. */
export function isUndecided(proof: KeyProof): boolean {
  return proof.type === 'unconfirmed' || (proof.type === 'failed' && isInconclusive(proof.failure));
}

/**
 * Minimum milliseconds between two requests whose replies together prove the user of a key. A longer wait would be no
 * better against a single wrong reply, and would delay the first destroy after each start, because every process
 * verifies each key before any action. A service that names another user for seconds may also do so for longer than a
 * poll.
 */
export const CONFIRMATION_MS = 1_000;

/** The user in the latest replies about a key. */
export interface NamedUser {
  readonly key: Secret;
  readonly login: Login;
  /** Request of the first consecutive reply with this user, on `clock.monotonic()`. */
  readonly askedAt: number;
  /** Two replies agree. */
  readonly isConfirmed: boolean;
  /** True if a probe showed that the key may destroy; false before. */
  readonly mayDestroy: boolean;
}

/** The user in one reply about a key. */
export type NamingReply = Pick<NamedUser, 'key' | 'login' | 'askedAt'>;

/**
 * Returns the named user after one more reply. A key that is new to this process, and a reply with another user than
 * before, need a second reply that agrees: no single reply moves an account to another login.
 */
export function namedAfter(before: NamedUser | undefined, reply: NamingReply): NamedUser {
  const agrees = before?.key.equals(reply.key) === true && loginText(before.login) === loginText(reply.login);
  if (!agrees) return { ...reply, isConfirmed: false, mayDestroy: false };
  const isConfirmed = before.isConfirmed || reply.askedAt - before.askedAt >= CONFIRMATION_MS;
  return { ...before, isConfirmed };
}

export type PinnedLogin = NonNullable<MarketplaceAccountStatus['login']>;

/** Returns true if the pinned login and a proven one are the same user of the same marketplace. */
export function sameLogin(pinned: PinnedLogin, proven: Login): boolean {
  return loginText(pinned) === loginText(proven);
}

/** Returns true if a proof shows the account's own login: the first proof pins it. */
export function provesPinned(
  proof: KeyProof,
  pinned: PinnedLogin | undefined,
): proof is Extract<KeyProof, { type: 'proven' }> {
  return proof.type === 'proven' && (pinned === undefined || sameLogin(pinned, proof.login));
}

/**
 * Returns true if the stored key may be needed to end machines of the account's login: there is no other key, or it
 * is refused, or may not destroy. A key of another login is a person's mistake and changes nothing.
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

/**
 * Returns the proof to use if there is also a stored key. While the proof of the stored key is undecided, its earlier
 * proof counts.
 */
export function chooseProof(own: KeyProof, kept: KeyProof): KeyProof {
  if (own.type === 'none' || isUndecided(kept)) return kept;
  if (kept.type !== 'proven' || (own.type === 'proven' && !kept.mayDestroy)) return own;
  return { ...kept, insteadOf: own };
}
