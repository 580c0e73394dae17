/** A read that concurrent callers share. */
export class SharedRead<Value> {
  readonly #read: () => Promise<Value>;
  /** Settles with the latest read that has begun. */
  #latest: Promise<unknown> = Promise.resolve();
  /** The read that has not begun. */
  #next: Promise<Value> | undefined;

  constructor(read: () => Promise<Value>) {
    this.#read = read;
  }

  /** Returns the value of a read that begins after this call. Callers share it until it begins. Rejects like the read. */
  get(): Promise<Value> {
    if (this.#next) return this.#next;
    const next = this.#after(this.#latest);
    this.#next = next;
    this.#latest = next.catch(() => {});
    return next;
  }

  async #after(earlier: Promise<unknown>): Promise<Value> {
    await earlier;
    this.#next = undefined;
    return this.#read();
  }
}
