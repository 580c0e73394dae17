import type { GpuInstance } from '../api/v1alpha1/gpu-instance.ts';
import { formatDuration, formatTime, parseDuration, parseTime } from '../lib/time.ts';
import type { Fuses } from '../market/self-end.ts';
import { maxLifetimeOf } from './run.ts';

/* Fuses of the present machine of an object. They are set at its rental, and cannot be changed. */

/**
 * Returns the time at which the machine ends itself if it never stops; undefined without a life fuse, or before the
 * machine was seen running. The fuse counts the time of running, so a stop makes the end later.
 */
export function selfEndAt({ status }: Pick<GpuInstance, 'status'>): number | undefined {
  const { selfEnd, runningAt } = status ?? {};
  const from = parseTime(runningAt);
  if (selfEnd?.lifeSeconds === undefined || from === undefined) return undefined;
  return from + selfEnd.lifeSeconds * 1_000;
}

/**
 * Returns the milliseconds without a renewal after which the machine ends itself, once it was renewed. A changed
 * `spec.lease` is for the next machine. Undefined for a machine that was rented without a lease; if the rental is not
 * on record, the spec decides.
 */
export function leaseMs({ spec, status }: Pick<GpuInstance, 'spec' | 'status'>): number | undefined {
  const { selfEnd } = status ?? {};
  if (selfEnd === undefined) return parseDuration(spec.lease?.duration);
  return selfEnd.leaseSeconds === undefined ? undefined : selfEnd.leaseSeconds * 1_000;
}

/** Fuse of a machine that was due. */
export interface DueFuse {
  readonly type: 'life' | 'lease';
  /**
   * Time at which it ended the machine if the machine never stopped, according to the record (epoch milliseconds, the
   * operator's clock).
   */
  readonly at: number;
  /** Last renewal of a lease that the operator renews. */
  readonly renewedAt?: number;
}

/**
 * Returns the fuse that may have ended the machine by `goneBy`, the earliest if both may; undefined if none was due then.
 * A fuse counts from the start of its container at the earliest, which is after the rental. `renewedAt`: a renewal that
 * is newer than the record.
 */
export function dueFuse(
  object: Pick<GpuInstance, 'spec' | 'status'>,
  goneBy: number,
  renewedAt?: number,
): DueFuse | undefined {
  const due = [dueLife(object, goneBy), dueLease(object, goneBy, renewedAt)].filter(
    (fuse) => fuse !== undefined,
  );
  return due.toSorted((left, right) => left.at - right.at)[0];
}

function dueLife({ status }: Pick<GpuInstance, 'status'>, goneBy: number): DueFuse | undefined {
  const { selfEnd, rentedAt, runningAt, cost } = status ?? {};
  const from = parseTime(rentedAt ?? cost?.since);
  if (selfEnd?.lifeSeconds === undefined || from === undefined) return undefined;
  const lifeMs = selfEnd.lifeSeconds * 1_000;
  if (from + lifeMs > goneBy) return undefined;
  return { type: 'life', at: Math.min(goneBy, Math.max(from, parseTime(runningAt) ?? from) + lifeMs) };
}

function dueLease(
  { spec, status }: Pick<GpuInstance, 'spec' | 'status'>,
  goneBy: number,
  newer: number | undefined,
): DueFuse | undefined {
  const { selfEnd, rentedAt, cost, lease } = status ?? {};
  if (selfEnd?.leaseSeconds === undefined) return undefined;
  const durationMs = selfEnd.leaseSeconds * 1_000;
  const recorded = parseTime(lease?.renewedAt ?? lease?.since);
  const renewed = recorded === undefined ? newer : Math.max(recorded, newer ?? recorded);
  if (renewed !== undefined) {
    const at = renewed + durationMs;
    return at > goneBy ? undefined : { type: 'lease', at, renewedAt: renewed };
  }
  // The operator does not see the renewals of a program.
  const from = parseTime(rentedAt ?? cost?.since);
  const isPrograms = spec.lease?.by === 'Program' && from !== undefined;
  return isPrograms && from + durationMs <= goneBy ? { type: 'lease', at: goneBy } : undefined;
}

/** Returns a sentence that names the machine and the fuse that was due. */
export function dueText(instanceId: string, { type, at, renewedAt }: DueFuse): string {
  const machine = `Machine ${instanceId} ended itself`;
  if (type === 'life') return `${machine} at about ${formatTime(at)}, by the maxLifetime of its rental.`;
  return renewedAt === undefined
    ? `${machine}: its program did not renew the lease.`
    : `${machine} at about ${formatTime(at)}: its lease was last renewed at ${formatTime(renewedAt)}.`;
}

/**
 * Returns the end of billing of a machine that is gone without a destroy by the operator: when its fuse ended it, or the
 * present time (epoch milliseconds).
 */
export function goneAt(object: Pick<GpuInstance, 'spec' | 'status'>, now: number): number {
  return dueFuse(object, now)?.at ?? now;
}

/**
 * Returns a sentence if the machine may end itself before the operator would end it by the present spec; undefined
 * otherwise.
 */
export function fixedFuse(object: Pick<GpuInstance, 'spec' | 'status'>): string | undefined {
  const { spec, status } = object;
  const at = selfEndAt(object);
  if (at === undefined) return undefined;
  const maxLifetime = parseDuration(maxLifetimeOf(spec));
  const first = parseTime(status?.firstRentedAt);
  const isEndedByOperator = maxLifetime !== undefined && spec.deletionPolicy === 'Destroy';
  if (isEndedByOperator && (first === undefined || first + maxLifetime <= at)) return undefined;
  return `Machine ${status?.instanceId} ends itself at ${formatTime(at)}, by the maxLifetime of its rental.`;
}

/** Returns the times after which a machine ends itself: `1h10m of running, or 2h without a renewal`. */
export function endsText({ lifeSeconds, leaseSeconds }: Fuses): string {
  const life = lifeSeconds === undefined ? [] : [`${formatDuration(lifeSeconds * 1_000)} of running`];
  const lease =
    leaseSeconds === undefined ? [] : [`${formatDuration(leaseSeconds * 1_000)} without a renewal`];
  return [...life, ...lease].join(', or ');
}
