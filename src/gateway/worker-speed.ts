/** Minimum milliseconds of a measurement. It begins and ends with the end of a request. */
const WINDOW_MS = 10_000;
/**
 * Number of requests that a measurement must contain; it must also contain as many as the worker had at its start. A
 * shorter measurement would miss long requests, and requests of other pickers, which the worker may serve after this
 * picker's.
 */
const WINDOW_ENDS = 8;
/** Maximum of that number. */
const MAX_WINDOW_ENDS = 50;
/** Ratio from which two figures count as equal. */
const ABOUT = 0.9;
/** Number of requests whose durations are compared together: a single duration predicts little. */
const COMPARED = 4;
/**
 * Share of its former work below which a worker's load is not that work any more: other work made its requests slow.
 */
const STEADY = 0.5;
/** Factor by which requests of a busy worker take longer per unit of work than its fastest ones. */
const SLOWED = 2;
/**
 * Number of consecutive measurements with equal results and less work which prove that the worker needs no more work.
 */
const CONFIRMATIONS = 3;
/** Number of significant figures: the rest is noise, and would change each report. */
const DIGITS = 3;

/** Load of a worker after an event. */
export interface WorkerLoad {
  /** Requests of the worker from this picker. */
  readonly requests: number;
  /** Work of the worker from all pickers. */
  readonly work: number;
  /** True if it accepts no more; undefined if its speed is unknown, so it accepts everything. */
  readonly isFull: boolean | undefined;
}

/** Load of a worker over some time. */
export interface WorkerShare {
  /** Share of its work that came from this picker. */
  readonly share: number;
  /** Requests of this picker. */
  readonly requests: number;
}

/** A request that a worker finished. */
export interface DoneRequest {
  readonly work: number;
  readonly tookMs: number;
}

interface Window {
  readonly since: number;
  /** Number of requests that it spans. */
  readonly lasts: number;
  /** Milliseconds, each weighted by this picker's share of the worker's work. */
  readonly ownMs: number;
  /** Milliseconds, each weighted by the number of this picker's requests on the worker. */
  readonly requestMs: number;
  readonly done: number;
  /** Total duration of those requests. */
  readonly tookMs: number;
  /** Number of them that began within it. */
  readonly ends: number;
  /** Minimum and maximum work of the worker during all of it. */
  readonly least: number;
  readonly most: number;
  readonly wasAlwaysFull: boolean;
}

const NONE = { work: 0, tookMs: 0, count: 0 };

/**
 * Measures the work per second of one worker. A measurement counts only while the worker is saturated: it accepted no
 * more all the time. Without a known speed, which would limit it, a worker is saturated if it never had less work than
 * it does within `maxQueueTime` and its requests took longer because of it. Otherwise the result would be the work that
 * it was given.
 *
 * Requests that began before the measurement were partly done before. It cannot be seen if the worker serves all at
 * once (a part of each was done before) or one after the other (all of them are done now): the lower figure counts, and
 * none if much of their time lies before. For the same reason a lower figure does not count if the worker had less work
 * than when it did more: a worker whose requests take longer than `maxQueueTime` would get less and less. A higher
 * figure counts half, since it may be chance; a lower one counts fully, since less work follows before the next.
 *
 * Pure: times are arguments, in milliseconds.
 */
export class WorkerSpeed {
  #perf: number | undefined;
  /** Work that the worker needs for that speed. */
  #provenWith = 0;
  #confirmed = 0;
  /** Minimum milliseconds per unit of work so far. */
  #quickest = Number.POSITIVE_INFINITY;
  #few = NONE;
  #requests = 0;
  #isLimited = false;
  #window: Window | undefined;
  #at = 0;

  /** Units of work per second; undefined before a measurement. */
  perf(): number | undefined {
    return this.#perf;
  }

  /** Records the load since the last call. Call it before the load changes. */
  pass({ share, requests }: WorkerShare, now: number): void {
    const window = this.#window;
    const ms = now - this.#at;
    this.#at = now;
    if (!window) return;
    const ownMs = window.ownMs + share * ms;
    this.#window = { ...window, ownMs, requestMs: window.requestMs + requests * ms };
  }

  /** Records a finished request. Returns true if it completed a measurement. */
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

  /** Drops the present measurement after a failure. */
  fail(): void {
    this.#window = undefined;
  }

  /** Sets the present load. Call it after each change. */
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
    // In a steady state the total duration of requests is the time multiplied by the number of requests: a longer one
    // began before.
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

  /**
   * Returns true if a worker without a limit was saturated: it had too much work all the time, which made its requests
   * slower.
   */
  #isBusy({ done, tookMs, least, most }: Window, limit: number): boolean {
    return least >= limit && least >= STEADY * most && tookMs / done >= SLOWED * this.#quickest;
  }

  /** Returns true if a rate is the worker's real speed, by its minimum work. */
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
