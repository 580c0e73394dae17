import type { GpuInstance, GpuInstanceSpec, GpuInstanceStatus } from '../api/v1alpha1/gpu-instance.ts';
import { RUN_MAX_LIFETIME } from '../api/v1alpha1/gpu-instance-spec.ts';
import { annotations } from '../api/v1alpha1/names.ts';
import { facetsOf, isReason, type Reason } from '../api/v1alpha1/reasons.ts';
import { formatTime, parseDuration, parseTime } from '../lib/time.ts';

/* The run of a GpuInstance with `spec.completion`, from the object alone. PURE. */

/** State of a run, as the status records it. */
export type RunStatus = NonNullable<GpuInstanceStatus['run']>;

type Object = Pick<GpuInstance, 'spec' | 'status'>;

/** Returns true if the program of the object ends, and the object with it. */
export function isRun({ spec }: Pick<GpuInstance, 'spec'>): boolean {
  return spec.completion !== undefined;
}

/** Returns the effective `maxLifetime`: a run has one by default, since its machine enforces it without the operator. */
export function maxLifetimeOf({
  maxLifetime,
  completion,
}: Pick<GpuInstanceSpec, 'completion' | 'maxLifetime'>): string | undefined {
  return maxLifetime ?? (completion && RUN_MAX_LIFETIME);
}

/**
 * Returns a time that has passed by the clocks of the API server and the operator, for a cancellation that takes effect
 * at once. `now`: the caller's clock, which may be ahead; the machine would run until then.
 */
export function cancelTime({ metadata, status }: GpuInstance, now: number): number {
  const seen = status?.conditions?.map(({ lastTransitionTime }) => lastTransitionTime) ?? [];
  const known = [metadata.creationTimestamp, ...seen].flatMap((text) => parseTime(text) ?? []);
  return known.length === 0 ? now : Math.min(now, Math.max(...known));
}

/** Returns true if the object may have a Service; a run has none. */
export function hasService({ spec }: Pick<GpuInstance, 'spec'>): boolean {
  return spec.service.enabled && spec.completion === undefined;
}

const MAX_GRACE_MS = 600_000;

/** Returns the milliseconds between the stop and the destroy of a running machine; 0 for an object that is no run. */
export function stopGraceMs({ spec }: Pick<GpuInstance, 'spec'>): number {
  return Math.min(MAX_GRACE_MS, parseDuration(spec.completion?.stopGrace) ?? 0);
}

/** Result of one machine of a run. */
export type RunResult =
  | {
      readonly type: 'exited';
      readonly exitCode: number;
      /** Last lines of the log. */
      readonly message?: string | undefined;
      readonly log?: RunStatus['log'];
    }
  /** Neither log nor files showed the exit code. */
  | { readonly type: 'unknown' }
  /** The run ends whatever its program does. */
  | { readonly type: 'ended'; readonly reason: 'Cancelled' | 'DeadlineExceeded' | 'LostLimit' };

/**
 * Returns the run with the result of a machine. Attempts with an exit code count for `backoffLimit`, and machines without
 * a result for `lostLimit`; the run is over when no other attempt follows. `attempt`: undefined if no machine is
 * rented. `now`: epoch milliseconds.
 */
export function settledRun(
  { spec, status }: Object,
  { attempt, result, now }: { readonly attempt?: number; readonly result: RunResult; readonly now: number },
): RunStatus {
  const { collectingSince: _over, ...run } = status?.run ?? {};
  const counted = countedRun(run, result);
  const { reason, isOver } = verdictOf(spec, counted, result);
  const at = formatTime(now);
  return {
    ...counted,
    ...(attempt !== undefined && { settled: { attempt, reason, at } }),
    ...(isOver && { outcome: reason, finishedAt: at }),
  };
}

function countedRun(run: RunStatus, result: RunResult): RunStatus {
  switch (result.type) {
    case 'exited': {
      const { exitCode, message, log } = result;
      const { message: _message, log: _log, ...rest } = run;
      return {
        ...rest,
        exitCode,
        ...(message && { message }),
        ...(log && { log }),
        ...(exitCode !== 0 && { failed: (run.failed ?? 0) + 1 }),
      };
    }
    case 'unknown':
      return { ...run, lost: (run.lost ?? 0) + 1 };
    case 'ended':
      return run;
  }
}

interface Verdict {
  readonly reason: Reason;
  readonly isOver: boolean;
}

function verdictOf(spec: GpuInstanceSpec, run: RunStatus, result: RunResult): Verdict {
  switch (result.type) {
    case 'exited': {
      if (result.exitCode === 0) return { reason: 'Completed', isOver: true };
      const { backoffLimit = 0, retryCodes = [] } = spec.completion ?? {};
      const isRetried = retryCodes.length === 0 || retryCodes.includes(result.exitCode);
      const isOver = !isRetried || (run.failed ?? 0) > backoffLimit;
      return { reason: isOver ? 'BackoffLimit' : 'RunFailed', isOver };
    }
    case 'unknown': {
      const isOver = hasLostTooMany(spec, run);
      return { reason: isOver ? 'LostLimit' : 'ResultUnknown', isOver };
    }
    case 'ended':
      return { reason: result.reason, isOver: true };
  }
}

function hasLostTooMany(
  { completion }: Pick<GpuInstanceSpec, 'completion'>,
  { lost = 0 }: RunStatus,
): boolean {
  return completion !== undefined && lost > completion.lostLimit;
}

/** Returns true if the run lost more machines than its `lostLimit`. */
export function isAtLostLimit({ spec, status }: Object): boolean {
  return hasLostTooMany(spec, status?.run ?? {});
}

/** Returns the result of the run; undefined before its end, and for an object that is no run. */
export function outcomeOf({ spec, status }: Object): Reason | undefined {
  const outcome = status?.run?.outcome;
  return spec.completion !== undefined && outcome !== undefined && isReason(outcome) ? outcome : undefined;
}

/** Returns the result of the machine of an attempt; undefined before it is known or given up. */
export function settledReason({ status }: Pick<GpuInstance, 'status'>, attempt: number): Reason | undefined {
  const { settled } = status?.run ?? {};
  return settled?.attempt === attempt && isReason(settled.reason) ? settled.reason : undefined;
}

/**
 * Returns the run after its machine ended. A machine that ended without a result is lost, unless the operator or a
 * person chose to end it.
 */
export function runAfterEnd(object: Object, attempt: number, reason: Reason): RunStatus | undefined {
  const { spec, status } = object;
  if (spec.completion === undefined) return status?.run;
  const { collectingSince: _over, stopped: _stopped, ...run } = status?.run ?? {};
  const isLost = settledReason(object, attempt) === undefined && !facetsOf(reason).isChosen;
  return isLost ? { ...run, lost: (run.lost ?? 0) + 1 } : run;
}

/** Returns the run with another machine. `isNew`: false if the record moves to another machine of the same rental. */
export function runAfterRental({ spec, status }: Object, isNew: boolean): RunStatus | undefined {
  if (spec.completion === undefined) return status?.run;
  const { collectingSince: _over, stopped: _stopped, ...run } = status?.run ?? {};
  return { ...run, attempts: (run.attempts ?? 0) + (isNew ? 1 : 0) };
}

const FIRST_RETRY_MS = 10_000;
const MAX_RETRY_MS = 300_000;

/** Returns the wait before the next attempt after `failed` failures: 10 s, doubling to 5 min. */
function retryWaitMs(failed: number): number {
  return Math.min(MAX_RETRY_MS, FIRST_RETRY_MS * 2 ** Math.max(0, Math.min(failed, 32) - 1));
}

/** Returns the time before which no other machine is rented after a failed attempt; undefined after any other end. */
export function retryAt({ status }: Pick<GpuInstance, 'status'>): number | undefined {
  const { settled, failed = 0 } = status?.run ?? {};
  const at = settled?.reason === 'RunFailed' ? parseTime(settled.at) : undefined;
  return at === undefined ? undefined : at + retryWaitMs(failed);
}

/** Returns the time of the cancellation by the annotation; `invalid` if it is no time, undefined without one. */
export function cancelAt({ metadata, spec }: GpuInstance): number | 'invalid' | undefined {
  const text = metadata.annotations?.[annotations.cancelAt];
  if (text === undefined || spec.completion === undefined) return undefined;
  return parseTime(text) ?? 'invalid';
}

/** Returns the time at which the finished object is deleted; undefined if it is kept. */
export function expiresAt({ spec, status }: Object): number | undefined {
  const ttlMs = parseDuration(spec.completion?.ttlAfterFinished);
  const finishedAt = parseTime(status?.run?.finishedAt);
  return ttlMs === undefined || finishedAt === undefined ? undefined : finishedAt + ttlMs;
}
