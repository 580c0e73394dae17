/** How many complete lists are remembered: enough for every waiting time of the protocol at the shortest poll. */
const REMEMBERED = 256;

/** Which of the recent complete lists named which machine. Times are epoch milliseconds at which a list began. */
export class ListHistory {
  readonly #begun: number[] = [];
  /** Number of lists ever recorded. */
  #recorded = 0;
  readonly #lastNamedBy = new Map<number, number>();

  /** A complete list ended. */
  record(begunAt: number, ids: Iterable<number>): void {
    this.#recorded += 1;
    this.#begun.push(begunAt);
    if (this.#begun.length > REMEMBERED) this.#begun.shift();
    for (const id of ids) this.#lastNamedBy.set(id, this.#recorded);
    if (this.#recorded % REMEMBERED === 0) this.#forgetOld();
  }

  /** Begin times of the lists since the last that named `id`, oldest first. */
  absences(id: number): readonly number[] {
    const since = this.#recorded - (this.#lastNamedBy.get(id) ?? 0);
    return since === 0 ? [] : this.#begun.slice(-since);
  }

  /** Begin times of the lists that began at or after `time`, oldest first. */
  begunSince(time: number): readonly number[] {
    return this.#begun.filter((begunAt) => begunAt >= time);
  }

  /** A machine that no remembered list names is absent from all of them without being remembered itself. */
  #forgetOld(): void {
    for (const [id, last] of this.#lastNamedBy) {
      if (last <= this.#recorded - REMEMBERED) this.#lastNamedBy.delete(id);
    }
  }
}
