import type { Transport } from '../../src/lib/transport.ts';

/** Of `--prometheus-url`. */
export const PROMETHEUS = 'http://prometheus:9090';

/** What stands before groups, and the Prometheus that knows what it sees: the load that is offered to each, by its name. */
export class Gateway {
  readonly #offered = new Map<string, number>();
  readonly #now: () => number;
  #isUp = true;

  /** `now`: milliseconds since the epoch. */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** From now on so much work per second comes for a group. */
  offer(group: string, load: number): void {
    this.#offered.set(group, load);
  }

  /** What comes for a group, work per second. */
  offeredTo(group: string): number {
    return this.#offered.get(group) ?? 0;
  }

  /** Whether Prometheus answers from now on. */
  setUp(isUp: boolean): void {
    this.#isUp = isUp;
  }

  /** Answers instant queries whose text is the name of a group. */
  readonly transport: Transport = async ({ path }) => {
    const query = new URL(`${PROMETHEUS}${path}`).searchParams.get('query') ?? '';
    const value = [this.#now() / 1000, String(this.offeredTo(query))];
    const data = { resultType: 'vector', result: [{ metric: {}, value }] };
    return {
      status: this.#isUp ? 200 : 503,
      headers: { 'content-type': 'application/json' },
      body: (async function* () {
        yield new TextEncoder().encode(JSON.stringify({ status: 'success', data }));
      })(),
      destroy() {},
    };
  };
}
