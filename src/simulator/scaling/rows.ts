/*
 * Endpoint groups, their worker groups and workers as plain rows. All times are milliseconds of simulated
 * time, loads are units of work, rates units per second.
 */

export const ENDPOINT_STATES = ['active', 'suspended', 'stopped'] as const;
export type EndpointState = (typeof ENDPOINT_STATES)[number];

/** The options of specification 4.9, under their own names. Times are seconds. */
export interface ScalingOptions {
  readonly min_load: number;
  readonly min_cold_load: number;
  readonly target_util: number;
  readonly cold_mult: number;
  readonly cold_workers: number;
  readonly max_workers: number;
  readonly max_queue_time: number;
  readonly target_queue_time: number;
  /** Null: no gate. */
  readonly inactivity_timeout: number | null;
}

/** An amount or a rate, and when it was seen. */
export interface LoadSample {
  readonly at: number;
  readonly amount: number;
}

/** A request that `/route/` could not place yet. */
export interface QueuedRequest {
  readonly index: number;
  readonly cost: number;
  /** When it is given up unless it is asked for again. */
  readonly expiresAt: number;
}

export const LOG_LEVELS = ['info0', 'info1', 'trace', 'debug'] as const;

export interface ScalingLogLine {
  readonly at: number;
  readonly level: (typeof LOG_LEVELS)[number];
  readonly text: string;
}

export interface EndpointGroupRow {
  readonly id: number;
  readonly userId: number;
  readonly name: string;
  /** Belongs to the endpoint alone; `/route/` needs it. */
  readonly apiKey: string;
  readonly state: EndpointState;
  readonly options: ScalingOptions;
  readonly autoscalerInstance: string;
  /** Where its workers send their reports: scheme, host and port under which it was made. */
  readonly reportAddress: string;
  readonly createdAt: number;
  readonly nextRequestIndex: number;
  /** Work that arrived, over the last rate span. */
  readonly arrivals: readonly LoadSample[];
  /** The rate at each run of the rule, over the last long span. */
  readonly rates: readonly LoadSample[];
  readonly queue: readonly QueuedRequest[];
  readonly lastActivityAt: number;
  /** When the rule last ran. */
  readonly scaledAt: number;
  /** Until when no worker may leave the hot set. */
  readonly holdUntil: number;
  /** What the rule did, oldest first, a bounded number of lines. */
  readonly log: readonly ScalingLogLine[];
}

export interface WorkerGroupRow {
  readonly id: number;
  readonly userId: number;
  readonly endpointId: number;
  readonly templateHash: string | null;
  readonly templateId: number | null;
  /** The text grammar of offer search, or the JSON text of an object. */
  readonly searchParams: string;
  readonly launchArgs: string;
  readonly gpuRamGB: number;
  readonly testWorkers: number;
  readonly apiKey: string;
  readonly createdAt: number;
  /** Workers that still have to be restarted with a newer version, in turn. */
  readonly updating: readonly number[];
}

/** Work that a worker has taken and not finished. */
export interface TakenRequest {
  readonly index: number;
  readonly cost: number;
}

/** One simulated worker; `id` is that of its contract. */
export interface WorkerRow {
  readonly id: number;
  readonly groupId: number;
  readonly endpointId: number;
  readonly createdAt: number;
  /** `MASTER_TOKEN` of its container: its reports carry it as `mtoken`. */
  readonly token: string;
  /** Since when it takes requests; null while it cannot. */
  readonly loadedAt: number | null;
  /** Units per second: guessed from the GPU until it reports. */
  readonly perf: number;
  /** Requests in its hands, oldest first. */
  readonly taken: readonly TakenRequest[];
  /** Work done on the first of {@link taken}, as of {@link workedUntil}. */
  readonly doneOnFirst: number;
  readonly workedUntil: number;
  /** What its last report said; null for a worker that only the simulator runs. */
  readonly report: WorkerReport | null;
  /** Work routed to it since its last report, which that report's `new_load` repeats. */
  readonly routedSinceReport: number;
}

export interface WorkerReport {
  readonly at: number;
  readonly curLoad: number;
  readonly newLoad: number;
  readonly requestsWorking: number;
  readonly errorMessage: string;
  readonly url: string | null;
}
