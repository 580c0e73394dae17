interface Timed {
  readonly at: number;
}

/** Entries by `at`, the smallest first; O(log n) each way. */
export class MinHeap<T extends Timed> {
  readonly #entries: T[] = [];

  peek(): T | undefined {
    return this.#entries[0];
  }

  size(): number {
    return this.#entries.length;
  }

  clear(): void {
    this.#entries.length = 0;
  }

  push(entry: T): void {
    let at = this.#entries.push(entry) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      const above = this.#entries[parent];
      if (!above || above.at <= entry.at) break;
      this.#entries[at] = above;
      at = parent;
    }
    this.#entries[at] = entry;
  }

  pop(): T | undefined {
    const head = this.#entries[0];
    const last = this.#entries.pop();
    if (last && last !== head) this.#sink(last);
    return head;
  }

  /** Puts `entry` in the head's place and lets it go down as far as it belongs. */
  #sink(entry: T): void {
    let at = 0;
    for (let child = this.#smallerChild(at); child !== undefined; child = this.#smallerChild(at)) {
      const below = this.#entries[child];
      if (!below || below.at >= entry.at) break;
      this.#entries[at] = below;
      at = child;
    }
    this.#entries[at] = entry;
  }

  #smallerChild(at: number): number | undefined {
    const left = 2 * at + 1;
    const leftEntry = this.#entries[left];
    const rightEntry = this.#entries[left + 1];
    if (!leftEntry) return undefined;
    return rightEntry && rightEntry.at < leftEntry.at ? left + 1 : left;
  }
}
