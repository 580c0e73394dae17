/** Certificate authority of a group, as its Secret contains it. Times are milliseconds since the epoch. */
export interface Authority {
  /** Number of the generation, from 1. */
  readonly generation: number;
  readonly from: number;
  readonly until: number;
}

const DAY_MS = 86_400_000;
/**
 * Validity of a worker's certificate. It does not follow `maxLifetime`: a machine keeps the certificate of its
 * rental, and a later spec may extend its life.
 */
export const WORKER_VALID_MS = 365 * DAY_MS;
/**
 * Time before the end of its certificate at which a worker is replaced. The group may be paused or short of credit
 * meanwhile.
 */
const REPLACED_BEFORE_MS = 30 * DAY_MS;
/** Time for which an authority is trusted before it signs, so that every worker knows it by then. */
export const TRUSTED_BEFORE_MS = WORKER_VALID_MS + DAY_MS;
/**
 * Validity of an authority: trusted, then signing for the same time, then trusted until its last certificate ends,
 * and a margin.
 */
export const AUTHORITY_VALID_MS = 4 * TRUSTED_BEFORE_MS;

/** Actions on the authorities of a group that are due now. */
export interface AuthorityPlan<T> {
  /** Valid authorities, oldest first. */
  readonly trusted: readonly T[];
  /** Authority that signs; undefined if there is none. */
  readonly signer: T | undefined;
  /** Generation to create now. */
  readonly next: number | undefined;
}

/**
 * Plans a rotation without interruption. A new authority is trusted for the validity of a certificate before it signs
 * its first. Every machine that runs by then was rented with it. The old authority stays trusted until its last
 * certificate ends.
 */
export function planAuthorities<T extends Authority>(all: readonly T[], now: number): AuthorityPlan<T> {
  const trusted = all
    .filter(({ until }) => until > now)
    .toSorted((one, other) => one.generation - other.generation);
  const signer = trusted.findLast(({ from }) => from + TRUSTED_BEFORE_MS <= now) ?? trusted[0];
  const newest = trusted.at(-1);
  const last = Math.max(0, ...all.map(({ generation }) => generation));
  const isNextDue = !newest || newest.from + TRUSTED_BEFORE_MS <= now;
  return { trusted, signer, next: isNextDue ? last + 1 : undefined };
}

/** Returns true if the certificate of a worker this old may end soon. No certificate is older than its worker. */
export function isCertificateEnding({ createdAt }: { readonly createdAt: number }, now: number): boolean {
  return now >= createdAt + WORKER_VALID_MS - REPLACED_BEFORE_MS;
}
