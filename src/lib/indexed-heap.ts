/**
 * A binary heap of distinct items; the first by `isBefore` is on top. A step costs the logarithm of the number of
 * items.
 */
export class IndexedHeap<T> {
  readonly #isBefore: (one: T, other: T) => boolean;
  readonly #items: T[] = [];
  readonly #places = new Map<T, number>();

  /** `isBefore`: a strict order. Its input of an item changes only with a call of {@link put}. */
  constructor(isBefore: (one: T, other: T) => boolean) {
    this.#isBefore = isBefore;
  }

  first(): T | undefined {
    return this.#items[0];
  }

  /** Inserts an item, or moves an item that has changed to its new position. */
  put(item: T): void {
    const place = this.#places.get(item) ?? this.#items.length;
    this.#set(place, item);
    this.#settle(place, item);
  }

  /** Removes an item; no effect if it is not in the heap. */
  remove(item: T): void {
    const place = this.#places.get(item);
    const last = this.#items.at(-1);
    if (place === undefined || last === undefined) return;
    this.#items.pop();
    this.#places.delete(item);
    if (last === item) return;
    this.#set(place, last);
    this.#settle(place, last);
  }

  #set(place: number, item: T): void {
    this.#items[place] = item;
    this.#places.set(item, place);
  }

  #settle(from: number, item: T): void {
    this.#sink(this.#rise(from, item), item);
  }

  #rise(from: number, item: T): number {
    let place = from;
    for (;;) {
      const above = (place - 1) >> 1;
      const other = this.#items[above];
      if (place === 0 || other === undefined || !this.#isBefore(item, other)) return place;
      this.#set(place, other);
      this.#set(above, item);
      place = above;
    }
  }

  #sink(from: number, item: T): void {
    let place = from;
    for (;;) {
      const [left, right] = [2 * place + 1, 2 * place + 2];
      const [one, other] = [this.#items[left], this.#items[right]];
      if (one === undefined) return;
      const isRight = other !== undefined && this.#isBefore(other, one);
      const below = isRight ? other : one;
      if (!this.#isBefore(below, item)) return;
      this.#set(place, below);
      place = isRight ? right : left;
      this.#set(place, item);
    }
  }
}
