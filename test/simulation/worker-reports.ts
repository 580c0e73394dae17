import type { Transport } from '../../src/lib/transport.ts';

/** What the workers of groups answer when they are asked for their load: each works on so many requests. */
export class WorkerReports {
  inFlight = 0;

  readonly transport: Transport = async () => {
    const load = { new_load: 0, cur_load: 10 * this.inFlight, max_perf: 100 };
    const report = { ...load, num_requests_working: this.inFlight };
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
