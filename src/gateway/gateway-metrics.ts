import type { GroupSettings } from './group-view.ts';

/** Group of a figure. */
export interface GroupRef {
  readonly namespace: string;
  readonly name: string;
}

/** A finished request that a worker served. */
export interface ServedRequest {
  /** Name of the caller in the Secret of keys; empty if every client may call. */
  readonly caller: string;
  /** Status that the client got; 0 if it disconnected before. */
  readonly status: number;
  readonly work: number;
  readonly unit: GroupSettings['work'];
  /** Number of retries. */
  readonly retries: number;
  readonly firstByteMs: number | undefined;
}

/** Receives events of requests from a picker. */
export interface GatewayMetrics {
  /** Counts a pick. `waitMs`: time for which the request was held. */
  picked(group: GroupRef, waitMs: number): void;
  served(group: GroupRef, request: ServedRequest): void;
  /** Counts a refusal. `code` is that of the body, such as `queue_full`. */
  refused(group: GroupRef, code: string): void;
  /** Counts a client that disconnected while its request was held. */
  left(group: GroupRef): void;
  woke(group: GroupRef): void;
  /** Counts a connection that exceeded its client's share. */
  refusedConnection(): void;
}

/** Figures that are read at each exposition. */
export interface GroupFigures extends GroupRef {
  readonly heldRequests: number;
  readonly inFlightRequests: number;
  readonly readyWorkers: number;
}
