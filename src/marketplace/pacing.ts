import type { Clock } from '../lib/clock.ts';
import type { EndpointClass } from './endpoint-class.ts';

/** A place that a call holds while it is in flight. */
export interface Permit {
  /** Gives the place back; later calls do nothing. */
  release(): void;
}

/** The next place of a class, kept for one call until it is used, released or expired. */
export interface Slot {
  readonly endpointClass: EndpointClass;
  /** Milliseconds on `clock.monotonic()` at which it is worth nothing any more. */
  readonly expiresAt: number;
  /** Gives it back unused. */
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
 * One limiter per login. Two calls of one class never start closer than that class's gap; within a class
 * calls go in the order they came; where classes compete, destroy goes before rent before search before
 * get and list.
 */
export interface Pacer {
  /** Waits for a place. Rejects with a MarketplaceError of outcome `refused`, or the signal's reason. */
  acquire(endpointClass: EndpointClass, options?: AcquireOptions): Promise<Permit>;
  /** Takes the next place now for a call that follows within `holdMs`. undefined where none is free. */
  reserve(endpointClass: EndpointClass, holdMs: number): Slot | undefined;
  /** Milliseconds until a call of this class that asked now could start; 0 where at once. */
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
  /** Calls of one login in flight at once. Default 8. */
  readonly maxInFlight?: number;
}
