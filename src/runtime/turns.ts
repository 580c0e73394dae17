import { type Clock, sleep } from '../lib/clock.ts';

/** How long one kind of work may go on before the rest of the process gets a turn. */
const SLICE_MS = 10;

/**
 * Gives the rest of the process its turn. Work that waits for nothing, such as the first pass over a thousand
 * objects, would otherwise follow on itself and hold up timers, sockets and the lease until all of it is done.
 */
export class Turns {
  readonly #clock: Clock;
  #begunAt: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#begunAt = clock.monotonic();
  }

  /** Work begins after a rest: the slice is whole. */
  begin(): void {
    this.#begunAt = this.#clock.monotonic();
  }

  /** To be awaited between two pieces of work: lets others run where the slice is used up, and is free where not. */
  async next(): Promise<void> {
    if (this.#clock.monotonic() - this.#begunAt < SLICE_MS) return;
    await sleep(this.#clock, 0);
    this.begin();
  }
}
