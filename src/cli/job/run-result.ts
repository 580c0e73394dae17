import type { GpuInstance } from '../../api/v1alpha1/gpu-instance.ts';
import { totalCost } from '../../instance/cost.ts';
import { formatDollars } from '../../lib/money.ts';

/** Exit codes of the relay beside those of the program. */
export const JOB_EXIT = {
  /** The run ended without an exit code of the program. */
  failed: 1,
  /** The relay ended before the run; the machine keeps running, and the next Pod attaches. */
  left: 75,
  /** The program's code is one that the relay uses itself, or is above 125. */
  other: 125,
  /** Nothing was rented, and another Pod would be refused, too. */
  refused: 126,
  cancelled: 143,
} as const;

const MAX_OWN_CODE = 125;

/** Result of a finished run. */
export interface RunResult {
  readonly succeeded: boolean;
  /** Reason of condition Succeeded. */
  readonly reason: string;
  readonly message: string;
  /** Exit code of the program; undefined if it is not known. */
  readonly exitCode: number | undefined;
}

/** Returns the result of a finished run; undefined while it runs. */
export function resultOf({ status }: GpuInstance): RunResult | undefined {
  const condition = status?.conditions?.find(({ type }) => type === 'Succeeded');
  if (condition === undefined || condition.status === 'Unknown') return undefined;
  const { reason, message } = condition;
  return { succeeded: condition.status === 'True', reason, message, exitCode: status?.run?.exitCode };
}

/**
 * Returns the exit code of the relay for a result. The program's own codes from 1 to 125 are kept, except 75: a Job that
 * ignores 75, the code of an eviction, would rent again without end.
 */
export function exitCodeOf({ succeeded, reason, exitCode }: RunResult): number {
  if (succeeded) return 0;
  if (reason === 'Cancelled') return JOB_EXIT.cancelled;
  if (exitCode === undefined || exitCode === 0) return JOB_EXIT.failed;
  return exitCode > MAX_OWN_CODE || exitCode === JOB_EXIT.left ? JOB_EXIT.other : exitCode;
}

/** Returns the exit code of a command that ran the program for a person: that of the program itself, if it is known. */
export function personExitCodeOf({ succeeded, reason, exitCode }: RunResult): number {
  if (succeeded) return 0;
  if (reason === 'Cancelled') return JOB_EXIT.cancelled;
  return exitCode || JOB_EXIT.failed;
}

/** Last line of a relay, for programs. */
interface RunSummary {
  readonly gpuJob: string;
  /** Null if the program's code is not known. */
  readonly exitCode: number | null;
  readonly machines: number;
  readonly dollars: string;
  readonly seconds: number;
  /** Absent after a success. */
  readonly reason?: string;
}

/**
 * Returns the one JSON line about a run: `{"gpuJob":…,"exitCode":0,"machines":1,"dollars":"0.41","seconds":2460}`. The
 * seconds are those from the start of its first program to its end. `now`: epoch milliseconds, for a run without an end.
 */
export function summaryLine(object: GpuInstance, now: number): string {
  const { metadata, status } = object;
  const { exitCode = null, attempts = 0 } = status?.run ?? {};
  const result = resultOf(object);
  const summary: RunSummary = {
    gpuJob: metadata.name,
    exitCode,
    machines: attempts,
    dollars: formatDollars(totalCost(status?.cost, now)),
    seconds: Math.round(runMs(object, now) / 1000),
    ...(result?.succeeded !== true && { reason: result?.reason ?? 'Running' }),
  };
  return JSON.stringify(summary);
}

/** Returns the milliseconds from the start of the first program to the end of the run, or to `now`. */
export function runMs({ status }: GpuInstance, now: number): number {
  const { startedAt, finishedAt } = status?.run ?? {};
  if (startedAt === undefined) return 0;
  return Math.max(0, (finishedAt === undefined ? now : Date.parse(finishedAt)) - Date.parse(startedAt));
}
