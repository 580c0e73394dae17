/**
 * Items in order, sorted only as far as a caller iterates. The first item costs one pass over all items, and each further
 * one the logarithm of their number. All iterations share the work. Items must not change.
 */
export class LazyOrder<T> implements Iterable<T> {
  readonly #compare: (left: T, right: T) => number;
  /** Smallest items so far, in order. */
  readonly #sorted: T[] = [];
  /** All other items, each before its children at twice its place and one after. */
  readonly #heap: T[];

  constructor(items: readonly T[], compare: (left: T, right: T) => number) {
    this.#compare = compare;
    this.#heap = [...items];
    for (let at = (this.#heap.length >> 1) - 1; at >= 0; at -= 1) this.#sink(at);
  }

  *[Symbol.iterator](): Generator<T> {
    for (let at = 0; ; at += 1) {
      if (at === this.#sorted.length && !this.#sortNext()) return;
      yield this.#sorted[at] as T;
    }
  }

  /** Moves the smallest remaining item to the sorted ones. Returns false if none remains. */
  #sortNext(): boolean {
    const [first] = this.#heap;
    const last = this.#heap.pop();
    if (first === undefined || last === undefined) return false;
    this.#sorted.push(first);
    if (this.#heap.length > 0) {
      this.#heap[0] = last;
      this.#sink(0);
    }
    return true;
  }

  #sink(from: number): void {
    const heap = this.#heap;
    for (let at = from; ; ) {
      const child = this.#smallerChild(at);
      const [item, other] = [heap[at], child === undefined ? undefined : heap[child]];
      if (child === undefined || item === undefined || other === undefined) return;
      if (this.#compare(item, other) <= 0) return;
      heap[at] = other;
      heap[child] = item;
      at = child;
    }
  }

  #smallerChild(at: number): number | undefined {
    const left = 2 * at + 1;
    const [one, other] = [this.#heap[left], this.#heap[left + 1]];
    if (one === undefined) return undefined;
    return other !== undefined && this.#compare(other, one) < 0 ? left + 1 : left;
  }
}
