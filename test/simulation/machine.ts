import type { Clock, Timer } from '../../src/lib/clock.ts';
import type { Scheduler } from './scheduler.ts';

const MIN_DELAY_MS = 0.001;

/**
 * Operator process as the world sees it. Once killed, it never acts again: no timer fires and no response
 * arrives. While frozen, all of that waits, and the wall clock moves on.
 */
export class Machine {
  readonly name: string;
  readonly #scheduler: Scheduler;
  #alive = true;
  #frozenUntil = 0;
  readonly #monotonicFrom: number;
  readonly #timers = new Set<Timer>();
  /** Added to its wall clock. */
  wallSkewMs = 0;

  /** `monotonicMs`: first reading of its monotonic clock; the time of the world unless given. */
  constructor(name: string, scheduler: Scheduler, monotonicMs = scheduler.now) {
    this.name = name;
    this.#scheduler = scheduler;
    this.#monotonicFrom = scheduler.now - monotonicMs;
  }

  get alive(): boolean {
    return this.#alive;
  }

  kill(): void {
    this.#alive = false;
    for (const timer of this.#timers) timer.cancel();
    this.#timers.clear();
  }

  freeze(forMs: number): void {
    this.#frozenUntil = Math.max(this.#frozenUntil, this.#scheduler.now + forMs);
  }

  /** Runs `run` as soon as this process can: now, after it thaws, or never. */
  deliver(run: () => void): void {
    if (!this.#alive) return;
    const wait = this.#frozenUntil - this.#scheduler.now;
    if (wait > 0) this.#scheduler.after(wait, () => this.deliver(run));
    else run();
  }

  /** Returns the clock of the process: its timers end with it. */
  clock(): Clock {
    return {
      now: () => this.#scheduler.now + this.wallSkewMs,
      monotonic: () => this.#scheduler.now - this.#monotonicFrom,
      setTimer: (delayMs, run) => this.#setTimer(delayMs, run),
    };
  }

  #setTimer(delayMs: number, run: () => void): Timer {
    // A shorter delay would not move the time of the world, which has fewer digits than a monotonic clock.
    const timer = this.#scheduler.after(delayMs > 0 ? Math.max(delayMs, MIN_DELAY_MS) : delayMs, () => {
      this.#timers.delete(timer);
      this.deliver(run);
    });
    // Code that runs on until its next await after the process died: its timer would keep the memory of the process.
    if (this.#alive) this.#timers.add(timer);
    else timer.cancel();
    return {
      cancel: () => {
        this.#timers.delete(timer);
        timer.cancel();
      },
    };
  }
}
