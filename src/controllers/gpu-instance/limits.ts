import { totalCost } from '../../instance/cost.ts';
import { formatDollars, parseDollars } from '../../lib/money.ts';
import { parseDuration, parseTime } from '../../lib/time.ts';
import type { Facts } from './facts.ts';

/** Whether the object's own limits leave room, and when the next one will be reached. */
export type LimitState =
  | { readonly type: 'within'; readonly reachedInMs: number | undefined }
  | { readonly type: 'reached'; readonly detail: string };

/** How soon to look again while no time can be trusted: the next lists bring the service's. */
export const CLOCK_LOOK_MS = 10_000;

/**
 * Whether another machine may still be rented: `maxLifetime` counts from the first rental, `maxTotalCost` all machines
 * together.
 */
export function limitState(facts: Facts): LimitState {
  const now = facts.serviceNow;
  return now === undefined ? { type: 'within', reachedInMs: CLOCK_LOOK_MS } : limitStateAt(facts, now);
}

/** Whether a machine has to end now: only by a time that two complete lists agree on. */
export function limitToApply(facts: Facts): LimitState {
  const state = limitState(facts);
  if (state.type === 'within') return state;
  const now = facts.confirmedNow;
  return now === undefined ? { type: 'within', reachedInMs: CLOCK_LOOK_MS } : limitStateAt(facts, now);
}

function limitStateAt(facts: Facts, now: number): LimitState {
  const { spec, status } = facts.object;
  const lifetime = lifetimeLeft(facts, now);
  if (lifetime !== undefined && lifetime <= 0) {
    return { type: 'reached', detail: `spec.maxLifetime of ${spec.maxLifetime} is over.` };
  }
  const cost = costLeft(facts, now);
  if (cost !== undefined && cost <= 0) {
    return { type: 'reached', detail: `spec.maxTotalCost of $${spec.maxTotalCost} is spent.` };
  }
  const spendIn =
    cost === undefined ? undefined : timeToSpend(cost, parseDollars(status?.cost?.pricePerHour));
  const times = [lifetime, spendIn].filter((time) => time !== undefined);
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

function lifetimeLeft({ object }: Facts, now: number): number | undefined {
  const most = parseDuration(object.spec.maxLifetime);
  const first = parseTime(object.status?.firstRentedAt);
  return most === undefined || first === undefined ? undefined : first + most - now;
}

function costLeft({ object }: Facts, now: number): number | undefined {
  const most = parseDollars(object.spec.maxTotalCost);
  return most === undefined ? undefined : most - totalCost(object.status?.cost, now);
}

function timeToSpend(amount: number, pricePerHour: number | undefined): number | undefined {
  return pricePerHour === undefined || pricePerHour === 0 ? undefined : (amount / pricePerHour) * 3_600_000;
}
