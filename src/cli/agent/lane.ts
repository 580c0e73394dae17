/** A call found no place in a {@link Lane}; nothing was done. */
export class LaneFull extends Error {
  constructor() {
    super('too many calls wait');
    this.name = 'LaneFull';
  }
}

/** Limits how many calls run at once, and how many wait. */
export class Lane {
  readonly #width: number;
  readonly #places: number;
  readonly #waiting: (() => void)[] = [];
  #running = 0;

  /** `width`: maximum number of running calls. `places`: maximum number of waiting calls. */
  constructor(width: number, places: number) {
    this.#width = width;
    this.#places = places;
  }

  /** Runs `work` in the order of the calls. Rejects with {@link LaneFull} if too many wait, else like `work`. */
  async run<Result>(work: () => Promise<Result>): Promise<Result> {
    if (this.#running >= this.#width) {
      if (this.#waiting.length >= this.#places) throw new LaneFull();
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    } else this.#running += 1;
    try {
      return await work();
    } finally {
      // The place passes to the next call.
      const next = this.#waiting.shift();
      if (next) next();
      else this.#running -= 1;
    }
  }
}
