/** A measurement takes so long at least, and ends with the end of a request, as it began. Milliseconds. */
const WINDOW_MS = 10_000;
/**
 * It lasts for so many requests at least, and for as many as the worker had then, which began and ended in it: before that
 * those that take long are missing, and the requests of other pickers, which the worker may take after all of ours.
 */
const WINDOW_ENDS = 8;
/** At most of so many. */
const MAX_WINDOW_ENDS = 50;
/** What is at least so much of another figure is about the same. */
const ABOUT = 0.9;
/** So many requests together say how long they take: a single one says little of the next. */
const COMPARED = 4;
/** A worker that has less than this part of what it had before is not busy with that: its requests took long by others. */
const STEADY = 0.5;
/** Requests of a worker that is busy take so many times as long, for their work, as those that it did quickest. */
const SLOWED = 2;
/** So many measurements in a row that are about the same with less work prove that the worker needs no more for it. */
const CONFIRMATIONS = 3;
/** Figures: the rest is noise, and would make each report another one. */
const DIGITS = 3;

/** What a worker has once an event is over. */
export interface WorkerLoad {
  /** Requests that it has from this picker. */
  readonly requests: number;
  /** Work that it has, from all pickers. */
  readonly work: number;
  /** It accepts no more; undefined where it accepts anything, since nothing is known of its speed. */
  readonly isFull: boolean | undefined;
}

/** What a worker had for some time. */
export interface WorkerShare {
  /** The part of its work that was this picker's. */
  readonly share: number;
  /** Requests of this picker. */
  readonly requests: number;
}

/** A request that a worker has done. */
export interface DoneRequest {
  readonly work: number;
  readonly tookMs: number;
}

interface Window {
  readonly since: number;
  /** It lasts for so many requests. */
  readonly lasts: number;
  /** Milliseconds, each weighted by the share of the worker's work that was ours. */
  readonly ownMs: number;
  /** Milliseconds, each weighted by the requests that the worker had of ours. */
  readonly requestMs: number;
  readonly done: number;
  /** How long those requests took, together. */
  readonly tookMs: number;
  /** Those of them that began in it. */
  readonly ends: number;
  /** The least and the most work that the worker had in all of it. */
  readonly least: number;
  readonly most: number;
  readonly wasAlwaysFull: boolean;
}

const NONE = { work: 0, tookMs: 0, count: 0 };

/**
 * Measures how much work one worker does per second. It counts only while the worker had more to do than it did: it
 * accepted no more all the time. Where no speed is known that would limit it, it is one that never had less than it does
 * within `maxQueueTime` and whose requests took longer by it. Otherwise it would measure what the worker was given.
 *
 * Of requests that began before the measurement a part was done before. Whether the worker serves all at once, and so did
 * a part of each, or one after the other, and so did all of them now, cannot be seen: the lower figure is taken, and none if
 * much of their time lies before.
 *
 * For the same reason a lower figure does not count where the worker had less work than when it did more: one whose requests
 * take longer than `maxQueueTime` would be given less and less. A higher one counts half, since it may be chance; a lower
 * one counts as it is, since less work is to follow before the next.
 *
 * Pure: times are arguments, in milliseconds.
 */
export class WorkerSpeed {
  #perf: number | undefined;
  /** The work that the worker needs to do that. */
  #provenWith = 0;
  #confirmed = 0;
  /** Milliseconds for a unit of work, when that was the least. */
  #quickest = Number.POSITIVE_INFINITY;
  #few = NONE;
  #requests = 0;
  #isLimited = false;
  #window: Window | undefined;
  #at = 0;

  /** Units of work per second; undefined before it was measured. */
  perf(): number | undefined {
    return this.#perf;
  }

  /** What it had since the last call. Call it before that changes. */
  pass({ share, requests }: WorkerShare, now: number): void {
    const window = this.#window;
    const ms = now - this.#at;
    this.#at = now;
    if (!window) return;
    const ownMs = window.ownMs + share * ms;
    this.#window = { ...window, ownMs, requestMs: window.requestMs + requests * ms };
  }

  /** The worker has done a request. True where its speed was measured by it. */
  done({ work, tookMs }: DoneRequest, maxQueueTimeMs: number, now: number): boolean {
    this.#compare(work, tookMs);
    const before = this.#window;
    if (!before) {
      this.#open(now);
      return false;
    }
    const window = {
      ...before,
      done: before.done + work,
      ends: before.ends + (now - tookMs >= before.since ? 1 : 0),
      tookMs: before.tookMs + tookMs,
    };
    this.#window = window;
    if (now - window.since < WINDOW_MS || window.ends < window.lasts) return false;
    this.#open(now);
    return this.#measure(window, maxQueueTimeMs);
  }

  /** It failed: what is measured now says nothing. */
  fail(): void {
    this.#window = undefined;
  }

  /** What the worker has now. Call it after each change. */
  rest({ requests, work, isFull }: WorkerLoad): void {
    this.#requests = requests;
    this.#isLimited = isFull !== undefined;
    const window = this.#window;
    if (!window) return;
    const least = Math.min(window.least, work);
    const most = Math.max(window.most, work);
    const wasAlwaysFull = window.wasAlwaysFull && isFull === true;
    this.#window = requests === 0 ? undefined : { ...window, least, most, wasAlwaysFull };
  }

  #compare(work: number, tookMs: number): void {
    const { work: before, tookMs: took, count } = this.#few;
    this.#few = { work: before + work, tookMs: took + tookMs, count: count + 1 };
    if (this.#few.count < COMPARED) return;
    if (this.#few.work > 0) this.#quickest = Math.min(this.#quickest, this.#few.tookMs / this.#few.work);
    this.#few = NONE;
  }

  #open(now: number): void {
    const least = Number.POSITIVE_INFINITY;
    const lasts = Math.min(MAX_WINDOW_ENDS, Math.max(WINDOW_ENDS, this.#requests));
    this.#window = {
      since: now,
      lasts,
      ownMs: 0,
      requestMs: 0,
      done: 0,
      tookMs: 0,
      ends: 0,
      least,
      most: 0,
      wasAlwaysFull: true,
    };
  }

  #measure(window: Window, maxQueueTimeMs: number): boolean {
    const { done, ownMs, requestMs, tookMs, least } = window;
    if (done <= 0 || ownMs <= 0 || requestMs < STEADY * tookMs) return false;
    // In a steady state requests take as long, together, as the worker has requests: more than that was before.
    const within = Math.min(1, requestMs / tookMs);
    const rate = (1000 * done * within) / ownMs;
    const wasBusy = this.#isLimited
      ? window.wasAlwaysFull
      : this.#isBusy(window, (rate * maxQueueTimeMs) / 1000);
    if (!wasBusy) return false;
    const before = this.#perf;
    if (!this.#isProven(rate, least)) return false;
    this.#perf = rounded(before === undefined || rate < before ? rate : (before + rate) / 2);
    return this.#perf !== before;
  }

  /** Of a worker without a limit: it had too much all the time, and its requests took longer by that. */
  #isBusy({ done, tookMs, least, most }: Window, limit: number): boolean {
    return least >= limit && least >= STEADY * most && tookMs / done >= SLOWED * this.#quickest;
  }

  /** Whether a rate says what the worker can do, by the least work that it had. */
  #isProven(rate: number, least: number): boolean {
    const perf = this.#perf ?? 0;
    this.#confirmed = rate >= ABOUT * perf ? this.#confirmed + 1 : 0;
    if (least > this.#provenWith || this.#confirmed >= CONFIRMATIONS) this.#provenWith = least;
    return rate >= perf || least >= ABOUT * this.#provenWith;
  }
}

function rounded(perf: number): number {
  return Number(perf.toPrecision(DIGITS));
}
