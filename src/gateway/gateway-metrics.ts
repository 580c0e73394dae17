import type { GroupSettings } from './group-view.ts';

/** Whose figure it is. */
export interface GroupRef {
  readonly namespace: string;
  readonly name: string;
}

/** How a request that a worker had was counted. */
export interface ServedRequest {
  /** The caller's name in the Secret of keys; empty where everyone may call. */
  readonly caller: string;
  /** The status that the client got; 0 if it left before. */
  readonly status: number;
  readonly work: number;
  readonly unit: GroupSettings['work'];
  /** Attempts beyond the first. */
  readonly retries: number;
  readonly firstByteMs: number | undefined;
}

/** What a picker reports of requests as it happens. */
export interface GatewayMetrics {
  /** `waitMs`: how long the request was held. */
  picked(group: GroupRef, waitMs: number): void;
  served(group: GroupRef, request: ServedRequest): void;
  /** `code` is that of the body, such as `queue_full`. */
  refused(group: GroupRef, code: string): void;
  /** The client left while its request was held. */
  left(group: GroupRef): void;
  woke(group: GroupRef): void;
  /** A client had its share of connections and opened another one. */
  refusedConnection(): void;
}

/** What stands still, as it is at an exposition. */
export interface GroupFigures extends GroupRef {
  readonly heldRequests: number;
  readonly inFlightRequests: number;
  readonly readyWorkers: number;
}
