import type { MetricRegistry } from './metric-registry.ts';

/** An error that nothing caught, by how Node reports it. */
export type FaultKind = 'unhandledRejection' | 'uncaughtException';

/** Counts errors that nothing caught. */
export interface ProcessMetrics {
  faulted(kind: FaultKind): void;
}

const FAULTS = {
  name: 'gpu_rental_process_faults_total',
  help: 'Errors that nothing in the operator caught: an unhandledRejection is survived, an uncaughtException ends the process in order.',
  labelNames: ['kind'],
} as const;

/** Both kinds are exposed from the start, so that the first fault is an increase. */
export function createProcessMetrics(registry: MetricRegistry): ProcessMetrics {
  const faults = registry.counter(FAULTS);
  for (const kind of ['unhandledRejection', 'uncaughtException'] as const) faults.inc({ kind }, 0);
  return { faulted: (kind) => faults.inc({ kind }) };
}
