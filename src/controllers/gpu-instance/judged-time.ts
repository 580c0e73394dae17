import { type ServiceTime, serviceNow } from '../../accounts/service-clock.ts';
import { factsOf } from './recorded.ts';
import type { Observed } from './types.ts';

/**
 * The time by which costs are dated and rentals refused: the service's clock if it says one, since our own may have been
 * set ahead by a day. Undefined while it is stale; later replies decide.
 */
export function judgedTime(observed: Observed): number | undefined {
  return serviceNow(serviceTimeOf(observed), observed.now);
}

/**
 * The time by which a machine may be ended for its age, its cost or an annotation: one that two complete lists agree on.
 * For a service that never says its time, ours, as long as no jump of the wall clock brought it there. Undefined until then.
 */
export function confirmedTime(observed: Observed): number | undefined {
  const time = serviceTimeOf(observed);
  if (time.type === 'unknown') return Math.min(observed.now, observed.steadyNow);
  return time.type === 'known' && time.isConfirmed ? time.at : undefined;
}

function serviceTimeOf(observed: Observed): ServiceTime {
  return factsOf(observed)?.serviceTime ?? { type: 'unknown' };
}
