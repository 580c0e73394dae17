import type { Transport } from '../../src/lib/transport.ts';

/** Value of `--prometheus-url`. */
export const PROMETHEUS = 'http://prometheus:9090';

/** Query parameter that names the namespace for the prom-label-proxy. */
export const SCOPE = 'namespace';

/** Gateway in front of groups, with the Prometheus that reports the offered load of each group by name. */
export class Gateway {
  readonly #offered = new Map<string, number>();
  readonly #now: () => number;
  #isUp = true;

  /** `now`: milliseconds since the epoch. */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** Sets the offered load of a group, in work per second. */
  offer(group: string, load: number): void {
    this.#offered.set(group, load);
  }

  /** Returns the offered load of a group, in work per second. */
  offeredTo(group: string): number {
    return this.#offered.get(group) ?? 0;
  }

  /** Sets whether Prometheus answers. */
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
