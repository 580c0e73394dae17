import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import type { Random } from '../lib/random.ts';
import type { ControllerMetrics, QueueMetrics } from './metrics-ports.ts';
import type { WorkQueue } from './work-queue.ts';

/** How a pass ended. */
export type Result = { readonly type: 'done' } | { readonly type: 'requeueAfter'; readonly ms: number };

/** Nothing more to do until something changes. */
export const done: Result = { type: 'done' };

/** Look again after that time at the latest. */
export function requeueAfter(ms: number): Result {
  return { type: 'requeueAfter', ms };
}

/** An error that no retry mends: the pass ends and the key waits for the next change. */
export class TerminalError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'TerminalError';
  }
}

export interface ReconcileContext {
  /** Aborted when the pass outlives its limit, or when draining took too long. */
  readonly signal: AbortSignal;
  /** Carries controller, namespace, name and reconcileID. */
  readonly log: Logger;
  /** How many passes of this key failed in a row before this one. */
  readonly retries: number;
}

/**
 * Brings one object nearer to what is wanted, from the state now and not from what changed. A thrown error brings
 * the key back with backoff (not before its `retryAfterMs`, where it has one); a {@link TerminalError} does not.
 */
export type Reconcile = (key: string, context: ReconcileContext) => Promise<Result>;

export interface ControllerOptions {
  readonly name: string;
  readonly reconcile: Reconcile;
  /** Keys worked on at the same time. Default 1. */
  readonly workers?: number | undefined;
  /** A pass that lasts longer is told to end by its signal. Default none. */
  readonly timeoutMs?: number | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly metrics?: (ControllerMetrics & QueueMetrics) | undefined;
}

/** Workers over a queue. Keys may be added before {@link start} and wait. */
export interface Controller {
  readonly name: string;
  readonly queue: WorkQueue;
  start(): void;
  /** Takes no further key; resolves when the passes under way have ended, or after `drainMs` has aborted and left them. */
  stop(drainMs?: number): Promise<void>;
}
