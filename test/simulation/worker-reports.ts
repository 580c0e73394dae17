import { type Transport, TransportError } from '../../src/lib/transport.ts';
import type { Containers } from './containers.ts';

/** Load reports of the workers of groups: each has the same number of requests in flight. */
export class WorkerReports {
  inFlight = 0;
  readonly #containers: Containers;

  constructor(containers: Containers) {
    this.#containers = containers;
  }

  readonly transport: Transport = async ({ origin }) => {
    const fault = this.#containers.faultAt(Number(new URL(origin).port));
    if (fault?.type === 'silent') throw new TransportError('refuses the connection', { sent: false });
    const load = { new_load: 0, cur_load: 10 * this.inFlight, max_perf: 100 };
    const report = { ...load, num_requests_working: this.inFlight, error_msg: fault?.text ?? '' };
    return {
      status: 200,
      headers: { 'content-type': 'application/json' },
      body: (async function* () {
        yield new TextEncoder().encode(JSON.stringify(report));
      })(),
      destroy() {},
    };
  };
}
