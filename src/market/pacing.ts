import type { Clock, Timer } from '../lib/clock.ts';
import { MarketplaceError } from './errors.ts';

/**
 * Classes of calls that a service paces together. Each has its own gap. If classes compete for a place in flight, the
 * earlier one in {@link CLASS_ORDER} has priority.
 */
export type EndpointClass =
  | 'destroy'
  | 'rent'
  | 'change'
  | 'command'
  | 'get'
  | 'list'
  | 'search'
  | 'volume'
  | 'groupCreate'
  | 'groupChange'
  | 'account'
  | 'other';

/** Priorities: calls that end billing, then decided changes, then reads. */
export const CLASS_ORDER: readonly EndpointClass[] = [
  'destroy',
  'rent',
  'change',
  'command',
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
 * start and label 1 s, a command on files 1.5 s, ten searches a minute, destroy 3 s, a new endpoint group 4 s, a rent 4.5 s, volumes 5.5 s).
 * Classes with 0 are slowed only after a 429. Those of {@link DOCUMENTED_WINDOWS} may come in bursts.
 */
export const DOCUMENTED_GAPS_MS: Readonly<Record<EndpointClass, number>> = {
  destroy: 3_000,
  rent: 4_500,
  change: 1_000,
  command: 1_500,
  search: 6_000,
  get: 2_000,
  list: 1_000,
  groupChange: 0,
  groupCreate: 4_000,
  volume: 5_500,
  account: 0,
  other: 0,
};

/** Maximum number of calls in a window of milliseconds, and the size of a burst within it. */
export interface CallWindow {
  readonly maxCalls: number;
  readonly ms: number;
  readonly burst: number;
}

/**
 * Classes that the public service limits per minute. After a burst the remaining calls of a window are spread evenly.
 */
export const DOCUMENTED_WINDOWS: Partial<Readonly<Record<EndpointClass, CallWindow>>> = {
  search: { maxCalls: 10, ms: 60_000, burst: 5 },
};

/** The next slot of a class, reserved for one call until it is used, released or expired. */
export interface Slot {
  readonly endpointClass: EndpointClass;
  /** Expiry on `clock.monotonic()`. */
  readonly expiresAt: number;
  /** Gives the slot back unused. */
  release(): void;
}

/** A slot that a call occupies while it is in flight. */
export interface Permit {
  /**
   * Checks, possibly for a long time, whether the call is still needed. The gap to the next call of the class begins
   * when the check ends. Rejects if `check` does.
   */
  checkBefore<T>(check: () => T | Promise<T>): Promise<T>;
  /** Releases the place; later calls have no effect. */
  release(): void;
}

/** Options of a request for a place. */
export interface AcquireOptions {
  readonly signal?: AbortSignal | undefined;
  /** Maximum milliseconds to wait; then it rejects with `throttled` (nothing was sent). Default 120,000. */
  readonly maxWaitMs?: number | undefined;
  /** A reserved slot: the call uses it immediately. */
  readonly slot?: Slot | undefined;
}

/**
 * The rate limiter of one login. Two calls of one class never start closer than the gap of the class, and a class
 * with a window never exceeds it. Within a class calls keep their order. If classes compete, the order is destroy,
 * rent, search, then get and list. A slot for one list exists in addition to those of all other calls, so machines
 * are observed at any load.
 */
export interface Pacer {
  /** Waits for a place. Rejects with a MarketplaceError of outcome `refused`, or with the signal's reason. */
  acquire(endpointClass: EndpointClass, options?: AcquireOptions): Promise<Permit>;
  /** Reserves the next slot for a call that follows within `holdMs`. Returns undefined if none is free. */
  reserve(endpointClass: EndpointClass, holdMs: number): Slot | undefined;
  /** Returns the milliseconds until a new call of this class could start; 0 if at once. */
  nextSlotMs(endpointClass: EndpointClass): number;
  /** Slows the class down after a 429, for at least `retryAfterMs`; it recovers by itself. */
  slowDown(endpointClass: EndpointClass, retryAfterMs?: number): void;
  /** Rejects all waiting calls and sets no more timers. */
  stop(): void;
}

/** Options of a limiter. */
export interface PacerOptions {
  readonly clock: Clock;
  /** Milliseconds per class that replace the documented ones. */
  readonly gapsMs?: Partial<Readonly<Record<EndpointClass, number>>>;
  /** Factor of all gaps. 0 disables spacing. Default 1. */
  readonly scale?: number;
  /** Maximum concurrent calls of a login, not counting one list. Default 8. */
  readonly maxInFlight?: number;
  /** The previous limiter of the same login, already stopped: its calls count, with its spacing. */
  readonly after?: Pacer;
}

const DEFAULT_MAX_WAIT_MS = 120_000;
const DEFAULT_MAX_IN_FLIGHT = 8;
/** Milliseconds added to each documented gap: calls arrive less evenly than they are sent. */
const ARRIVAL_MARGIN = 1.02;

/** Creates the limiter of one login. It sets a timer only while a call waits. */
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
  /** The limiter that continues with the same lanes: a check that ends here may start a call there. */
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

  /** Returns true if the call holds the reserved slot and the slot has not expired. */
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

  /** Starts all calls that may start now, in order of class, and sets the timer for the next one. */
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
    return new MarketplaceError('rate limit of the marketplace: no slot in time, so nothing was sent', {
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

/** A call that waits for a place. */
export interface Waiter {
  grant(): void;
  refuse(reason: unknown): void;
}

/** Maximum pause that one reply of a service may impose on a class. */
const MAX_PAUSE_MS = 600_000;

/** A class of calls of one login: its gap, its queue, and the time of its next call (monotonic milliseconds). */
export class Lane {
  readonly endpointClass: EndpointClass;
  readonly waiting: Waiter[] = [];
  reserved: Slot | undefined;
  inFlight = 0;
  /** Calls with a slot whose check runs before they are sent; no other call starts during the check. */
  checks = 0;
  readonly #gapMs: number;
  readonly #window: CallWindow | undefined;
  /** Start times of the calls of the window, oldest first. */
  #starts: readonly number[] = [];
  #nextStart = Number.NEGATIVE_INFINITY;
  #slowDown = NO_SLOW_DOWN;

  /** Calls of a class with a window are counted over it; otherwise each call keeps the gap from the previous one. */
  constructor(endpointClass: EndpointClass, gapMs: number, window?: CallWindow) {
    this.endpointClass = endpointClass;
    this.#gapMs = gapMs;
    this.#window = window;
  }

  /** Returns the earliest start of a call without a reserved slot. */
  readyAt(): number {
    return Math.max(this.#nextStart, this.reserved?.expiresAt ?? Number.NEGATIVE_INFINITY);
  }

  /** Returns the present milliseconds between two calls. */
  gapAt(now: number): number {
    return slowedGap(this.#gapMs, this.#slowDown, now);
  }

  /** Records the start of a call. */
  started(now: number): void {
    const gapMs = this.gapAt(now);
    if (!this.#window || gapMs > this.#gapMs) this.#nextStart = now + gapMs;
    if (this.#window) this.#countIn(this.#window, now);
  }

  /**
   * Records that the call that started last is sent only now. A pause that the service requested in between remains.
   */
  startedLater(now: number): void {
    const asked = this.#nextStart;
    this.#starts = this.#starts.slice(0, -1);
    this.started(now);
    this.#nextStart = Math.max(asked, this.#nextStart);
  }

  /**
   * Counts a call in a window: calls of a burst follow at once; the rest of the window is spread over its remaining
   * time.
   */
  #countIn({ maxCalls, ms, burst }: CallWindow, now: number): void {
    this.#starts = [...this.#starts.filter((start) => start > now - ms), now];
    const [oldest = now] = this.#starts;
    if (this.#starts.length < burst) return;
    const left = Math.max(1, maxCalls - this.#starts.length);
    this.#nextStart = Math.max(this.#nextStart, now + (oldest + ms - now) / left);
  }

  /** Records that the service asked for fewer calls. */
  throttled(now: number, retryAfterMs: number): void {
    this.#slowDown = afterThrottling(this.#slowDown, now);
    const pause = Math.max(this.gapAt(now), Math.min(retryAfterMs, MAX_PAUSE_MS));
    this.#nextStart = Math.max(this.#nextStart, now + pause);
  }

  /** Removes a waiter from the queue; returns false if it was no longer in it. */
  remove(waiter: Waiter): boolean {
    const index = this.waiting.indexOf(waiter);
    if (index < 0) return false;
    this.waiting.splice(index, 1);
    return true;
  }
}

/** Factor by which a class is slowed after a 429, and its start (monotonic milliseconds). */
export interface SlowDown {
  readonly factor: number;
  readonly since: number;
}

const MAX_FACTOR = 16;
const HALF_LIFE_MS = 30_000;
/** Gap after a 429 of a class without a documented gap. */
const MIN_GAP_MS = 250;

/** No slowdown. */
export const NO_SLOW_DOWN: SlowDown = { factor: 1, since: 0 };

/** Returns the factor at `now`: its excess over 1 halves every 30 s without another 429. */
export function factorAt(slowDown: SlowDown, now: number): number {
  const excess = (slowDown.factor - 1) * 0.5 ** ((now - slowDown.since) / HALF_LIFE_MS);
  return excess < 0.05 ? 1 : 1 + excess;
}

/** Returns twice the slowdown at `now`, at most sixteen. */
export function afterThrottling(slowDown: SlowDown, now: number): SlowDown {
  return { factor: Math.min(MAX_FACTOR, factorAt(slowDown, now) * 2), since: now };
}

/** Returns the milliseconds between two calls at `now`. */
export function slowedGap(gapMs: number, slowDown: SlowDown, now: number): number {
  const factor = factorAt(slowDown, now);
  return factor === 1 ? gapMs : Math.max(gapMs, MIN_GAP_MS) * factor;
}
