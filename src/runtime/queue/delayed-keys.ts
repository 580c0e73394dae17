import type { Clock, Timer } from '../../lib/clock.ts';
import { MinHeap } from './min-heap.ts';

interface DelayedKey {
  readonly key: string;
  readonly at: number;
  readonly priority: number;
}

/** Replaced entries that may lie in the heap beside as many as there are keys. */
const SLACK = 64;

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
    if (this.#heap.size() > SLACK + 2 * this.#byKey.size) this.#dropReplaced();
    if (this.#heap.peek() === entry) this.#arm();
  }

  clear(): void {
    this.#byKey.clear();
    this.#heap.clear();
    this.#arm();
  }

  #dropReplaced(): void {
    this.#heap.clear();
    for (const entry of this.#byKey.values()) this.#heap.push(entry);
  }

  #arm(): void {
    this.#timer?.cancel();
    const head = this.#earliest();
    this.#timer = head && this.#clock.setTimer(head.at - this.#clock.monotonic(), () => this.#fire());
  }

  #fire(): void {
    for (let head = this.#earliest(); head && head.at <= this.#clock.monotonic(); head = this.#earliest()) {
      this.#heap.pop();
      this.#byKey.delete(head.key);
      this.#onDue(head.key, head.priority);
    }
    this.#arm();
  }

  /** Entries that an earlier time replaced lie in the heap until they come up, and are passed over then. */
  #earliest(): DelayedKey | undefined {
    for (let head = this.#heap.peek(); head; head = this.#heap.peek()) {
      if (this.#byKey.get(head.key) === head) return head;
      this.#heap.pop();
    }
    return undefined;
  }
}
