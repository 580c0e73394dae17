import type { GpuInstance, GpuInstanceStatus } from '../api/v1alpha1/gpu-instance.ts';
import { omitUndefined } from '../lib/json.ts';
import { costOver, formatDollars, highestCap, type MicroDollars, parseDollars } from '../lib/money.ts';
import { formatTime, parseTime } from '../lib/time.ts';

export type Cost = NonNullable<GpuInstanceStatus['cost']>;

/** Services bill whole seconds. */
function billedMs(from: number, to: number): number {
  return Math.max(0, Math.floor(to / 1000) - Math.floor(from / 1000)) * 1000;
}

/** The most that an amount of a status can say, in micro-dollars. */
const MOST = 999_999_999_999_999;

/** Epoch milliseconds of the first moment of the UTC month that contains `now`. */
export function monthStart(now: number): number {
  const date = new Date(now);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), 1);
}

/** `2026-11` for the UTC month that contains `now`. */
export function monthName(now: number): string {
  return new Date(now).toISOString().slice(0, 7);
}

/** What the object has cost until `at`, all machines together. */
export function totalCost(cost: Cost | undefined, at: number): MicroDollars {
  if (!cost) return 0;
  const accrued = parseDollars(cost.accrued) ?? 0;
  const since = parseTime(cost.since);
  if (since === undefined) return accrued;
  return Math.min(MOST, accrued + costOver(parseDollars(cost.pricePerHour) ?? 0, billedMs(since, at)));
}

/** As many ended machines as a status remembers. */
export const HISTORY_LENGTH = 5;

/**
 * What the present machine has cost until `at`. Exact while all ended machines are remembered; afterwards an
 * earlier price of the same machine is not told apart.
 */
export function machineCost(status: GpuInstanceStatus | undefined, at: number): MicroDollars {
  const history = status?.history ?? [];
  if (history.length >= HISTORY_LENGTH) {
    const { rentedAt, cost } = status ?? {};
    const from = parseTime(rentedAt) ?? parseTime(cost?.since) ?? at;
    return Math.min(MOST, costOver(parseDollars(cost?.pricePerHour) ?? 0, billedMs(from, at)));
  }
  const ended = history.reduce((sum, machine) => sum + (parseDollars(machine.cost) ?? 0), 0);
  return Math.max(0, totalCost(status?.cost, at) - ended);
}

/**
 * What had accrued before the month of `at` began, for the cost that is written then: `accrued` and `since` alone tell
 * months apart only until `since` moves on. Nothing where nothing had accrued, or nobody knows until when.
 */
function beforeMonth(cost: Cost | undefined, at: number): Pick<Cost, 'accruedBeforeMonth'> {
  const since = parseTime(cost?.since);
  if (since === undefined || since >= monthStart(at))
    return omitUndefined({ accruedBeforeMonth: cost?.accruedBeforeMonth });
  const before = totalCost(cost, monthStart(at));
  return before === 0 ? {} : { accruedBeforeMonth: formatDollars(before) };
}

/** A machine begins to bill. */
export function beginCost(cost: Cost | undefined, at: number, price: MicroDollars | undefined): Cost {
  return {
    ...(price === undefined ? {} : { pricePerHour: formatDollars(price) }),
    accrued: cost?.accrued ?? '0.00',
    ...beforeMonth(cost, at),
    since: formatTime(at),
  };
}

/**
 * A machine whose price nobody tells counts as one at `price`, so that no limit takes it for free. Told prices stay. Nothing
 * changes where nothing says what it may cost.
 */
export function withAssumedPrice(cost: Cost, price: MicroDollars | undefined): Cost {
  if (cost.pricePerHour !== undefined || price === undefined) return cost;
  return { ...cost, pricePerHour: formatDollars(price), priceAssumed: true };
}

/**
 * The same machine costs something else from `at` on; an equal price changes nothing. A price that was assumed is
 * corrected from where it began to count.
 */
export function repriced(cost: Cost, at: number, price: MicroDollars): Cost {
  if (cost.priceAssumed) return { ...withoutAssumption(cost), pricePerHour: formatDollars(price) };
  if (parseDollars(cost.pricePerHour) === price) return cost;
  if (cost.pricePerHour === undefined) return { ...cost, pricePerHour: formatDollars(price) };
  return {
    ...cost,
    accrued: formatDollars(totalCost(cost, at)),
    ...beforeMonth(cost, at),
    pricePerHour: formatDollars(price),
    since: formatTime(at),
  };
}

/** The service says since when it bills, and at which price: what was assumed until now is corrected. */
export function corrected(cost: Cost, since: number, price: MicroDollars | undefined): Cost {
  return {
    ...(price === undefined ? cost : withoutAssumption(cost)),
    ...beforeMonth(cost, since),
    ...(price === undefined ? {} : { pricePerHour: formatDollars(price) }),
    since: formatTime(since),
  };
}

function withoutAssumption({ priceAssumed: _assumed, ...cost }: Cost): Cost {
  return cost;
}

/** Billing ended at `at`: without a price nothing is added any more, and `since` tells until when all of it accrued. */
export function endCost(cost: Cost | undefined, at: number): Cost | undefined {
  if (!cost) return undefined;
  const until = Math.max(at, parseTime(cost.since) ?? at);
  return {
    accrued: formatDollars(totalCost(cost, at)),
    ...beforeMonth(cost, until),
    since: formatTime(until),
  };
}

/**
 * What the object cost in the UTC month of `now` (epoch milliseconds), never less. `until`: when its machine stopped
 * billing, where it did.
 */
export function spentThisMonth(instance: GpuInstance, now: number, until = now): MicroDollars {
  const { status = {} } = instance;
  const start = monthStart(now);
  const since = accruedUntil(status, start) ?? until;
  const running = costOver(hourlyPrice(instance), billedMs(Math.max(since, start), until));
  return since < start ? running : accruedSince(start, status) + running;
}

/** Until when `accrued` counts. A time that cannot be read must not make the sum one that no limit compares with. */
function accruedUntil({ cost, history }: GpuInstanceStatus, unreadable: number): number | undefined {
  const time = cost?.since ?? history?.at(-1)?.endedAt;
  return time === undefined ? undefined : (parseTime(time) ?? unreadable);
}

/**
 * What of `accrued` is not proven to be from before `start`. A status of an earlier version of this operator does not
 * say what had accrued when the month began: of such a one all counts but what its remembered machines prove.
 */
function accruedSince(start: number, { cost, history = [], instanceId }: GpuInstanceStatus): MicroDollars {
  const accrued = dollarsOf(cost?.accrued);
  const before = parseDollars(cost?.accruedBeforeMonth);
  if (before !== undefined) return Math.max(0, accrued - before);
  const earlier = history.filter(({ endedAt }) => Date.parse(endedAt) < start);
  // Who is forgotten ended before those that are remembered.
  const isComplete = earlier.length > 0 && instanceId === undefined;
  const later = history.filter((machine) => !earlier.includes(machine));
  return isComplete ? Math.min(accrued, costOf(later)) : Math.max(0, accrued - costOf(earlier));
}

function costOf(machines: NonNullable<GpuInstanceStatus['history']>): MicroDollars {
  return machines.reduce((sum, machine) => sum + dollarsOf(machine.cost), 0);
}

/** The price on record. Right after a rental that of the offer is all there is. */
export function recordedPrice({ cost, offerPricePerHour }: GpuInstanceStatus): MicroDollars | undefined {
  return parseDollars(cost?.pricePerHour) ?? parseDollars(offerPricePerHour);
}

/** The price of an hour. What nobody has told of a machine counts as the most that the spec allows, never as nothing. */
export function hourlyPrice(instance: GpuInstance): MicroDollars {
  const { status = {} } = instance;
  const hasMachine = status.instanceId !== undefined;
  return recordedPrice(status) ?? (hasMachine ? maxPrice(instance) : undefined) ?? 0;
}

/** What the most expensive alternative of the spec may cost in an hour; undefined if one has no limit of its own. */
export function maxPrice({ spec }: GpuInstance): MicroDollars | undefined {
  return highestCap((spec.offers ?? []).map(({ maxPricePerHour }) => maxPricePerHour));
}

function dollarsOf(text: string | undefined): MicroDollars {
  return parseDollars(text) ?? 0;
}
