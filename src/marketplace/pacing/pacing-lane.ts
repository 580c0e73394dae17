import type { CallWindow, EndpointClass } from './endpoint-class.ts';
import type { Slot } from './pacing-slot.ts';
import { afterThrottling, NO_SLOW_DOWN, slowedGap } from './slow-down.ts';

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
  held: Slot | undefined;
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
    return Math.max(this.#nextStart, this.held?.expiresAt ?? Number.NEGATIVE_INFINITY);
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

  /** Takes a waiter out of the queue; false where it was no longer in it. */
  remove(waiter: Waiter): boolean {
    const index = this.waiting.indexOf(waiter);
    if (index < 0) return false;
    this.waiting.splice(index, 1);
    return true;
  }
}
