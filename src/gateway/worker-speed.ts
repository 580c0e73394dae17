/** A measurement takes so long at least, and ends with the end of a request, as it began. Milliseconds. */
const WINDOW_MS = 10_000;
/** Of so many requests at least, and of as many as the worker had then: before that, those that take long are missing. */
const WINDOW_ENDS = 8;
/** At most of so many. */
const MAX_WINDOW_ENDS = 50;
/** What is at least so much of another figure is about the same. */
const ABOUT = 0.9;
/** So many requests together say how long they take: a single one says little of the next. */
const COMPARED = 4;
/** A worker that had less than this part of what it had before, at any time, was not busy with that in the end. */
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
  readonly done: number;
  /** How long those requests took, together. */
  readonly tookMs: number;
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

  /** `share`: the part of the worker's work that was this picker's since the last call. Call it before that changes. */
  pass(share: number, now: number): void {
    if (this.#window)
      this.#window = { ...this.#window, ownMs: this.#window.ownMs + share * (now - this.#at) };
    this.#at = now;
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
      ends: before.ends + 1,
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
      done: 0,
      tookMs: 0,
      ends: 0,
      least,
      most: 0,
      wasAlwaysFull: true,
    };
  }

  #measure(window: Window, maxQueueTimeMs: number): boolean {
    const { done, ownMs, least } = window;
    if (done <= 0 || ownMs <= 0) return false;
    const rate = (1000 * done) / ownMs;
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
