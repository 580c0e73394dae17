import type { Clock, Timer } from '../lib/clock.ts';
import { MarketplaceError } from './errors.ts';

/**
 * Calls that a service paces together. Each has its own gap; where they compete for a place in flight,
 * the earlier one in {@link CLASS_ORDER} goes first.
 */
export type EndpointClass =
  | 'destroy'
  | 'rent'
  | 'change'
  | 'get'
  | 'list'
  | 'search'
  | 'volume'
  | 'groupCreate'
  | 'groupChange'
  | 'account'
  | 'other';

/** Who goes first: what ends billing, then what was decided, then what only looks. */
export const CLASS_ORDER: readonly EndpointClass[] = [
  'destroy',
  'rent',
  'change',
  'search',
  'get',
  'list',
  'groupChange',
  'groupCreate',
  'volume',
  'account',
  'other',
];

/**
 * Milliseconds between two calls of a class (documented by the public service: a list 1 s, one instance 2 s, stop,
 * start and label 1 s, ten searches a minute, destroy 3 s, a new endpoint group 4 s, a rent 4.5 s, volumes 5.5 s).
 * Classes with 0 are slowed only after a 429. Those of {@link DOCUMENTED_WINDOWS} may come in bursts.
 */
export const DOCUMENTED_GAPS_MS: Readonly<Record<EndpointClass, number>> = {
  destroy: 3_000,
  rent: 4_500,
  change: 1_000,
  search: 6_000,
  get: 2_000,
  list: 1_000,
  groupChange: 0,
  groupCreate: 4_000,
  volume: 5_500,
  account: 0,
  other: 0,
};

/** So many calls within so many milliseconds, of which so many may follow each other at once. */
export interface CallWindow {
  readonly maxCalls: number;
  readonly ms: number;
  readonly burst: number;
}

/** Classes that the public service counts by the minute. After a burst the rest of a window is spread evenly over it. */
export const DOCUMENTED_WINDOWS: Partial<Readonly<Record<EndpointClass, CallWindow>>> = {
  search: { maxCalls: 10, ms: 60_000, burst: 5 },
};

/** The next place of a class, kept for one call until it is used, released or expired. */
export interface Slot {
  readonly endpointClass: EndpointClass;
  /** Milliseconds on `clock.monotonic()` at which it is worth nothing any more. */
  readonly expiresAt: number;
  /** Gives it back unused. */
  release(): void;
}

/** A place that a call holds while it is in flight. */
export interface Permit {
  /**
   * Checks whether the call is still wanted, which may take long: the next call of the class keeps its gap from when
   * that ends. Rejects as `check` does.
   */
  checkBefore<T>(check: () => T | Promise<T>): Promise<T>;
  /** Gives the place back; later calls do nothing. */
  release(): void;
}

/** How a call asks for its place. */
export interface AcquireOptions {
  readonly signal?: AbortSignal | undefined;
  /** Rejects with `throttled` (nothing was sent) when no place is free by then. Default 120,000. */
  readonly maxWaitMs?: number | undefined;
  /** A place reserved before: it is used at once, without waiting. */
  readonly slot?: Slot | undefined;
}

/**
 * One limiter per login. Two calls of one class never start closer than that class's gap, and of a class with a window
 * never more within it than the service allows; within a class calls go in the order they came; if classes compete,
 * destroy goes before rent before search before get and list. One list is always in flight beside all others: whatever
 * they wait for, the machines are looked at.
 */
export interface Pacer {
  /** Waits for a place. Rejects with a MarketplaceError of outcome `refused`, or the signal's reason. */
  acquire(endpointClass: EndpointClass, options?: AcquireOptions): Promise<Permit>;
  /** Takes the next place now for a call that follows within `holdMs`. undefined if none is free. */
  reserve(endpointClass: EndpointClass, holdMs: number): Slot | undefined;
  /** Milliseconds until a call of this class that asked now could start; 0 if at once. */
  nextSlotMs(endpointClass: EndpointClass): number;
  /** A 429 arrived: the class slows down, for at least `retryAfterMs`, and recovers by itself. */
  slowDown(endpointClass: EndpointClass, retryAfterMs?: number): void;
  /** Rejects everything that waits and sets no timer any more. */
  stop(): void;
}

/** How calls are spaced. */
export interface PacerOptions {
  readonly clock: Clock;
  /** Milliseconds per class, instead of the documented ones. */
  readonly gapsMs?: Partial<Readonly<Record<EndpointClass, number>>>;
  /** All gaps are multiplied by this. 0 switches spacing off. Default 1. */
  readonly scale?: number;
  /** Calls of one login in flight at once, beside one list. Default 8. */
  readonly maxInFlight?: number;
  /** The limiter that was stopped before this one, for the same login: its calls count, with its spacing. */
  readonly after?: Pacer;
}

const DEFAULT_MAX_WAIT_MS = 120_000;
const DEFAULT_MAX_IN_FLIGHT = 8;
/** Calls arrive a little less evenly than they leave: a gap is kept this much longer than documented. */
const ARRIVAL_MARGIN = 1.02;

/** Builds the limiter of one login. It sets a timer only while something waits. */
export function createPacer(options: PacerOptions): Pacer {
  return new LanePacer(options);
}

class LanePacer implements Pacer {
  readonly #clock: Clock;
  readonly #lanes: ReadonlyMap<EndpointClass, Lane>;
  readonly #maxInFlight: number;
  #inFlight = 0;
  #timer: Timer | undefined;
  #stopped = false;
  /** Who goes on after this one, with the same lanes: a check that ends here lets a call go there. */
  #successor: LanePacer | undefined;

  constructor(options: PacerOptions) {
    const scale = (options.scale ?? 1) * ARRIVAL_MARGIN;
    const gaps = { ...DOCUMENTED_GAPS_MS, ...options.gapsMs };
    this.#clock = options.clock;
    this.#maxInFlight = options.maxInFlight ?? DEFAULT_MAX_IN_FLIGHT;
    if (options.after instanceof LanePacer) {
      this.#lanes = options.after.#lanes;
      options.after.#successor = this;
      return;
    }
    this.#lanes = new Map(
      CLASS_ORDER.map((name) => {
        const window = options.gapsMs?.[name] === undefined ? DOCUMENTED_WINDOWS[name] : undefined;
        const scaled = window && scale > 0 ? { ...window, ms: window.ms * scale } : undefined;
        return [name, new Lane(name, gaps[name] * scale, scaled)];
      }),
    );
  }

  acquire(endpointClass: EndpointClass, options: AcquireOptions = {}): Promise<Permit> {
    const lane = this.#lane(endpointClass);
    if (this.#stopped) return Promise.reject(stoppedError());
    if (options.signal?.aborted) return Promise.reject(options.signal.reason);
    if (this.#useSlot(lane, options.slot)) return Promise.resolve(this.#start(lane));
    return this.#wait(lane, options);
  }

  reserve(endpointClass: EndpointClass, holdMs: number): Slot | undefined {
    const lane = this.#lane(endpointClass);
    const now = this.#clock.monotonic();
    const busy = lane.waiting.length > 0 || lane.checks > 0 || lane.readyAt() > now;
    if (busy || !this.#hasPlace(lane) || this.#stopped) return undefined;
    const slot: Slot = {
      endpointClass,
      expiresAt: now + holdMs,
      release: () => {
        if (lane.reserved !== slot) return;
        lane.reserved = undefined;
        this.#pump();
      },
    };
    lane.reserved = slot;
    return slot;
  }

  nextSlotMs(endpointClass: EndpointClass): number {
    const lane = this.#lane(endpointClass);
    const now = this.#clock.monotonic();
    return Math.max(0, lane.readyAt() - now) + lane.waiting.length * lane.gapAt(now);
  }

  slowDown(endpointClass: EndpointClass, retryAfterMs = 0): void {
    this.#lane(endpointClass).throttled(this.#clock.monotonic(), retryAfterMs);
    this.#pump();
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
    this.#timer = undefined;
    for (const lane of this.#lanes.values()) {
      lane.reserved = undefined;
      for (const waiter of lane.waiting.splice(0)) waiter.refuse(stoppedError());
    }
  }

  #lane(endpointClass: EndpointClass): Lane {
    const lane = this.#lanes.get(endpointClass);
    if (!lane) throw new TypeError(`no such endpoint class: ${endpointClass}`);
    return lane;
  }

  /** Whether the call holds the place that is kept, and still in time. */
  #useSlot(lane: Lane, slot: Slot | undefined): boolean {
    if (!slot || lane.reserved !== slot) return false;
    lane.reserved = undefined;
    return this.#clock.monotonic() < slot.expiresAt;
  }

  #wait(lane: Lane, { signal, maxWaitMs = DEFAULT_MAX_WAIT_MS }: AcquireOptions): Promise<Permit> {
    return new Promise((resolve, reject) => {
      const settle = (finish: () => void) => {
        timer.cancel();
        signal?.removeEventListener('abort', onAbort);
        finish();
      };
      const waiter: Waiter = {
        grant: () => settle(() => resolve(this.#start(lane))),
        refuse: (reason) => settle(() => reject(reason)),
      };
      const leave = (reason: unknown) => {
        if (lane.remove(waiter)) waiter.refuse(reason);
      };
      const onAbort = () => leave(signal?.reason);
      const timer = this.#clock.setTimer(maxWaitMs, () => leave(this.#tooLong(lane)));
      signal?.addEventListener('abort', onAbort, { once: true });
      lane.waiting.push(waiter);
      this.#pump();
    });
  }

  #start(lane: Lane): Permit {
    lane.started(this.#clock.monotonic());
    lane.inFlight += 1;
    this.#inFlight += 1;
    let reserved = true;
    return {
      checkBefore: (check) => this.#check(lane, check),
      release: () => {
        if (!reserved) return;
        reserved = false;
        lane.inFlight -= 1;
        this.#inFlight -= 1;
        this.#pump();
      },
    };
  }

  async #check<T>(lane: Lane, check: () => T | Promise<T>): Promise<T> {
    if (lane.gapAt(this.#clock.monotonic()) === 0) return check();
    lane.checks += 1;
    try {
      return await check();
    } finally {
      lane.checks -= 1;
      lane.startedLater(this.#clock.monotonic());
      this.#pump();
    }
  }

  /** Starts everything that may start now, in order of class, and sets the timer for what comes next. */
  #pump(): void {
    if (this.#stopped) {
      if (this.#successor) this.#successor.#pump();
      return;
    }
    for (const lane of this.#lanes.values()) this.#admit(lane);
    this.#timer?.cancel();
    this.#timer = undefined;
    const waitingLanes = [...this.#lanes.values()].filter(
      (lane) => lane.waiting.length > 0 && lane.checks === 0 && this.#hasPlace(lane),
    );
    if (waitingLanes.length === 0) return;
    const next = Math.min(...waitingLanes.map((lane) => lane.readyAt()));
    const delay = Math.max(0, Math.ceil(next - this.#clock.monotonic()));
    this.#timer = this.#clock.setTimer(delay, () => this.#pump());
  }

  #admit(lane: Lane): void {
    const mayStart = () => lane.checks === 0 && lane.readyAt() <= this.#clock.monotonic();
    while (this.#hasPlace(lane) && mayStart()) {
      const waiter = lane.waiting.shift();
      if (!waiter) return;
      waiter.grant();
    }
  }

  #hasPlace({ endpointClass, inFlight }: Lane): boolean {
    return this.#inFlight < this.#maxInFlight || (endpointClass === 'list' && inFlight === 0);
  }

  #tooLong(lane: Lane): MarketplaceError {
    return new MarketplaceError('the marketplace asks for fewer calls: no place in time, nothing was sent', {
      kind: 'throttled',
      outcome: 'refused',
      retryAfterMs: this.nextSlotMs(lane.endpointClass),
    });
  }
}

function stoppedError(): MarketplaceError {
  return new MarketplaceError('the client was stopped before the call was sent', {
    kind: 'aborted',
    outcome: 'refused',
  });
}

/** A call that waits for its place. */
export interface Waiter {
  grant(): void;
  refuse(reason: unknown): void;
}

/** A service may not silence a class for longer than this by one reply. */
const MAX_PAUSE_MS = 600_000;

/** One endpoint class of one login: its gap, its queue, and when its next call may start (monotonic milliseconds). */
export class Lane {
  readonly endpointClass: EndpointClass;
  readonly waiting: Waiter[] = [];
  reserved: Slot | undefined;
  inFlight = 0;
  /** Calls that have their place and are checked before they leave: until then no other one starts. */
  checks = 0;
  readonly #gapMs: number;
  readonly #window: CallWindow | undefined;
  /** When calls of the window started, oldest first. */
  #starts: readonly number[] = [];
  #nextStart = Number.NEGATIVE_INFINITY;
  #slowDown = NO_SLOW_DOWN;

  /** With a window calls are counted over it; without one each keeps the gap from the one before. */
  constructor(endpointClass: EndpointClass, gapMs: number, window?: CallWindow) {
    this.endpointClass = endpointClass;
    this.#gapMs = gapMs;
    this.#window = window;
  }

  /** The earliest start of a call that holds no reserved place. */
  readyAt(): number {
    return Math.max(this.#nextStart, this.reserved?.expiresAt ?? Number.NEGATIVE_INFINITY);
  }

  /** Milliseconds between two calls just now. */
  gapAt(now: number): number {
    return slowedGap(this.#gapMs, this.#slowDown, now);
  }

  /** A call starts. */
  started(now: number): void {
    const gapMs = this.gapAt(now);
    if (!this.#window || gapMs > this.#gapMs) this.#nextStart = now + gapMs;
    if (this.#window) this.#countIn(this.#window, now);
  }

  /** The call that started last leaves only now. A pause that the service asked for meanwhile holds. */
  startedLater(now: number): void {
    const asked = this.#nextStart;
    this.#starts = this.#starts.slice(0, -1);
    this.started(now);
    this.#nextStart = Math.max(asked, this.#nextStart);
  }

  /** Calls of a burst follow at once; what is left of the window is then spread over what is left of its time. */
  #countIn({ maxCalls, ms, burst }: CallWindow, now: number): void {
    this.#starts = [...this.#starts.filter((start) => start > now - ms), now];
    const [oldest = now] = this.#starts;
    if (this.#starts.length < burst) return;
    const left = Math.max(1, maxCalls - this.#starts.length);
    this.#nextStart = Math.max(this.#nextStart, now + (oldest + ms - now) / left);
  }

  /** The service asked for fewer calls. */
  throttled(now: number, retryAfterMs: number): void {
    this.#slowDown = afterThrottling(this.#slowDown, now);
    const pause = Math.max(this.gapAt(now), Math.min(retryAfterMs, MAX_PAUSE_MS));
    this.#nextStart = Math.max(this.#nextStart, now + pause);
  }

  /** Takes a waiter out of the queue; false if it was no longer in it. */
  remove(waiter: Waiter): boolean {
    const index = this.waiting.indexOf(waiter);
    if (index < 0) return false;
    this.waiting.splice(index, 1);
    return true;
  }
}

/** How much slower than its gap a class goes after a 429, and since when (monotonic milliseconds). */
export interface SlowDown {
  readonly factor: number;
  readonly since: number;
}

const MAX_FACTOR = 16;
const HALF_LIFE_MS = 30_000;
/** What a class without a documented gap falls back to after a 429. */
const MIN_GAP_MS = 250;

/** Full speed. */
export const NO_SLOW_DOWN: SlowDown = { factor: 1, since: 0 };

/** The factor at `now`: what exceeds 1 halves every 30 s without another 429. */
export function factorAt(slowDown: SlowDown, now: number): number {
  const excess = (slowDown.factor - 1) * 0.5 ** ((now - slowDown.since) / HALF_LIFE_MS);
  return excess < 0.05 ? 1 : 1 + excess;
}

/** Twice as slow as at `now`, up to sixteen times. */
export function afterThrottling(slowDown: SlowDown, now: number): SlowDown {
  return { factor: Math.min(MAX_FACTOR, factorAt(slowDown, now) * 2), since: now };
}

/** Milliseconds between two calls at `now`. */
export function slowedGap(gapMs: number, slowDown: SlowDown, now: number): number {
  const factor = factorAt(slowDown, now);
  return factor === 1 ? gapMs : Math.max(gapMs, MIN_GAP_MS) * factor;
}
