import type { FirstSearch, Refusal, RetryView } from './types.ts';

/** Minimum interval between two searches that explain why nothing matches. */
export const EXPLAINED_MS = 600_000;

/** Back-off of one thing that is tried again: failures in a row, the time of the next try, and the cause. */
export class Retry {
  refusal: Refusal | undefined;
  failures = 0;
  notBefore = 0;
  /** The search that a second one has to confirm. */
  firstSearch: FirstSearch | undefined;
  #waitsForAccount = false;
  #explained: { readonly refusal: Refusal; readonly at: number } | undefined;

  /** Records a failure: the next attempt comes after `afterMs`. */
  backOff(now: number, afterMs: number, refusal?: Refusal): void {
    this.#waitsForAccount = false;
    this.failures++;
    this.notBefore = now + afterMs;
    this.refusal = refusal;
  }

  /**
   * Records a refusal by the account. The next attempt follows after that time, or when the account changes.
   */
  refusedByAccount(now: number, afterMs: number, refusal: Refusal): void {
    this.backOff(now, afterMs, refusal);
    this.#waitsForAccount = true;
  }

  /** Records a change of the account's limits, key or credit: a refused request may be allowed now. */
  accountChanged(): void {
    if (this.#waitsForAccount) this.succeeded();
  }

  /** Clears the failures after a success. */
  succeeded(): void {
    this.#waitsForAccount = false;
    this.failures = 0;
    this.notBefore = 0;
    this.refusal = undefined;
    this.#explained = undefined;
  }

  /** Records the explanation of a broad search: it is valid for {@link EXPLAINED_MS}. */
  explain(refusal: Refusal, now: number): void {
    this.#explained = { refusal, at: now };
  }

  retryView(now: number): RetryView {
    const explained = this.#explained;
    return {
      refusal: this.refusal,
      explained: explained && now - explained.at < EXPLAINED_MS ? explained.refusal : undefined,
      failures: this.failures,
      notBefore: this.notBefore,
      firstSearch: this.firstSearch,
    };
  }
}
