import type { Writable } from 'node:stream';
import type { Random } from '../../src/lib/random.ts';

export interface StreamFaultsOptions {
  readonly random: Random;
  readonly count: (name: string) => void;
}

/** Chances per event of a watch. */
const DOUBLED = 0.05;
const CUT = 0.02;
const DELAYED = 0.03;
/** A stale API server: everything of one watch comes this much later, in order. */
const MAX_STALE_MS = 15_000;

const NEWLINE = 0x0a;

/** Relays watches line by line, as a cache that lags, a network that breaks and a server that repeats itself. */
export class StreamFaults {
  readonly #options: StreamFaultsOptions;
  #isStormy = false;

  constructor(options: StreamFaultsOptions) {
    this.#options = options;
  }

  setStormy(isStormy: boolean): void {
    this.#isStormy = isStormy;
  }

  /** Resolves when either side has ended. Events keep their order and are whole, except for the one that is cut. */
  async relay(body: AsyncIterable<Uint8Array>, to: Writable): Promise<void> {
    let pending = Buffer.alloc(0);
    for await (const chunk of body) {
      pending = Buffer.concat([pending, chunk]);
      for (let end = pending.indexOf(NEWLINE); end >= 0; end = pending.indexOf(NEWLINE)) {
        const line = pending.subarray(0, end + 1);
        pending = pending.subarray(end + 1);
        if (!(await this.#event(line, to))) return;
      }
    }
    to.end(pending);
  }

  /** Forwards one event. Returns false if the connection was cut. */
  async #event(line: Buffer, to: Writable): Promise<boolean> {
    const { random, count } = this.#options;
    const roll = this.#isStormy ? random.next() : 1;
    if (roll < CUT) {
      count('watchCut');
      to.write(line.subarray(0, line.length / 2), () => to.destroy());
      return false;
    }
    if (roll < CUT + DELAYED) {
      count('stale');
      await new Promise((resolve) => setTimeout(resolve, random.next() * MAX_STALE_MS));
    }
    to.write(line);
    if (roll > 1 - DOUBLED && roll < 1) {
      count('eventDoubled');
      to.write(line);
    }
    return true;
  }
}
