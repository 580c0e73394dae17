/*
 * Endpoint groups, their worker groups and workers as plain rows. All times are milliseconds of simulated
 * time, loads are performance units per second.
 */

export type EndpointState = 'active' | 'suspended' | 'stopped';

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
  readonly inactivity_timeout: number | null;
}

/** An observed amount of load: what arrived, and when. */
export interface LoadSample {
  readonly at: number;
  readonly amount: number;
}

/** A request that `/route/` could not place yet. */
export interface QueuedRequest {
  readonly index: number;
  readonly cost: number;
  readonly seenAt: number;
  /** When it is given up unless it is asked for again. */
  readonly expiresAt: number;
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
  readonly createdAt: number;
  readonly nextRequestIndex: number;
  readonly samples: readonly LoadSample[];
  readonly queue: readonly QueuedRequest[];
  readonly lastActivityAt: number;
  /** When the scaling rule last ran. */
  readonly scaledAt: number;
  /** Until when no worker may leave the hot set. */
  readonly holdUntil: number;
  /** Rented and stopped workers of the past, newest last. */
  readonly log: readonly ScalingLogLine[];
}

export interface ScalingLogLine {
  readonly at: number;
  readonly level: 'info0' | 'info1' | 'trace' | 'debug';
  readonly text: string;
}

export interface WorkerGroupRow {
  readonly id: number;
  readonly userId: number;
  readonly endpointId: number;
  readonly endpointName: string;
  readonly templateHash: string | null;
  readonly templateId: number | null;
  /** The text grammar of offer search, or the JSON text of an object. */
  readonly searchParams: string;
  readonly launchArgs: string;
  readonly gpuRamGB: number;
  readonly testWorkers: number;
  readonly apiKey: string;
  readonly createdAt: number;
  /** Ids of workers that still have to be updated; empty when none. */
  readonly updating: readonly number[];
}

/** One simulated worker; `id` is that of its contract. */
export interface WorkerRow {
  readonly id: number;
  readonly groupId: number;
  readonly endpointId: number;
  readonly createdAt: number;
  /** When it first could take requests, null before. */
  readonly loadedAt: number | null;
  /** Units per second: reported, else guessed from the GPU. */
  readonly measuredPerf: number;
  /** Whether {@link measuredPerf} came from a report. */
  readonly reported: boolean;
  /** Units of work taken and not finished, as of {@link loadAt}. */
  readonly curLoad: number;
  readonly loadAt: number;
  readonly newLoad: number;
  readonly requestsWorking: number;
  readonly lastReportAt: number | null;
  readonly errorMessage: string;
  readonly url: string | null;
}
