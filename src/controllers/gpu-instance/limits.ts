import { annotations } from '../../api/v1alpha1/names.ts';
import { totalCost } from '../../instance/cost.ts';
import { asHandled, requestedReplacement } from '../../instance/replace-request.ts';
import { maxLifetimeOf } from '../../instance/run.ts';
import { formatDollars, parseDollars } from '../../lib/money.ts';
import { fittingText } from '../../lib/text.ts';
import { formatTime, parseDuration, parseTime } from '../../lib/time.ts';
import type { EventNote } from '../../runtime/events.ts';
import type { Facts } from './facts.ts';
import { idleStopOf } from './idle.ts';
import type { Requeue } from './types.ts';

/** State of the object's own limits, with the time at which the next one is reached. */
type LimitState =
  | { readonly type: 'within'; readonly reachedInMs: number | undefined }
  | { readonly type: 'reached'; readonly detail: string };

/** The end of a contract is reported so long before it. */
export const CONTRACT_NOTICE_MS = 86_400_000;

/** Delay before the next reconcile while no time is trusted: the next lists bring the service's time. */
const CLOCK_RETRY_MS = 10_000;

/** Limits that end further rentals: `maxLifetime` counts from the first rental, `maxTotalCost` over all machines. */
export function limitState(facts: Pick<Facts, 'object' | 'clock'>): LimitState {
  const now = facts.clock.serviceNow;
  return now === undefined ? { type: 'within', reachedInMs: CLOCK_RETRY_MS } : limitStateAt(facts, now);
}

/** Returns the remaining time for machines of the object; undefined without `maxLifetime`. */
export function remainingLifetimeMs({
  object: { spec, status },
  clock: { believedNow },
}: Pick<Facts, 'object' | 'clock'>): number | undefined {
  const maxLifetime = parseDuration(maxLifetimeOf(spec));
  const first = parseTime(status?.firstRentedAt);
  if (maxLifetime === undefined || first === undefined) return maxLifetime;
  return Math.max(0, first + maxLifetime - believedNow);
}

/**
 * Returns the text of the budget that stops the machine, although its powerState is Running. A machine that a person
 * holds keeps running.
 */
export function budgetStopOf({
  object: { spec, metadata },
  budgetStop,
}: Pick<Facts, 'object' | 'budgetStop'>): string | undefined {
  const isHeld = metadata.annotations?.[annotations.hold] !== undefined;
  return isHeld || spec.powerState === 'Stopped' ? undefined : budgetStop;
}

/** Facts that decide whether a machine must be stopped. */
export type StopFacts = Pick<Facts, 'object' | 'budgetStop' | 'machine' | 'account' | 'clock' | 'memory'>;

/** Returns true if the machine must be stopped: by its powerState, by a budget of its namespace, or as idle. */
export function isToStop(facts: StopFacts): boolean {
  if (facts.object.spec.powerState === 'Stopped' || budgetStopOf(facts) !== undefined) return true;
  return idleStopOf(facts) !== undefined;
}

/**
 * Returns true if a machine that may run is to be stopped now. A budget stops it only by a time that two complete lists
 * agree on: a clock that was set wrong must not spend a month.
 */
export function isStopDue(facts: StopFacts): boolean {
  const isBudgets = facts.object.spec.powerState !== 'Stopped' && idleStopOf(facts) === undefined;
  return isToStop(facts) && !(isBudgets && facts.clock.confirmedNow === undefined);
}

/** Returns the limit that ends a machine now: only by a time that two complete lists agree on. */
export function limitToApply(facts: Pick<Facts, 'object' | 'clock'>): LimitState {
  const state = limitState(facts);
  if (state.type === 'within') return state;
  const now = facts.clock.confirmedNow;
  return now === undefined ? { type: 'within', reachedInMs: CLOCK_RETRY_MS } : limitStateAt(facts, now);
}

function limitStateAt(facts: Pick<Facts, 'object'>, now: number): LimitState {
  const { spec, status } = facts.object;
  const maxLifetime = parseDuration(maxLifetimeOf(spec));
  const first = parseTime(status?.firstRentedAt);
  const lifetimeLeft =
    maxLifetime === undefined || first === undefined ? undefined : first + maxLifetime - now;
  if (lifetimeLeft !== undefined && lifetimeLeft <= 0) {
    return { type: 'reached', detail: `spec.maxLifetime of ${maxLifetimeOf(spec)} is over.` };
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

/** Returns the rise of `price` that deserves a report: 5 % over the offer, or any amount over the maximum. */
export function priceRise(
  facts: Pick<Facts, 'object'>,
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

/** Returns true if the annotation names a time that has passed, and the machine is older than it. */
export function replaceIsDue(facts: Pick<Facts, 'object' | 'clock'>): boolean {
  return (replaceIsDueIn(facts) ?? Number.POSITIVE_INFINITY) <= 0;
}

/**
 * Returns the milliseconds until the requested replacement; undefined without one, or if two lists disagree on the
 * time.
 */
function replaceIsDueIn(facts: Pick<Facts, 'object' | 'clock'>): number | undefined {
  const [at, now] = [requestedReplacement(facts.object), facts.clock.confirmedNow];
  return at === undefined || now === undefined ? undefined : at - now;
}

/**
 * Returns true if the annotation is handled: its time has passed and there is nothing to replace, or the machine was
 * replaced; or its value is no time, which is reported once.
 */
export function replaceIsHandled(facts: Pick<Facts, 'object' | 'clock'>, annotation: string): boolean {
  const [at, now] = [parseTime(annotation), facts.clock.confirmedNow];
  if (at === undefined) return true;
  return now !== undefined && at <= now && !replaceIsDue(facts);
}

/** Events for an annotation that names no time, until the status records that it was handled. */
export function unreadableReplaceAt(facts: Pick<Facts, 'object' | 'clock'>): readonly EventNote[] {
  const { metadata, status } = facts.object;
  const annotation = metadata.annotations?.[annotations.replaceAt];
  if (annotation === undefined || parseTime(annotation) !== undefined) return [];
  if (status?.replacedAt === asHandled(annotation)) return [];
  const note = `The machine is kept: the annotation ${annotations.replaceAt} is ${JSON.stringify(fittingText(annotation, 100))}, which is no time. To replace the machine, set it to a time such as ${formatTime(facts.clock.now)}, or to the present one: $(date -u +%FT%TZ).`;
  return [{ type: 'Warning', reason: 'InvalidReplaceAt', action: 'Replacing', note }];
}

/**
 * Returns the time at which a limit is reached or a replacement becomes due: no event reports it. An overdue one is
 * blocked, and the end of its block causes an event.
 */
export function nextDeadline(facts: Pick<Facts, 'object' | 'budgetStop' | 'clock'>): Requeue {
  const limits = limitToApply(facts);
  const isClockPending =
    facts.clock.confirmedNow === undefined &&
    (facts.object.metadata.annotations?.[annotations.replaceAt] !== undefined ||
      budgetStopOf(facts) !== undefined);
  const times = [
    limits.type === 'within' ? limits.reachedInMs : undefined,
    isClockPending ? CLOCK_RETRY_MS : replaceIsDueIn(facts),
    contractEndIsDueIn(facts),
  ]
    .filter((time) => time !== undefined)
    .filter((time) => time > 0);
  return times.length === 0 ? {} : { afterMs: Math.max(1000, Math.min(...times)) };
}

/** Returns the time at which the end of the contract is reported; undefined if it was reported, or is unknown. */
function contractEndIsDueIn({
  object,
  clock: { serviceNow, confirmedNow },
}: Pick<Facts, 'object' | 'clock'>): number | undefined {
  const { at, isReported } = object.status?.contractEnd ?? {};
  const end = parseTime(at);
  if (end === undefined || serviceNow === undefined || isReported === true) return undefined;
  const dueInMs = end - CONTRACT_NOTICE_MS - serviceNow;
  return dueInMs <= 0 && confirmedNow === undefined ? CLOCK_RETRY_MS : dueInMs;
}
