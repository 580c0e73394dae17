import type { Secret } from '../../lib/secret.ts';

/** Whether an endpoint serves. */
export type EndpointState = 'active' | 'suspended' | 'stopped';

/**
 * Options of an endpoint group (specification 4.9), in its units: loads in performance units per second, times
 * in seconds. undefined on creation: the service's default.
 */
export interface EndpointGroupOptions {
  readonly endpointName?: string | null | undefined;
  readonly minLoad?: number | null | undefined;
  readonly minColdLoad?: number | null | undefined;
  /** A fraction, at most 1. */
  readonly targetUtilization?: number | null | undefined;
  readonly coldMultiplier?: number | null | undefined;
  readonly coldWorkers?: number | null | undefined;
  readonly maxWorkers?: number | null | undefined;
  readonly maxQueueSeconds?: number | null | undefined;
  readonly targetQueueSeconds?: number | null | undefined;
  /** 0: never; negative: never to zero. */
  readonly inactivityTimeoutSeconds?: number | null | undefined;
  readonly autoscalerInstance?: string | null | undefined;
  readonly state?: EndpointState | null | undefined;
}

/** An endpoint group as the service keeps it. */
export interface EndpointGroupRow {
  readonly id: number;
  readonly name: string | undefined;
  /** The endpoint's own key, for routing. */
  readonly apiKey: Secret | undefined;
  readonly state: string | undefined;
  readonly minLoad: number | undefined;
  readonly minColdLoad: number | undefined;
  readonly targetUtilization: number | undefined;
  readonly coldMultiplier: number | undefined;
  readonly coldWorkers: number | undefined;
  readonly maxWorkers: number | undefined;
  readonly maxQueueSeconds: number | undefined;
  readonly targetQueueSeconds: number | undefined;
  readonly inactivityTimeoutSeconds: number | undefined;
}
