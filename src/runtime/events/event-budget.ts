import type { Clock } from '../../lib/clock.ts';

const BURST = 25;
const REFILL_MS = 300_000;
/** Objects remembered before those with a full budget are forgotten. */
const SWEEP_AT = 4096;

/** How many events each object may still have: 25 at once, and one more every 5 minutes, as in client-go. */
export class EventBudget {
  readonly #clock: Clock;
  readonly #spent = new Map<string, { tokens: number; at: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** True, and one fewer left, where the object may have another. */
  take(objectId: string): boolean {
    const now = this.#clock.monotonic();
    if (this.#spent.size >= SWEEP_AT) this.#forgetFull(now);
    const tokens = this.#tokens(objectId, now);
    if (tokens < 1) return false;
    this.#spent.set(objectId, { tokens: tokens - 1, at: now });
    return true;
  }

  #tokens(objectId: string, now: number): number {
    const spent = this.#spent.get(objectId);
    return spent ? Math.min(BURST, spent.tokens + (now - spent.at) / REFILL_MS) : BURST;
  }

  #forgetFull(now: number): void {
    for (const objectId of this.#spent.keys()) {
      if (this.#tokens(objectId, now) >= BURST) this.#spent.delete(objectId);
    }
  }
}
