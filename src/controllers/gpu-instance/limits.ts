import { totalCost } from '../../instance/cost.ts';
import { formatDollars, parseDollars } from '../../lib/money.ts';
import { parseDuration, parseTime } from '../../lib/time.ts';
import { confirmedTime, judgedTime } from './judged-time.ts';
import type { Observed } from './types.ts';

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
export function limitState(observed: Observed): LimitState {
  const now = judgedTime(observed);
  return now === undefined ? { type: 'within', reachedInMs: CLOCK_LOOK_MS } : limitStateAt(observed, now);
}

/** Whether a machine has to end now: only by a time that two complete lists agree on. */
export function limitToApply(observed: Observed): LimitState {
  const state = limitState(observed);
  if (state.type === 'within') return state;
  const now = confirmedTime(observed);
  return now === undefined ? { type: 'within', reachedInMs: CLOCK_LOOK_MS } : limitStateAt(observed, now);
}

function limitStateAt(observed: Observed, now: number): LimitState {
  const { spec, status } = observed.object;
  const lifetime = lifetimeLeft(observed, now);
  if (lifetime !== undefined && lifetime <= 0) {
    return { type: 'reached', detail: `spec.maxLifetime of ${spec.maxLifetime} is over.` };
  }
  const cost = costLeft(observed, now);
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
  observed: Observed,
  price: number | undefined,
  cap: number | undefined,
): string | undefined {
  const { status } = observed.object;
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

function lifetimeLeft({ object }: Observed, now: number): number | undefined {
  const most = parseDuration(object.spec.maxLifetime);
  const first = parseTime(object.status?.firstRentedAt);
  return most === undefined || first === undefined ? undefined : first + most - now;
}

function costLeft({ object }: Observed, now: number): number | undefined {
  const most = parseDollars(object.spec.maxTotalCost);
  return most === undefined ? undefined : most - totalCost(object.status?.cost, now);
}

function timeToSpend(amount: number, pricePerHour: number | undefined): number | undefined {
  return pricePerHour === undefined || pricePerHour === 0 ? undefined : (amount / pricePerHour) * 3_600_000;
}
