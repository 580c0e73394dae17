import type { Clock } from '../../lib/clock.ts';

/**
 * The time that a call may take in all. It counts by whichever clock has gone further, because the monotonic one
 * can stand still while a machine is frozen, and a call must not leave after its time.
 */
export class Allowance {
  readonly #clock: Clock;
  readonly #ms: number;
  readonly #monotonicStart: number;
  readonly #wallStart: number;

  constructor(clock: Clock, ms: number = Number.POSITIVE_INFINITY) {
    this.#clock = clock;
    this.#ms = ms;
    this.#monotonicStart = clock.monotonic();
    this.#wallStart = clock.now();
  }

  /** Milliseconds that are left; 0 where none are. */
  leftMs(): number {
    const elapsed = Math.max(
      this.#clock.monotonic() - this.#monotonicStart,
      this.#clock.now() - this.#wallStart,
    );
    return Math.max(0, this.#ms - elapsed);
  }
}
