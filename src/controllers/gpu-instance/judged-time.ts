import { factsOf } from './recorded.ts';
import type { Observed } from './types.ts';

/**
 * The time by which a machine may be given up for its age or its cost: the service's clock, where it says one. Our own
 * may have been set forward by a day. Undefined while the two cannot be compared; the next reply tells.
 */
export function judgedTime(observed: Observed): number | undefined {
  const time = factsOf(observed)?.serviceTime ?? { type: 'unknown' };
  if (time.type === 'stale') return undefined;
  return time.type === 'known' ? time.at : observed.now;
}
