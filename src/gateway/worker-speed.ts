/** A measurement takes so long at least, and ends with the end of a request, as it began. Milliseconds. */
const WINDOW_MS = 10_000;
/** Of so many requests at least. */
const WINDOW_ENDS = 4;
/** So much of the work that it had at a time when it did more says that it does less now. */
const COMPARABLE = 0.9;
/** Figures: the rest is noise, and would make each report another one. */
const DIGITS = 3;

/** What a worker has once an event is over. */
export interface WorkerLoad {
  /** Requests that it has from this picker. */
  readonly requests: number;
  /** Work that it has, from all pickers. */
  readonly work: number;
  /** It accepts no more. */
  readonly isFull: boolean;
}

interface Window {
  readonly since: number;
  /** Milliseconds, each weighted by the share of the worker's work that was ours. */
  readonly ownMs: number;
  readonly done: number;
  readonly ends: number;
  /** The least work that the worker had in all of it. */
  readonly least: number;
  readonly wasAlwaysFull: boolean;
}

/**
 * Measures how much work one worker does per second. It counts only while the worker had more to do than it did: it
 * accepted no more all the time, or never had less than it does within `maxQueueTime`. Otherwise it would measure what the
 * worker was given. For the same reason a lower figure does not count where the worker had less work than when it did more:
 * one whose requests take longer than `maxQueueTime` would be given less and less.
 *
 * Pure: times are arguments, in milliseconds.
 */
export class WorkerSpeed {
  #perf: number | undefined;
  /** The work that the worker had when it did that. */
  #provenWith = 0;
  #window: Window | undefined;
  #at = 0;

  /** Units of work per second; undefined before it was measured. */
  perf(): number | undefined {
    return this.#perf;
  }

  /** `share`: the part of the worker's work that was this picker's since the last call. Call it before that changes. */
  pass(share: number, now: number): void {
    if (this.#window)
      this.#window = { ...this.#window, ownMs: this.#window.ownMs + share * (now - this.#at) };
    this.#at = now;
  }

  /** The worker has done this work. True where its speed was measured by it. */
  done(work: number, maxQueueTimeMs: number, now: number): boolean {
    const before = this.#window;
    if (!before) {
      this.#open(now);
      return false;
    }
    const window = { ...before, done: before.done + work, ends: before.ends + 1 };
    this.#window = window;
    if (now - window.since < WINDOW_MS || window.ends < WINDOW_ENDS) return false;
    this.#open(now);
    return this.#measure(window, maxQueueTimeMs);
  }

  /** It failed: what is measured now says nothing. */
  fail(): void {
    this.#window = undefined;
  }

  rest({ requests, work, isFull }: WorkerLoad): void {
    const window = this.#window;
    if (!window) return;
    const least = Math.min(window.least, work);
    const wasAlwaysFull = window.wasAlwaysFull && isFull;
    this.#window = requests === 0 ? undefined : { ...window, least, wasAlwaysFull };
  }

  #open(now: number): void {
    const least = Number.POSITIVE_INFINITY;
    this.#window = { since: now, ownMs: 0, done: 0, ends: 0, least, wasAlwaysFull: true };
  }

  #measure({ done, ownMs, least, wasAlwaysFull }: Window, maxQueueTimeMs: number): boolean {
    if (done <= 0 || ownMs <= 0) return false;
    const rate = (1000 * done) / ownMs;
    if (!wasAlwaysFull && least < (rate * maxQueueTimeMs) / 1000) return false;
    const before = this.#perf;
    const isLess = before !== undefined && rate < before;
    if (isLess && least < COMPARABLE * this.#provenWith) return false;
    this.#provenWith = isLess ? Math.max(this.#provenWith, least) : least;
    this.#perf = rounded(before === undefined ? rate : (before + rate) / 2);
    return this.#perf !== before;
  }
}

function rounded(perf: number): number {
  return Number(perf.toPrecision(DIGITS));
}
