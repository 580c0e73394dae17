/** A worker of an endpoint. Times are epoch milliseconds. */
export interface Worker {
  readonly id: number;
  /** In lower case; `idle` is ready. */
  readonly status: string | undefined;
  readonly load: number | undefined;
  /** Performance units per second. */
  readonly performance: number | undefined;
  readonly requestsWorking: number | undefined;
  readonly diskUsageGB: number | undefined;
  readonly loadedAt: number | undefined;
  readonly startedAt: number | undefined;
  readonly url: string | undefined;
}

export type WorkersReply =
  | { readonly type: 'ready'; readonly workers: readonly Worker[] }
  | { readonly type: 'notReady'; readonly message: string };

export type RouteReply =
  /** Call the worker with the whole of `authData`. */
  | {
      readonly type: 'ready';
      readonly url: string;
      readonly requestIndex: number | undefined;
      readonly authData: Readonly<Record<string, unknown>>;
    }
  /** Ask again with `requestIndex`. */
  | {
      readonly type: 'waiting';
      readonly requestIndex: number | undefined;
      readonly status: string | undefined;
    };

export interface GroupLogs {
  readonly info0: string;
  readonly info1: string;
  readonly trace: string;
  readonly debug: string;
  readonly error: string | undefined;
}
