import type { Clock } from '../../lib/clock.ts';
import type { Transport } from '../../lib/transport.ts';
import { parseHttpDate } from '../../marketplace/http/http-date.ts';

/** What time it is at the service. */
export type ServiceTime =
  | { readonly type: 'known'; readonly at: number }
  /** The service has not said yet, or never does. */
  | { readonly type: 'unknown' }
  /** Our own clocks have parted since it last said: one was set, or the machine slept. The next reply tells. */
  | { readonly type: 'stale' };

/** How far our two clocks may part between two replies. */
const PARTED_MS = 5_000;

/**
 * The service's clock, by the `Date` of its replies. A machine's start date is written by that clock, so what is
 * compared with one must be, too: our own may be wrong by an hour.
 */
export class ServiceClock {
  readonly #clock: Clock;
  #heard: { readonly date: number; readonly wall: number; readonly monotonic: number } | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The same transport, whose replies are listened to. */
  listening(transport: Transport): Transport {
    return async (request) => {
      const response = await transport(request);
      const date = parseHttpDate(response.headers.date);
      if (date !== undefined) {
        this.#heard = { date, wall: this.#clock.now(), monotonic: this.#clock.monotonic() };
      }
      return response;
    };
  }

  /** Exact to the second or two that a `Date` and its way here take. */
  now(): ServiceTime {
    if (!this.#heard) return { type: 'unknown' };
    const wall = this.#clock.now() - this.#heard.wall;
    const monotonic = this.#clock.monotonic() - this.#heard.monotonic;
    if (Math.abs(wall - monotonic) > PARTED_MS) return { type: 'stale' };
    return { type: 'known', at: Math.floor(this.#heard.date + monotonic) };
  }
}
