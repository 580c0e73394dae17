import { annotations } from '../../api/v1alpha1/names.ts';
import { parseTime } from '../../lib/rfc3339.ts';
import { judgedTime } from './judged-time.ts';
import { limitState } from './limits.ts';
import type { Look, Observed } from './types.ts';

/** The annotation names a time that has come, and the machine is older than it. */
export function replaceIsDue(observed: Observed): boolean {
  return (replaceIsDueIn(observed) ?? Number.POSITIVE_INFINITY) <= 0;
}

/** How many milliseconds from now; undefined where none is to come, or no clock can be trusted. */
function replaceIsDueIn(observed: Observed): number | undefined {
  const { metadata, status } = observed.object;
  const annotation = metadata.annotations?.[annotations.replaceAt];
  const [at, rentedAt, now] = [parseTime(annotation), parseTime(status?.rentedAt), judgedTime(observed)];
  if (at === undefined || rentedAt === undefined || now === undefined) return undefined;
  return status?.replacedAt === annotation || rentedAt >= at ? undefined : at - now;
}

/** Its time has come, and there is nothing to replace, or it was replaced. */
export function replaceIsHandled(observed: Observed, annotation: string): boolean {
  const [at, now] = [parseTime(annotation), judgedTime(observed)];
  return at !== undefined && now !== undefined && at <= now && !replaceIsDue(observed);
}

/**
 * When a limit is reached or a replacement falls due: nothing that happens tells of it. What is due already is held
 * back, and what lifts that tells.
 */
export function nextDeadline(observed: Observed): Look {
  const limits = limitState(observed);
  const times = [limits.type === 'within' ? limits.reachedInMs : undefined, replaceIsDueIn(observed)]
    .filter((time) => time !== undefined)
    .filter((time) => time > 0);
  return times.length === 0 ? {} : { afterMs: Math.max(1000, Math.min(...times)) };
}
