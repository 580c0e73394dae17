import type { EndpointClass } from './endpoint-class.ts';

/** The next place of a class, kept for one call until it is used, released or expired. */
export interface Slot {
  readonly endpointClass: EndpointClass;
  /** Milliseconds on `clock.monotonic()` at which it is worth nothing any more. */
  readonly expiresAt: number;
  /** Gives it back unused. */
  release(): void;
}
