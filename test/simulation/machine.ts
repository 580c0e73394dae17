import type { Clock, Timer } from '../../src/lib/clock.ts';
import type { Scheduler } from './scheduler.ts';

/**
 * One operator process as the world sees it. Killed, nothing of it ever runs again: its timers do not fire
 * and no reply reaches it. Frozen, all of that waits until it thaws, with the wall clock gone on: a zombie.
 */
export class Machine {
  readonly name: string;
  readonly #scheduler: Scheduler;
  #alive = true;
  #frozenUntil = 0;
  readonly #timers = new Set<Timer>();
  /** Added to its wall clock. */
  wallSkewMs = 0;

  constructor(name: string, scheduler: Scheduler) {
    this.name = name;
    this.#scheduler = scheduler;
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

  /** The process's own clock: its timers die with it. */
  clock(): Clock {
    return {
      now: () => this.#scheduler.now + this.wallSkewMs,
      monotonic: () => this.#scheduler.now,
      setTimer: (delayMs, run) => this.#setTimer(delayMs, run),
    };
  }

  #setTimer(delayMs: number, run: () => void): Timer {
    const timer = this.#scheduler.after(delayMs, () => {
      this.#timers.delete(timer);
      this.deliver(run);
    });
    if (this.#alive) this.#timers.add(timer);
    return {
      cancel: () => {
        this.#timers.delete(timer);
        timer.cancel();
      },
    };
  }
}
