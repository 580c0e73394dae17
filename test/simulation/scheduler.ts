import type { Clock, Timer } from '../../src/lib/clock.ts';
import type { Random } from '../../src/lib/random.ts';

interface Task {
  readonly at: number;
  /** Seeded order among tasks of one time. */
  readonly tie: number;
  readonly sequence: number;
  run: (() => void) | undefined;
}

const before = (a: Task, b: Task): boolean =>
  a.at !== b.at ? a.at < b.at : a.tie !== b.tie ? a.tie < b.tie : a.sequence < b.sequence;

/**
 * Virtual time: one heap of tasks, run one by one; between two tasks every promise that can settle has
 * settled. The same seed gives the same order on every machine.
 */
export class Scheduler {
  readonly #heap: Task[] = [];
  readonly #random: Random;
  #now: number;
  #sequence = 0;
  /** Tasks run so far. */
  steps = 0;

  constructor(options: { readonly startMs: number; readonly random: Random }) {
    this.#now = options.startMs;
    this.#random = options.random;
  }

  get now(): number {
    return this.#now;
  }

  /** Runs `run` after `delayMs` of virtual time. */
  after(delayMs: number, run: () => void): Timer {
    this.#sequence += 1;
    const task: Task = {
      at: this.#now + Math.max(0, delayMs),
      tie: this.#random.next(),
      sequence: this.#sequence,
      run,
    };
    this.#push(task);
    return {
      cancel: () => {
        task.run = undefined;
      },
    };
  }

  /** Resolves after `delayMs` of virtual time. */
  pause(delayMs: number): Promise<void> {
    return new Promise((resolve) => this.after(delayMs, resolve));
  }

  /** Runs every task up to `untilMs`, calling `check` after each; ends early where that says false. */
  runUntil(untilMs: number, check: () => boolean): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    let isBegun = false;
    const step = (): boolean => {
      if (isBegun && !check()) return false;
      isBegun = true;
      const run = this.#takeDue(untilMs);
      if (run) run();
      else this.#now = Math.max(this.#now, untilMs);
      return run !== undefined;
    };
    const turn = (): void => {
      try {
        // Microtasks drain before an immediate runs: every promise that can settle has settled then.
        if (step()) setImmediate(turn);
        else resolve();
      } catch (error) {
        reject(error);
      }
    };
    setImmediate(turn);
    return promise;
  }

  /** Advances time to the next task up to `untilMs` and returns it; undefined if no task is left. */
  #takeDue(untilMs: number): (() => void) | undefined {
    for (let next = this.#heap[0]; next && next.at <= untilMs; next = this.#heap[0]) {
      this.#pop();
      const { at, run } = next;
      if (!run) continue;
      this.#now = at;
      this.steps += 1;
      return run;
    }
    return undefined;
  }

  /** Timers that have been set and not cancelled. */
  get pending(): number {
    return this.#heap.filter((task) => task.run !== undefined).length;
  }

  #push(task: Task): void {
    const heap = this.#heap;
    heap.push(task);
    let index = heap.length - 1;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      const above = heap[parent];
      if (!above || before(above, task)) break;
      heap[index] = above;
      heap[parent] = task;
      index = parent;
    }
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop();
    if (!last || heap.length === 0) return;
    let index = 0;
    for (;;) {
      const left = 2 * index + 1;
      if (left >= heap.length) break;
      const right = left + 1;
      const [leftTask, rightTask] = [heap[left], heap[right]];
      const child = rightTask && leftTask && before(rightTask, leftTask) ? right : left;
      const below = heap[child];
      if (!below || before(last, below)) break;
      heap[index] = below;
      index = child;
    }
    heap[index] = last;
  }
}

/** Returns the clock of the world and its users. */
export function worldClock(scheduler: Scheduler): Clock {
  return {
    now: () => scheduler.now,
    monotonic: () => scheduler.now,
    setTimer: (delayMs, run) => scheduler.after(delayMs, run),
  };
}
