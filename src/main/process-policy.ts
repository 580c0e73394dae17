import { currentSubject } from '../lib/background.ts';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import type { FaultKind, ProcessMetrics } from '../server/runtime-metrics.ts';

/** The events of a Node process that this policy is about. */
export interface ProcessEvents {
  on(event: FaultKind, listener: (error: unknown) => void): unknown;
  off(event: FaultKind, listener: (error: unknown) => void): unknown;
}

export interface ProcessPolicyOptions {
  readonly events: ProcessEvents;
  readonly log: Logger;
  readonly metrics: ProcessMetrics;
  readonly clock: Clock;
  /** Ends the process even if the orderly end does not finish. */
  readonly exit: (code: number) => void;
  /** Milliseconds that the orderly end may take. */
  readonly graceMs: number;
}

/** Policy for errors that no handler caught. */
export interface ProcessPolicy {
  /** Aborted by the first uncaught exception: finish running work, release the lease, exit with 1. */
  readonly ended: AbortSignal;
  /** Removes the policy from the process. */
  remove(): void;
}

/**
 * Applies the policy for uncaught errors. A rejected promise without a handler is one abandoned operation: it is logged
 * with its object and counted, and the process continues. An exception from a callback may have left state half
 * changed: it is logged and counted, and the process ends in order, so that the lease is released and another replica
 * continues from the state of the cluster.
 */
export function applyProcessPolicy(options: ProcessPolicyOptions): ProcessPolicy {
  const { events, log, metrics, clock, exit, graceMs } = options;
  const ending = new AbortController();
  const report = (kind: FaultKind, message: string, error: unknown) => {
    metrics.faulted(kind);
    log.error(message, { ...currentSubject(), error });
  };
  const rejected = (error: unknown) => report('unhandledRejection', 'Unhandled rejection', error);
  const thrown = (error: unknown) => {
    report('uncaughtException', 'Uncaught exception', error);
    if (ending.signal.aborted) return;
    clock.setTimer(graceMs, () => exit(1), { background: true });
    ending.abort(error);
  };
  events.on('unhandledRejection', rejected);
  events.on('uncaughtException', thrown);
  return {
    ended: ending.signal,
    remove() {
      events.off('unhandledRejection', rejected);
      events.off('uncaughtException', thrown);
    },
  };
}
