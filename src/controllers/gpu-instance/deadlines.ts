import type { Machine } from '../../accounts/beliefs/machine.ts';
import { isRecorded } from '../../instance/machine-state.ts';
import { parseTime } from '../../lib/time.ts';
import type { Facts } from './facts.ts';
import type { Requeue } from './types.ts';

/**
 * Returns the time since which the service has shown it, in steady time: as observed by this process, else as recorded.
 */
export function statusSeenSince(
  facts: Pick<Facts, 'object' | 'machine' | 'clock' | 'memory'>,
  row: Machine,
): number {
  const { status } = facts.object;
  const { seenStatus } = facts.memory;
  if (seenStatus?.state === row.state && seenStatus.marketStatus === row.marketStatus)
    return seenStatus.since;
  const onRecord = isRecorded(row, status) ? parseTime(status?.actualStatusSince) : undefined;
  return onRecord ?? facts.machine.list?.begunSteady ?? facts.clock.steadyNow;
}

/** A machine is watched by this very process for so long before a timeout that began earlier may end it. */
const MIN_WATCH_MS = 60_000;

/** Returns the earliest time of a timeout: after a restart a wrong wall clock must not make it look long over. */
export function deadlineAfter(facts: Pick<Facts, 'memory'>, since: number, timeoutMs: number): number {
  const watched = facts.memory.watchedSince ?? Number.NEGATIVE_INFINITY;
  return Math.max(since + timeoutMs, watched + Math.min(timeoutMs, MIN_WATCH_MS));
}

/** Returns the start of the present machine's rental, in steady time. */
export function rentedSince(
  { memory, object, clock: { steadyNow } }: Pick<Facts, 'object' | 'clock' | 'memory'>,
  startedAt: number | undefined,
): number {
  return memory.rentedSince ?? startedAt ?? parseTime(object.status?.cost?.since) ?? steadyNow;
}

/** Age up to which a list counts as current: a machine's time needs no precision of seconds. */
const FRESH_LIST_MS = 30_000;

/**
 * Returns true if the machine's time (`deadline`, steady) is over by a list that is fresh or was begun after it. Lists
 * may be minutes apart, and the machine may have started long after the latest one.
 */
export function isTimeUp(
  { machine: { list }, clock: { steadyNow } }: Pick<Facts, 'machine' | 'clock'>,
  deadline: number,
): boolean {
  if (steadyNow < deadline || list === undefined) return false;
  return list.begunSteady >= Math.min(deadline, steadyNow - FRESH_LIST_MS);
}

/** Returns the next reconcile of a machine with a deadline: at the deadline, and then at the next list. */
export function untilTimeIsUp({ clock: { steadyNow } }: Pick<Facts, 'clock'>, deadline: number): Requeue {
  const left = deadline - steadyNow;
  return left > 0 ? { afterMs: Math.max(1000, left) } : { onList: true };
}
