import { annotations } from '../../api/v1alpha1/names.ts';
import { fittingText } from '../../lib/text.ts';
import { formatTime, parseTime } from '../../lib/time.ts';
import type { Facts } from './facts.ts';
import { CLOCK_LOOK_MS, limitToApply } from './limits.ts';
import type { EventNote, Look } from './types.ts';

/** The annotation names a time that has come, and the machine is older than it. */
export function replaceIsDue(facts: Facts): boolean {
  return (replaceIsDueIn(facts) ?? Number.POSITIVE_INFINITY) <= 0;
}

/** How many milliseconds from now; undefined if none is to come, or two lists do not agree on the time. */
function replaceIsDueIn(facts: Facts): number | undefined {
  const { metadata, status } = facts.object;
  const annotation = metadata.annotations?.[annotations.replaceAt];
  const [at, rentedAt, now] = [parseTime(annotation), parseTime(status?.rentedAt), facts.confirmedNow];
  if (at === undefined || rentedAt === undefined || now === undefined) return undefined;
  return status?.replacedAt === asHandled(annotation ?? '') || rentedAt >= at ? undefined : at - now;
}

/** Its time has come, and there is nothing to replace, or it was replaced; or it names no time, which is told once. */
export function replaceIsHandled(facts: Facts, annotation: string): boolean {
  const [at, now] = [parseTime(annotation), facts.confirmedNow];
  if (at === undefined) return true;
  return now !== undefined && at <= now && !replaceIsDue(facts);
}

/** A value of the annotation as the status holds it. */
export function asHandled(annotation: string): string {
  return annotation.slice(0, 253);
}

/** What to tell of an annotation that names no time, until the status says that it was handled. */
export function unreadableReplaceAt(facts: Facts): readonly EventNote[] {
  const { metadata, status } = facts.object;
  const annotation = metadata.annotations?.[annotations.replaceAt];
  if (annotation === undefined || parseTime(annotation) !== undefined) return [];
  if (status?.replacedAt === asHandled(annotation)) return [];
  const note = `The machine is kept: the annotation ${annotations.replaceAt} is ${JSON.stringify(fittingText(annotation, 100))}, which is no time. To replace the machine, set it to a time such as ${formatTime(facts.now)}, or to the present one: $(date -u +%FT%TZ).`;
  return [{ type: 'Warning', reason: 'InvalidReplaceAt', action: 'Replacing', note }];
}

/**
 * When a limit is reached or a replacement falls due: nothing that happens tells of it. What is due already is held
 * back, and what lifts that tells.
 */
export function nextDeadline(facts: Facts): Look {
  const limits = limitToApply(facts);
  const isClockAwaited =
    facts.confirmedNow === undefined &&
    facts.object.metadata.annotations?.[annotations.replaceAt] !== undefined;
  const times = [
    limits.type === 'within' ? limits.reachedInMs : undefined,
    isClockAwaited ? CLOCK_LOOK_MS : replaceIsDueIn(facts),
  ]
    .filter((time) => time !== undefined)
    .filter((time) => time > 0);
  return times.length === 0 ? {} : { afterMs: Math.max(1000, Math.min(...times)) };
}
