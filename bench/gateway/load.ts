/** Messages between the bench and its load generator's process: plan and result. */
export type LoadPlan =
  /** Each connection sends its next request when it has the answer to the one before. */
  | {
      readonly type: 'closed';
      readonly target: Target;
      readonly connections: number;
      readonly seconds: number;
      readonly kind: Kind;
    }
  /** Requests are sent when they are due, however many are under way. */
  | { readonly type: 'open'; readonly target: Target; readonly arrivals: readonly Arrival[] };

export interface Target {
  readonly origin: string;
  /** Before `/v1/chat/completions`. */
  readonly prefix: string;
  /** The name of a header that says how much work a request is: its tokens. */
  readonly workHeader?: string | undefined;
}

/** Kind of request to a worker. */
export interface Kind {
  readonly stream: boolean;
  /** Time that the worker takes, in milliseconds; 1 is immediate. Sent as `max_tokens`, which every router forwards. */
  readonly tokens: number;
}

export interface Arrival extends Kind {
  readonly atMs: number;
}

export interface LoadResult {
  readonly sent: number;
  /** Status 200, and to its last byte. */
  readonly ok: number;
  /** Number of failures by kind: `status 503`, `cut`, or the error code. */
  readonly failures: Readonly<Record<string, number>>;
  readonly seconds: number;
  /** Units of work of all that was sent. */
  readonly tokens: number;
  /** Latency of successful requests. */
  readonly latencyMs: Percentiles;
}

export interface Percentiles {
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
}

/** 0 of no values. */
export function percentilesOf(values: readonly number[]): Percentiles {
  const sorted = Float64Array.from(values).sort();
  const at = (share: number): number =>
    sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0;
  return { p50: at(0.5), p99: at(0.99), max: sorted.at(-1) ?? 0 };
}

/** Returns the number of unsuccessful requests. */
export function failedOf({ sent, ok }: Pick<LoadResult, 'sent' | 'ok'>): number {
  return sent - ok;
}
