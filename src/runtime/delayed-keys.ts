import type { Clock, Timer } from '../lib/clock.ts';
import { MinHeap } from './min-heap.ts';

interface DelayedKey {
  readonly key: string;
  readonly at: number;
  readonly priority: number;
}

/** Keys that become due later, each at most once, in order of their times. Uses one timer. */
export class DelayedKeys {
  readonly #clock: Clock;
  readonly #onDue: (key: string, priority: number) => void;
  readonly #byKey = new Map<string, DelayedKey>();
  readonly #heap = new MinHeap<DelayedKey>();
  #timer: Timer | undefined;

  constructor(clock: Clock, onDue: (key: string, priority: number) => void) {
    this.#clock = clock;
    this.#onDue = onDue;
  }

  /** Of several times for a key the earliest wins, and the highest priority. */
  add(key: string, delayMs: number, priority: number): void {
    const at = this.#clock.monotonic() + delayMs;
    const known = this.#byKey.get(key);
    if (known && known.at <= at && known.priority >= priority) return;
    const entry = {
      key,
      at: Math.min(at, known?.at ?? at),
      priority: Math.max(priority, known?.priority ?? priority),
    };
    this.#byKey.set(key, entry);
    this.#heap.push(entry);
    if (this.#heap.peek() === entry) this.#arm();
  }

  clear(): void {
    this.#byKey.clear();
    this.#heap.clear();
    this.#arm();
  }

  #arm(): void {
    this.#timer?.cancel();
    const head = this.#heap.peek();
    this.#timer = head && this.#clock.setTimer(head.at - this.#clock.monotonic(), () => this.#fire());
  }

  #fire(): void {
    for (let head = this.#heap.peek(); head && head.at <= this.#clock.monotonic(); head = this.#heap.peek()) {
      this.#heap.pop();
      // Entries that an earlier time replaced stay in the heap until their own time and are passed over then.
      if (this.#byKey.get(head.key) !== head) continue;
      this.#byKey.delete(head.key);
      this.#onDue(head.key, head.priority);
    }
    this.#arm();
  }
}
