import { type KeptKeys, type KeyReading, readKeySecret } from '../../accounts/api-keys.ts';
import { limitsOf } from '../../accounts/spend-limits.ts';
import { type MarketplaceAccount, marketOf } from '../../api/v1alpha1/marketplace-account.ts';
import { annotations } from '../../api/v1alpha1/names.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Secret } from '../../lib/secret.ts';
import { MarketplaceError } from '../../market/errors.ts';
import type { Market } from '../../market/market.ts';
import type { Login } from '../../ownership/login.ts';
import type { ReconcileContext } from '../../runtime/controller.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { uidOf } from '../../runtime/kube/kube-object.ts';
import {
  CONFIRMATION_MS,
  chooseProof,
  failureOf,
  isInconclusive,
  type KeyProof,
  type KeySource,
  type NamedUser,
  namedAfter,
  needsFallbackKey,
  type PinnedLogin,
  sameLogin,
} from './key-proof.ts';

/** Result of the latest check of an account's key. */
export interface KeyCheck {
  readonly reading: KeyReading;
  readonly proof: KeyProof;
  /** The verified key is also the kept one. */
  readonly keyKept: boolean;
  /** Epoch milliseconds of the first of the consecutive failed checks; undefined if the latest succeeded. */
  readonly failingSince: number | undefined;
  /** Number of consecutive checks without an answer. */
  readonly unanswered: number;
  /** Time of the check on `clock.monotonic()`. */
  readonly checkedAt: number;
  /** Milliseconds until the next check is due. */
  readonly againInMs: number;
}

type Finding = Pick<KeyCheck, 'reading' | 'proof'>;

interface Remembered extends Finding, Pick<KeyCheck, 'failingSince' | 'unanswered'> {
  /** Time on `clock.monotonic()`. */
  readonly at: number;
  /** Inputs of the check: another value makes it stale at once. */
  readonly cause: string;
  /** Number of consecutive checks with too little credit for rentals. */
  readonly low: number;
}

export interface KeyChecksOptions {
  readonly kube: KubeClient;
  readonly kept: KeptKeys;
  readonly clock: Clock;
  readonly intervalMs: number;
  /** The market for one key, whose calls use the rate limit of its login if that is known. */
  readonly marketFor: (trial: KeyTrial, login: Login | undefined) => Pick<Market, 'login' | 'mayDestroy'>;
}

/** A key of an account to verify at a marketplace. */
export interface KeyTrial {
  /** Uid of the account. */
  readonly uid: string;
  readonly url: string;
  /** Name of the market. */
  readonly market: string;
  readonly key: Secret;
}

type Aside = ReconcileContext['aside'];

/** Minimum pause before a refused key is verified again, however often it is requested. */
const MIN_PAUSE_MS = 1_000;
/**
 * Pause after a check without an answer; doubled each time. Longer than the marketplace's longest pause between calls.
 */
const UNANSWERED_PAUSE_MS = 5_000;
/**
 * Maximum time for which one wrong credit stops rentals: if the first reply shows too little, a second one follows.
 */
const CREDIT_PAUSE_MS = 10_000;
/**
 * Interval after which the stored Secret is read again: a user may have deleted it, and only the last key can end
 * machines.
 */
const KEPT_BELIEVED_MS = 3_600_000;
/** Interval in which an existing account is always checked. */
const INTERVALS_REMEMBERED = 10;
/** Number of cached keys of an account: the key in the user's Secret, and the stored one. */
const KEYS_REMEMBERED = 2;

/**
 * Reads and verifies keys: every minute, when the spec or a request changes, and when the marketplace refused one. It
 * retries sooner if the marketplace did not answer or a second reply must agree, because a new process cannot act
 * before.
 */
export class KeyChecks {
  readonly #options: KeyChecksOptions;
  readonly #byUid = new Map<string, Remembered>();
  /** Known content of the kept Secrets, with its time on `clock.monotonic()`. */
  readonly #keptKeys = new Map<string, { readonly key: Secret; readonly at: number }>();
  readonly #refused = new Set<string>();
  /** Users of the latest keys by account uid. The kept key is usually that of the user: one proof serves both. */
  readonly #named = new Map<string, readonly NamedUser[]>();

  constructor(options: KeyChecksOptions) {
    this.#options = options;
  }

  /**
   * Requests a check of key and credit at the next reconcile: the marketplace refused the key, or stopped a machine by
   * itself.
   */
  recheck(uid: string): void {
    this.#refused.add(uid);
  }

  /** Records the key that was just written to the kept Secret. */
  nowKept(uid: string, key: Secret): void {
    this.#keptKeys.set(uid, { key, at: this.#options.clock.monotonic() });
  }

  /** Removes a deleted account. Without this call it is removed when it has not been checked for long. */
  forget(uid: string): void {
    this.#byUid.delete(uid);
    this.#keptKeys.delete(uid);
    this.#refused.delete(uid);
    this.#named.delete(uid);
  }

  /**
   * Returns the latest check, repeated if it is due; it waits for the marketplace `aside`. Rejects if the API server
   * does not answer.
   */
  async check(account: MarketplaceAccount, url: string, aside: Aside): Promise<KeyCheck> {
    const uid = uidOf(account);
    const before = this.#byUid.get(uid);
    const { name, key } = account.spec.apiKeySecretRef;
    const cause = JSON.stringify([name, key, account.metadata.annotations?.[annotations.requestedAt] ?? '']);
    const check =
      before && !this.#isDue(uid, before, cause)
        ? before
        : this.#remember(account, cause, await this.#make(account, url, aside));
    const { reading, proof, failingSince, unanswered, at: checkedAt } = check;
    const againInMs = Math.max(0, this.#pauseAfter(check) - this.#ageOf(check));
    const keyKept = this.#isKept(uid, proof);
    return { reading, proof, failingSince, unanswered, checkedAt, againInMs, keyKept };
  }

  #remember(account: MarketplaceAccount, cause: string, finding: Finding): Remembered {
    const { proof } = finding;
    const uid = uidOf(account);
    const isUnanswered = proof.type === 'failed' && isInconclusive(proof.failure);
    const last = this.#byUid.get(uid);
    const unanswered = isUnanswered ? (last?.unanswered ?? 0) + 1 : 0;
    const hasFailed = proof.type === 'failed';
    const failingSince = hasFailed ? (last?.failingSince ?? this.#options.clock.now()) : undefined;
    const low = isCreditLow(proof, account) ? (last?.low ?? 0) + 1 : 0;
    const at = this.#options.clock.monotonic();
    const remembered = { ...finding, cause, unanswered, failingSince, low, at };
    this.#refused.delete(uid);
    this.#byUid.set(uid, remembered);
    const longest = INTERVALS_REMEMBERED * this.#options.intervalMs;
    for (const [other, check] of this.#byUid) if (this.#ageOf(check) > longest) this.forget(other);
    return remembered;
  }

  #isDue(uid: string, before: Remembered, cause: string): boolean {
    if (before.cause !== cause) return true;
    const age = this.#ageOf(before);
    if (age >= this.#pauseAfter(before)) return true;
    return this.#refused.has(uid) && age >= MIN_PAUSE_MS;
  }

  #ageOf({ at }: { readonly at: number }): number {
    return this.#options.clock.monotonic() - at;
  }

  #pauseAfter({ unanswered, proof, low }: Remembered): number {
    const { intervalMs } = this.#options;
    if (proof.type === 'unconfirmed') return CONFIRMATION_MS;
    if (low === 1) return Math.min(intervalMs, CREDIT_PAUSE_MS);
    return unanswered === 0 ? intervalMs : Math.min(intervalMs, UNANSWERED_PAUSE_MS * 2 ** (unanswered - 1));
  }

  async #make(account: MarketplaceAccount, url: string, aside: Aside): Promise<Finding> {
    const prove = (key: Secret, source: KeySource) =>
      aside(() => this.#prove({ uid, url, key, market: marketOf(account) }, source, account.status?.login));
    const { name, key: keyName } = account.spec.apiKeySecretRef;
    const uid = uidOf(account);
    const ref = { namespace: account.metadata.namespace, name };
    const reading = await readKeySecret(this.#options.kube, ref, keyName);
    const own: KeyProof = reading.type === 'key' ? await prove(reading.key, 'user') : { type: 'none' };
    if (!needsFallbackKey(own, account)) return { reading, proof: own };
    const kept = await this.#options.kept.read(uid);
    if (!kept || (reading.type === 'key' && kept.equals(reading.key))) return { reading, proof: own };
    const proof = await prove(kept, 'kept');
    return { reading, proof: chooseProof(own, proof) };
  }

  /**
   * Requests the user of the key. If two replies agree on it and the key is new, tests whether the key may destroy.
   */
  async #prove(trial: KeyTrial, source: KeySource, pinned: PinnedLogin | undefined): Promise<KeyProof> {
    const { url, key } = trial;
    const { marketFor, clock } = this.#options;
    try {
      const askedAt = clock.monotonic();
      const market = marketFor(trial, undefined);
      const first = await market.login();
      // A session ends only if two replies name another user.
      const isOther = pinned !== undefined && !sameLogin(pinned, { url, userId: first.id });
      const user = isOther ? await market.login() : first;
      const login = { url, userId: user.id };
      const named = namedAfter(this.#namedBy(trial), { key, login, askedAt });
      this.#rememberNamed(trial.uid, named);
      if (!named.isConfirmed) return { type: 'unconfirmed', source, login };
      const mayDestroy = named.mayDestroy || (await marketFor(trial, login).mayDestroy());
      this.#rememberNamed(trial.uid, { ...named, mayDestroy });
      return { type: 'proven', source, key, login, user, mayDestroy };
    } catch (error) {
      if (!(error instanceof MarketplaceError)) throw error;
      const failure = failureOf(error);
      const named = this.#namedBy(trial);
      if (named && !isInconclusive(failure)) this.#rememberNamed(trial.uid, { ...named, mayDestroy: false });
      return { type: 'failed', source, failure };
    }
  }

  /** Returns the user in earlier replies about this very key, from either Secret. */
  #namedBy({ uid, key }: KeyTrial): NamedUser | undefined {
    return this.#named.get(uid)?.find((named) => named.key.equals(key));
  }

  #rememberNamed(uid: string, named: NamedUser): void {
    const others = (this.#named.get(uid) ?? []).filter(({ key }) => !key.equals(named.key));
    this.#named.set(uid, [named, ...others].slice(0, KEYS_REMEMBERED));
  }

  #isKept(uid: string, proof: KeyProof): boolean {
    if (proof.type !== 'proven') return false;
    const kept = this.#keptKeys.get(uid);
    const isKnown = kept !== undefined && this.#ageOf(kept) < KEPT_BELIEVED_MS && kept.key.equals(proof.key);
    return isKnown || proof.source === 'kept';
  }
}

/** Returns true if the credit is too low; a reply without a figure is not. */
function isCreditLow(proof: KeyProof, account: MarketplaceAccount): boolean {
  const credit = proof.type === 'proven' ? proof.user.credit : undefined;
  return credit !== undefined && credit <= (limitsOf(account).minCredit ?? 0);
}
