import { type KeptKeys, type KeyReading, readKeySecret } from '../../accounts/api-keys.ts';
import type { MarketplaceAccount } from '../../api/v1alpha1/marketplace-account.ts';
import { annotations } from '../../api/v1alpha1/names.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Secret } from '../../lib/secret.ts';
import type { MarketplaceClient } from '../../marketplace/client.ts';
import { MarketplaceError } from '../../marketplace/errors/errors.ts';
import type { Login } from '../../ownership/login.ts';
import type { ReconcileContext } from '../../runtime/controller.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { uidOf } from '../../runtime/kube/kube-object.ts';
import {
  chooseProof,
  failureOf,
  isInconclusive,
  type KeyProof,
  type KeySource,
  needsFallbackKey,
} from './key-proof.ts';

/** What the latest check of an account's key found. */
export interface KeyCheck {
  readonly reading: KeyReading;
  readonly proof: KeyProof;
  /** The proven key is also the one that is kept. */
  readonly keyKept: boolean;
  /** Milliseconds until the next check is due. */
  readonly againInMs: number;
}

type Finding = Pick<KeyCheck, 'reading' | 'proof'>;

interface Remembered extends Finding {
  /** On `clock.monotonic()`. */
  readonly at: number;
  /** How many checks in a row only failed to arrive. */
  readonly unanswered: number;
  /** What the check depended on: another value makes it stale at once. */
  readonly cause: string;
}

export interface KeyChecksOptions {
  readonly kube: KubeClient;
  readonly kept: KeptKeys;
  readonly clock: Clock;
  readonly intervalMs: number;
  /** A client for one key, whose calls keep the pace of its login as far as that is known. */
  readonly clientFor: (trial: KeyTrial, login: Login | undefined) => MarketplaceClient;
}

/** A key of an account, to be tried at a marketplace. */
export interface KeyTrial {
  /** The account's. */
  readonly uid: string;
  readonly url: string;
  readonly key: Secret;
}

type Aside = ReconcileContext['aside'];

/** A refused key is tried again no sooner than this, however often someone asks. */
const MIN_PAUSE_MS = 1_000;
/** After a check that only failed to arrive; doubled each time. Longer than the marketplace's longest pause between calls. */
const UNANSWERED_PAUSE_MS = 5_000;
/** The kept Secret is looked at again after this: someone may have deleted it, and only the last key can end machines. */
const KEPT_BELIEVED_MS = 3_600_000;
/** An account that is there is checked in each interval. */
const INTERVALS_REMEMBERED = 10;
/** No machine ever has it: destroying it only shows whether the key may destroy. */
const NO_INSTANCE = '0';

/**
 * Reads and proves keys: every minute, when the spec or a request changes, when the marketplace refused one, and
 * sooner where the marketplace did not answer: a process that has just started can do nothing before.
 */
export class KeyChecks {
  readonly #options: KeyChecksOptions;
  readonly #byUid = new Map<string, Remembered>();
  /** What is in the kept Secrets, as far as this process knows, and since when on `clock.monotonic()`. */
  readonly #keptKeys = new Map<string, { readonly key: Secret; readonly at: number }>();
  readonly #refused = new Set<string>();

  constructor(options: KeyChecksOptions) {
    this.#options = options;
  }

  /** The marketplace refused the key in use: the next pass reads it again. */
  refused(uid: string): void {
    this.#refused.add(uid);
  }

  /** The key that was just put into the kept Secret. */
  nowKept(uid: string, key: Secret): void {
    this.#keptKeys.set(uid, { key, at: this.#options.clock.monotonic() });
  }

  /** The account is gone. One that nobody says this of is forgotten when it has not been checked for long. */
  forget(uid: string): void {
    this.#byUid.delete(uid);
    this.#keptKeys.delete(uid);
    this.#refused.delete(uid);
  }

  /**
   * The latest check, made again where it is due; the marketplace is waited for `aside`. Rejects if the API server does
   * not answer.
   */
  async check(account: MarketplaceAccount, url: string, aside: Aside): Promise<KeyCheck> {
    const uid = uidOf(account);
    const before = this.#byUid.get(uid);
    const { name, key } = account.spec.apiKeySecretRef;
    const cause = JSON.stringify([name, key, account.metadata.annotations?.[annotations.requestedAt] ?? '']);
    const check =
      before && !this.#isDue(uid, before, cause)
        ? before
        : this.#remember(uid, cause, await this.#make(account, { url, aside, before: before?.proof }));
    const { reading, proof } = check;
    const againInMs = Math.max(0, this.#pauseAfter(check) - this.#ageOf(check));
    return { reading, proof, againInMs, keyKept: this.#isKept(uid, proof) };
  }

  #remember(uid: string, cause: string, finding: Finding): Remembered {
    const { proof } = finding;
    const isUnanswered = proof.type === 'failed' && isInconclusive(proof.failure);
    const unanswered = isUnanswered ? (this.#byUid.get(uid)?.unanswered ?? 0) + 1 : 0;
    const remembered = { ...finding, cause, unanswered, at: this.#options.clock.monotonic() };
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

  #pauseAfter({ unanswered }: Remembered): number {
    const { intervalMs } = this.#options;
    return unanswered === 0 ? intervalMs : Math.min(intervalMs, UNANSWERED_PAUSE_MS * 2 ** (unanswered - 1));
  }

  async #make(
    account: MarketplaceAccount,
    {
      url,
      aside,
      before,
    }: { readonly url: string; readonly aside: Aside; readonly before: KeyProof | undefined },
  ): Promise<Finding> {
    const prove = (key: Secret, source: KeySource) =>
      aside(() => this.#prove({ uid, url, key }, source, before));
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

  /** Asks whose the key is, and, for a key not seen before, whether it may destroy. */
  async #prove(trial: KeyTrial, source: KeySource, before: KeyProof | undefined): Promise<KeyProof> {
    const { url, key } = trial;
    const { clientFor } = this.#options;
    try {
      const user = await clientFor(trial, undefined).users.current();
      const login = { url, userId: user.id };
      const known = before?.type === 'proven' && before.key.equals(key) && before.mayDestroy;
      const mayDestroy = known || (await mayDestroyWith(clientFor(trial, login)));
      return { type: 'proven', source, key, login, user, mayDestroy };
    } catch (error) {
      if (!(error instanceof MarketplaceError)) throw error;
      return { type: 'failed', source, failure: failureOf(error) };
    }
  }

  #isKept(uid: string, proof: KeyProof): boolean {
    if (proof.type !== 'proven') return false;
    const kept = this.#keptKeys.get(uid);
    const isKnown = kept !== undefined && this.#ageOf(kept) < KEPT_BELIEVED_MS && kept.key.equals(proof.key);
    return isKnown || proof.source === 'kept';
  }
}

/** Permission is checked before existence, so `notFound` shows that the key may destroy. */
async function mayDestroyWith(client: MarketplaceClient): Promise<boolean> {
  try {
    await client.instances.destroy(NO_INSTANCE);
    return true;
  } catch (error) {
    if (!(error instanceof MarketplaceError)) throw error;
    if (error.kind === 'forbidden' || error.kind === 'unauthorized') return false;
    if (error.kind === 'notFound' || error.kind === 'invalidRequest' || error.kind === 'refused') return true;
    throw error;
  }
}
