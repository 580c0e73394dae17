import type { RentalIntent } from '../../ownership/intent.ts';
import type { Observed } from './types.ts';

/** Returns the time from which complete lists without the machine prove that none will come. */
export function settlesAt(intent: RentalIntent, observed: Pick<Observed, 'clock' | 'memory'>): number {
  const { lateCallMs, listLagMs } = observed.clock.constants;
  return deadlineOf(intent, observed) + lateCallMs + listLagMs;
}

/**
 * Returns the steady time from which lists must show the machine of the recorded purchase; 0 if another intent or none is
 * on the object.
 */
export function visibleFrom(observed: Pick<Observed, 'object' | 'purchase' | 'clock' | 'memory'>): number {
  const { object, purchase, clock } = observed;
  const reading = purchase.intent;
  if (reading.type !== 'intent' || reading.intent.attempt !== object.status?.attempt) return 0;
  return deadlineOf(reading.intent, observed) + clock.constants.listLagMs;
}

/** Returns the deadline of an intent in steady time. */
export function deadlineOf(intent: RentalIntent, { memory }: Pick<Observed, 'memory'>): number {
  return memory.intentDeadline?.attempt === intent.attempt ? memory.intentDeadline.at : intent.deadline;
}

/**
 * Returns true if two complete lists were read that began after `at` (steady time) and far enough apart, and this process
 * has read lists for long enough: one may lack an existing machine.
 */
export function listsAgreeAfter(observed: Pick<Observed, 'machine' | 'clock'>, at: number): boolean {
  const { machine, clock } = observed;
  const later = machine.listsBegun.filter((begun) => begun > at);
  return areApart(later, clock.constants.goneSpacingMs) && listsSpanLag(observed);
}

/**
 * Returns true if the lists of this process cover the maximum lag of lists. The first lists of a new process may all
 * lack a machine that the former process knew, or show it under another label.
 */
export function listsSpanLag({
  machine: { listsBegun },
  clock: { constants },
}: Pick<Observed, 'machine' | 'clock'>): boolean {
  return areApart(listsBegun, constants.listLagMs);
}

/**
 * Returns true if there are two lists, and the first and the last of them began far enough apart. `begun`: in order. A list
 * of unknown start, which counts as begun before everything else, does not count here.
 */
export function areApart(begun: readonly number[], spacingMs: number): boolean {
  const known = begun.filter(Number.isFinite);
  const [first] = known;
  const last = known.at(-1);
  return known.length >= 2 && first !== undefined && last !== undefined && last - first >= spacingMs;
}
