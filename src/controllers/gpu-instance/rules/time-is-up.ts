import type { Facts } from '../facts.ts';
import type { Look } from '../types.ts';

/** A list is as good as one of this moment for so long: a machine's time is not measured by the second. */
const FRESH_LIST_MS = 30_000;

/**
 * Whether a machine's time (`deadline`, steady) is over, by a list that is fresh or was begun after it: with minutes
 * between two lists, the machine may have come up long since the latest one.
 */
export function isTimeUp({ list, steadyNow }: Facts, deadline: number): boolean {
  if (steadyNow < deadline || list === undefined) return false;
  return list.begunSteady >= Math.min(deadline, steadyNow - FRESH_LIST_MS);
}

/** When to look again at a machine that has its time: when that is over, and then at the next list. */
export function untilTimeIsUp({ steadyNow }: Facts, deadline: number): Look {
  const left = deadline - steadyNow;
  return left > 0 ? { afterMs: Math.max(1000, left) } : { onList: true };
}
