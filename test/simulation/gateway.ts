import type { Transport } from '../../src/lib/transport.ts';

/** Of `--prometheus-url`. */
export const PROMETHEUS = 'http://prometheus:9090';

/** The query parameter by which the prom-label-proxy before it is told the namespace. */
export const SCOPE = 'namespace';

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
    const { searchParams } = new URL(`${PROMETHEUS}${path}`);
    const query = searchParams.get('query') ?? '';
    const isScoped = searchParams.getAll(SCOPE).length === 1;
    const value = [this.#now() / 1000, String(this.offeredTo(query))];
    const data = { resultType: 'vector', result: [{ metric: {}, value }] };
    return {
      status: this.#isUp ? (isScoped ? 200 : 400) : 503,
      headers: { 'content-type': 'application/json' },
      body: (async function* () {
        yield new TextEncoder().encode(JSON.stringify({ status: 'success', data }));
      })(),
      destroy() {},
    };
  };
}
