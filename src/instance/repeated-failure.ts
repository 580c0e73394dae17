import { type GpuInstance, type GpuInstanceStatus, MAX_STATUS_TEXT } from '../api/v1alpha1/gpu-instance.ts';
import type { Reason } from '../api/v1alpha1/reasons.ts';
import { omitUndefined } from '../lib/json.ts';
import { formatDollars, type MicroDollars, parseDollars } from '../lib/money.ts';
import { printableText } from '../lib/text.ts';
import { formatTime, parseTime } from '../lib/time.ts';
import { hasExited, recordedState } from './machine-state.ts';

/** Failures in a row, as the status of an object keeps them. */
export type RepeatedFailure = NonNullable<GpuInstanceStatus['repeatedFailure']>;

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/**
 * Returns the wait after this number of consecutive failures: `firstMs` after the first, doubled by each, at most an
 * hour.
 */
export function growingWaitMs(inRow: number, firstMs: number): number {
  return Math.min(HOUR_MS, firstMs * 2 ** Math.max(0, Math.min(inRow, 32) - 1));
}

/** Minimum of failed machines: a single one proves nothing about the spec. */
const MIN_MACHINES = 2;

/**
 * Run time after which an end no longer counts as an immediate failure; kubelet resets its crash backoff after the
 * same time.
 */
const PROVEN_MS = 10 * MINUTE_MS;
/** Minimum time for which a probe must fail to prove anything. */
const UNREADY_MS = 5 * MINUTE_MS;

/** A machine at its end. */
export interface EndedMachine {
  readonly reason: Reason;
  /** Epoch milliseconds by the clock that dates machines. */
  readonly endedAt: number;
  /** Epoch milliseconds by the operator's clock. */
  readonly now: number;
  readonly cost: MicroDollars;
  /** The last text of the marketplace about it. */
  readonly text: string | undefined;
}

type FailureReason = Extract<Reason, 'LoadingTimedOut' | 'Exited' | 'NotReachable'>;

/** Returns the milliseconds for which the container ran before it or the machine ended. */
function ranMs(status: GpuInstanceStatus, endedAt: number): number {
  const { runningAt, actualStatusSince } = status;
  const from = parseTime(runningAt);
  if (from === undefined) return 0;
  const until = hasExited(recordedState(status)) ? (parseTime(actualStatusSince) ?? endedAt) : endedAt;
  return Math.max(0, until - from);
}

/** Returns the failure that the spec may have caused on a machine, from the way the machine ended. */
function failureOf(
  { spec, status = {} }: GpuInstance,
  { reason, endedAt }: EndedMachine,
): FailureReason | undefined {
  const ran = ranMs(status, endedAt);
  if (reason === 'LoadingTimedOut') return status.runningAt === undefined ? reason : undefined;
  if (reason === 'Exited') return ran < PROVEN_MS ? reason : undefined;
  const wasNeverReady = spec.readinessProbe !== undefined && status.readyAt === undefined;
  return wasNeverReady && ran >= UNREADY_MS ? 'NotReachable' : undefined;
}

/** Returns true if the machine ran long enough to prove that the spec works. */
function isProof({ spec, status = {} }: GpuInstance, { endedAt }: EndedMachine): boolean {
  const isReady = spec.readinessProbe === undefined || status.readyAt !== undefined;
  return isReady && ranMs(status, endedAt) >= PROVEN_MS;
}

/**
 * Returns the consecutive failures after the machine of an object ended; undefined if there are none. Another
 * generation of the spec, or a machine that worked, resets them. An end that does not depend on the spec leaves them
 * unchanged.
 */
export function failuresAfter(object: GpuInstance, ended: EndedMachine): RepeatedFailure | undefined {
  const { generation = 0 } = object.metadata;
  const { machineId, repeatedFailure } = object.status ?? {};
  const before = repeatedFailure?.generation === generation ? repeatedFailure : undefined;
  if (isProof(object, ended)) return undefined;
  const reason = failureOf(object, ended);
  if (reason === undefined) return before;
  const previous = before && (before.reason === reason || isOfSpec(before)) ? before : undefined;
  // A second failure on the same machine may be that machine's fault. Once the spec counts as failing, the
  // machine no longer matters.
  const isSameMachine = machineId !== undefined && previous?.machineId === machineId && !isOfSpec(previous);
  const text = printableText(ended.text, MAX_STATUS_TEXT);
  return {
    reason,
    machines: (previous?.machines ?? 0) + (isSameMachine ? 0 : 1),
    ...omitUndefined({ machineId, text }),
    at: formatTime(ended.now),
    cost: formatDollars((parseDollars(previous?.cost) ?? 0) + ended.cost),
    generation,
  };
}

/** Returns true if enough machines failed to make the spec the likely cause. */
export function isOfSpec(failures: RepeatedFailure | undefined): failures is RepeatedFailure {
  return failures !== undefined && failures.machines >= MIN_MACHINES;
}

/** Wait caused by failures of an object's spec. */
export interface FailureWait {
  readonly failures: RepeatedFailure;
  /** Epoch milliseconds by the operator's clock. */
  readonly until: number;
}

/**
 * Returns the wait before the next rental of an object; undefined if its present spec has not failed on two machines.
 */
export function failureWait({ metadata, status }: GpuInstance): FailureWait | undefined {
  const failures = status?.repeatedFailure;
  if (!isOfSpec(failures) || failures.generation !== (metadata.generation ?? 0)) return undefined;
  const waitMs = growingWaitMs(failures.machines - MIN_MACHINES + 1, MINUTE_MS);
  return { failures, until: (parseTime(failures.at) ?? 0) + waitMs };
}

/** Returns the failures as text: their common properties, their cost, and the time of the next rental. */
export function describeFailures({ spec }: GpuInstance, { failures, until }: FailureWait): string {
  const { machines, reason, text, cost } = failures;
  const secret = spec.imagePullSecretRef ? `pull Secret ${spec.imagePullSecretRef.name}` : 'no pull Secret';
  const lastStatus = text === undefined ? '' : ` Last status: "${text}".`;
  return `${machines} machines in a row failed (${reason}) with image ${spec.image} and ${secret}.${lastStatus} They cost $${cost}. Next rental: ${formatTime(until)}.`;
}
