import { annotations } from '../../api/v1alpha1/names.ts';
import { totalCost } from '../../instance/cost.ts';
import { formatDollars, parseDollars } from '../../lib/money.ts';
import { fittingText } from '../../lib/text.ts';
import { formatTime, parseDuration, parseTime } from '../../lib/time.ts';
import type { EventNote } from '../../runtime/events.ts';
import type { Facts } from './facts.ts';
import type { Requeue } from './types.ts';

/** Whether the object's own limits leave room, and when the next one will be reached. */
type LimitState =
  | { readonly type: 'within'; readonly reachedInMs: number | undefined }
  | { readonly type: 'reached'; readonly detail: string };

/** How soon to look again while no time can be trusted: the next lists bring the service's. */
const CLOCK_RETRY_MS = 10_000;

/**
 * Whether another machine may still be rented: `maxLifetime` counts from the first rental, `maxTotalCost` all machines
 * together.
 */
export function limitState(facts: Facts): LimitState {
  const now = facts.serviceNow;
  return now === undefined ? { type: 'within', reachedInMs: CLOCK_RETRY_MS } : limitStateAt(facts, now);
}

/** Whether a machine has to end now: only by a time that two complete lists agree on. */
export function limitToApply(facts: Facts): LimitState {
  const state = limitState(facts);
  if (state.type === 'within') return state;
  const now = facts.confirmedNow;
  return now === undefined ? { type: 'within', reachedInMs: CLOCK_RETRY_MS } : limitStateAt(facts, now);
}

function limitStateAt(facts: Facts, now: number): LimitState {
  const { spec, status } = facts.object;
  const maxLifetime = parseDuration(spec.maxLifetime);
  const first = parseTime(status?.firstRentedAt);
  const lifetimeLeft =
    maxLifetime === undefined || first === undefined ? undefined : first + maxLifetime - now;
  if (lifetimeLeft !== undefined && lifetimeLeft <= 0) {
    return { type: 'reached', detail: `spec.maxLifetime of ${spec.maxLifetime} is over.` };
  }
  const maxTotalCost = parseDollars(spec.maxTotalCost);
  const costLeft = maxTotalCost === undefined ? undefined : maxTotalCost - totalCost(status?.cost, now);
  if (costLeft !== undefined && costLeft <= 0) {
    return { type: 'reached', detail: `spec.maxTotalCost of $${spec.maxTotalCost} is spent.` };
  }
  const price = parseDollars(status?.cost?.pricePerHour) ?? 0;
  const spentIn = costLeft === undefined || price === 0 ? undefined : (costLeft / price) * 3_600_000;
  const times = [lifetimeLeft, spentIn].filter((time) => time !== undefined);
  return { type: 'within', reachedInMs: times.length === 0 ? undefined : Math.max(1000, Math.min(...times)) };
}

/** How much of `price` above an amount is worth telling: 5 % over what the offer said, or over the maximum. */
export function priceRise(
  facts: Facts,
  price: number | undefined,
  cap: number | undefined,
): string | undefined {
  const { status } = facts.object;
  const offered = parseDollars(status?.offerPricePerHour);
  if (price === undefined) return undefined;
  if (cap !== undefined && price > cap) {
    return `The machine costs $${formatDollars(price)}/h; maxPricePerHour is $${formatDollars(cap)}.`;
  }
  if (offered !== undefined && price > offered * 1.05) {
    return `The machine costs $${formatDollars(price)}/h; its offer said $${formatDollars(offered)}/h.`;
  }
  return undefined;
}

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
export function nextDeadline(facts: Facts): Requeue {
  const limits = limitToApply(facts);
  const isClockPending =
    facts.confirmedNow === undefined &&
    facts.object.metadata.annotations?.[annotations.replaceAt] !== undefined;
  const times = [
    limits.type === 'within' ? limits.reachedInMs : undefined,
    isClockPending ? CLOCK_RETRY_MS : replaceIsDueIn(facts),
  ]
    .filter((time) => time !== undefined)
    .filter((time) => time > 0);
  return times.length === 0 ? {} : { afterMs: Math.max(1000, Math.min(...times)) };
}

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
export function untilTimeIsUp({ steadyNow }: Facts, deadline: number): Requeue {
  const left = deadline - steadyNow;
  return left > 0 ? { afterMs: Math.max(1000, left) } : { onList: true };
}
