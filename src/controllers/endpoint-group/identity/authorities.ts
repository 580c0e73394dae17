/** An authority of a group, as its Secret holds it. Times are in milliseconds since the epoch. */
export interface Authority {
  /** The number of its generation: 1 for the first. */
  readonly generation: number;
  readonly from: number;
  readonly until: number;
}

const DAY_MS = 86_400_000;
/**
 * How long a worker's certificate lasts, whatever its `maxLifetime`: a machine keeps what it was given when it was rented,
 * and a changed spec may let it live longer.
 */
export const WORKER_VALID_MS = 365 * DAY_MS;
/** A worker is replaced this long before its certificate may end: its group may be paused or short of credit meanwhile. */
const REPLACED_BEFORE_MS = 30 * DAY_MS;
/** Each worker knows an authority before it signs, and believes the former one until the last of its certificates ended. */
export const TRUSTED_BEFORE_MS = WORKER_VALID_MS + DAY_MS;
/** Trusted, then signing for the same time, then trusted until its last certificate ends, and a margin. */
export const AUTHORITY_VALID_MS = 4 * TRUSTED_BEFORE_MS;

/** What is to be done with the authorities of a group now. */
export interface AuthorityPlan<T> {
  /** Those that are believed, oldest first. */
  readonly trusted: readonly T[];
  /** The one that signs; undefined where there is none. */
  readonly signer: T | undefined;
  /** The generation that is to be made now. */
  readonly next: number | undefined;
}

/**
 * Rotation without an interruption: a new authority is believed for as long as a certificate lasts before it signs the
 * first, so that every machine that runs then was given it; the old one is believed until its last certificate ended.
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

/** Whether a worker is so old that its certificate may end soon: none was issued before the worker was made. */
export function isCertificateEnding({ createdAt }: { readonly createdAt: number }, now: number): boolean {
  return now >= createdAt + WORKER_VALID_MS - REPLACED_BEFORE_MS;
}
