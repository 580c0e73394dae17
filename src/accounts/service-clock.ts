import type { Clock } from '../lib/clock.ts';
import { parseHttpDate } from '../lib/time.ts';

/** Time of the service. */
export type ServiceTime =
  | {
      readonly type: 'known';
      readonly at: number;
      /** Two complete lists agree on it: enough to destroy by a time limit. */
      readonly isConfirmed: boolean;
    }
  /** The service has not sent a time yet, or never does. */
  | { readonly type: 'unknown' }
  /**
   * A reply contradicts the known time or the operator's wall clock, or the operator's clocks disagree. Later replies
   * decide.
   */
  | {
      readonly type: 'stale';
      /** The time that was believed last: a witness, and no more. */
      readonly expected?: number;
    };

/** Maximum drift between the operator's two clocks from one reply to the next. */
const PARTED_MS = 5_000;
/** A `Date` further than this from the expected time is a step. A label's window allows as much before its issue. */
const STEP_MS = 60_000;
/** Replies after a step that must agree with it. */
const REPLIES_TO_BELIEVE = 2;
/** Complete lists that must agree before a time limit may destroy. */
const LISTS_TO_CONFIRM = 2;
/**
 * Minimum period for which a stepped time, or one that contradicts the operator's wall clock, must hold before it
 * counts.
 */
const STEP_SETTLES_MS = 60_000;
/** Odd, so that one outlier never moves the median. */
const MAX_SAMPLES = 5;

/** A time that contradicts what was known before, and the replies since that agree with it. */
interface Candidate {
  readonly offset: number;
  readonly agreed: number;
}

/**
 * The service's clock, from the `Date` of valid replies that show machines. A machine's start date comes from that
 * clock, so it is compared with that clock only: the operator's own may be wrong by an hour. Wrong replies do not
 * move the time. After a step of more than 60 s the time is stale until two later replies agree and no reply has
 * contradicted it for a minute, because costs derived from it are permanent. A median smooths smaller differences.
 */
export class ServiceClock {
  readonly #clock: Clock;
  /**
   * `Date` minus the operator's monotonic clock, of the latest replies that agree. Empty if nothing is known.
   */
  #offsets: readonly number[] = [];
  /** The operator's wall clock minus its monotonic clock at the latest reply. */
  #wallOffset = 0;
  #candidate: Candidate | undefined;
  #agreedSinceList = false;
  #agreeingLists = 0;
  /** Monotonic time before which the service's time does not count, because it was stepped. */
  #settlesAt = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Records a good reply that shows machines. A reply from a cache (`Age`) has an old time and does not count. */
  onReply(headers: Readonly<Record<string, string>>): void {
    const date = parseHttpDate(headers['date']);
    if (date === undefined || Number(headers['age'] ?? 0) > 0) return;
    const monotonic = this.#clock.monotonic();
    const wallOffset = this.#clock.now() - monotonic;
    const offset = date - monotonic;
    const parted = wallOffset - this.#wallOffset;
    const known = median(this.#offsets);
    this.#wallOffset = wallOffset;
    if (known === undefined) {
      if (isNear(offset, wallOffset)) this.#begin(offset);
      else this.#suspect(offset, monotonic);
    } else if (isNear(offset, known)) {
      this.#agree(offset);
    } else if (Math.abs(parted) > PARTED_MS && isNear(offset, known + parted)) {
      // The operator's computer slept: its monotonic clock stopped, and wall clock and service agree on the duration.
      this.#begin(offset);
    } else {
      this.#suspect(offset, monotonic);
    }
  }

  /** Records that a complete list arrived, after `onReply` had all of its replies. */
  onCompleteList(): void {
    if (this.#agreedSinceList) this.#agreeingLists += 1;
    this.#agreedSinceList = false;
  }

  /** Returns the service's time, with an error of one or two seconds from the `Date` header. */
  now(): ServiceTime {
    const known = median(this.#offsets);
    if (known === undefined) return this.#candidate ? { type: 'stale' } : { type: 'unknown' };
    const monotonic = this.#clock.monotonic();
    const parted = this.#clock.now() - monotonic - this.#wallOffset;
    const isSettling = monotonic < this.#settlesAt;
    const at = Math.floor(known + monotonic);
    if (this.#candidate || isSettling || Math.abs(parted) > PARTED_MS) return { type: 'stale', expected: at };
    return {
      type: 'known',
      at,
      isConfirmed: this.#agreeingLists >= LISTS_TO_CONFIRM,
    };
  }

  #begin(offset: number): void {
    this.#offsets = [];
    this.#agreeingLists = 0;
    this.#agree(offset);
  }

  #agree(offset: number): void {
    this.#offsets = [...this.#offsets, offset].slice(-MAX_SAMPLES);
    this.#candidate = undefined;
    this.#agreedSinceList = true;
  }

  /** Records a step, or a first reply far from the operator's wall clock: it is believed once later replies agree. */
  #suspect(offset: number, monotonic: number): void {
    const candidate = this.#candidate;
    const agreed = candidate && isNear(offset, candidate.offset) ? candidate.agreed + 1 : 0;
    if (agreed < REPLIES_TO_BELIEVE) {
      this.#candidate = { offset, agreed };
      // After a contradiction a step must hold for the whole period again.
      if (monotonic < this.#settlesAt) this.#settlesAt = monotonic + STEP_SETTLES_MS;
      return;
    }
    this.#begin(offset);
    this.#settlesAt = monotonic + STEP_SETTLES_MS;
  }
}

/**
 * Returns the service's time (epoch milliseconds), or the operator's if the service never sends one. Undefined while it
 * is stale.
 */
export function serviceNow(time: ServiceTime, now: number): number | undefined {
  if (time.type === 'stale') return undefined;
  return time.type === 'known' ? time.at : now;
}

/**
 * Returns the service's time (epoch milliseconds) by which a machine may be destroyed for its age. Two complete lists
 * must agree on it; undefined until then. For a service that never sends its time it is the operator's time (`own`).
 */
export function confirmedNow(time: ServiceTime, own: number): number | undefined {
  if (time.type === 'unknown') return own;
  return time.type === 'known' && time.isConfirmed ? time.at : undefined;
}

/**
 * Returns the time of an answer by the service's clock (epoch milliseconds). It is the answer's `Date` if that agrees
 * with the service's time or, while that is stale, with the operator's time (`now`). Otherwise it is the last
 * believed service time, else the operator's time. A wrong `Date` of one answer must not become a start or a cost.
 */
export function timeOfAnswer(date: number | undefined, time: ServiceTime, now: number): number {
  const expected = believedNow(time, now);
  const witnesses = time.type === 'stale' ? [expected, now] : [expected];
  return date !== undefined && witnesses.some((witness) => isNear(date, witness)) ? date : expected;
}

/**
 * Returns the service's time that was believed last, with the time elapsed since: also while it is stale. Undefined if
 * none was believed. What machines have cost counts until then: a wall clock may be set at any time.
 */
export function believedTime(time: ServiceTime): number | undefined {
  switch (time.type) {
    case 'known':
      return time.at;
    case 'stale':
      return time.expected;
    case 'unknown':
      return undefined;
  }
}

/**
 * Returns the time (epoch milliseconds) that dates costs and ends of machines: the service's time that was believed
 * last, or the operator's (`own`) if none was believed. It dates what cannot wait until the service's time is known.
 */
export function believedNow(time: ServiceTime, own: number): number {
  return believedTime(time) ?? own;
}

function isNear(time: number, other: number): boolean {
  return Math.abs(time - other) <= STEP_MS;
}

/**
 * Returns the median of the samples. If their number is even, it leaves out the newest, so that the newest alone
 * never decides.
 */
function median(samples: readonly number[]): number | undefined {
  const odd = samples.length % 2 === 0 ? samples.slice(0, -1) : samples;
  return odd.toSorted((left, right) => left - right)[(odd.length - 1) / 2];
}
