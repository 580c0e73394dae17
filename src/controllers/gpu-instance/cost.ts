import { monthStart } from '../../accounts/account-object.ts';
import type { GpuInstanceStatus } from '../../api/v1alpha1/gpu-instance.ts';
import { costOver, formatDollars, type MicroDollars, parseDollars } from '../../lib/money.ts';
import { formatTime, parseTime } from '../../lib/rfc3339.ts';
import { known } from './known-fields.ts';

export type Cost = NonNullable<GpuInstanceStatus['cost']>;

/** Services bill whole seconds. */
function billedMs(from: number, to: number): number {
  return Math.max(0, Math.floor(to / 1000) - Math.floor(from / 1000)) * 1000;
}

/** The most that an amount of a status can say, in micro-dollars. */
const MOST = 999_999_999_999_999;

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
  if (history.length >= HISTORY_LENGTH) return costSinceRented(status, at);
  const ended = history.reduce((sum, machine) => sum + (parseDollars(machine.cost) ?? 0), 0);
  return Math.max(0, totalCost(status?.cost, at) - ended);
}

function costSinceRented(status: GpuInstanceStatus | undefined, at: number): MicroDollars {
  const { rentedAt, cost } = status ?? {};
  const from = parseTime(rentedAt) ?? parseTime(cost?.since) ?? at;
  return Math.min(MOST, costOver(parseDollars(cost?.pricePerHour) ?? 0, billedMs(from, at)));
}

/**
 * What had accrued before the month of `at` began, for the cost that is written then: `accrued` and `since` alone tell
 * months apart only until `since` moves on. Nothing where nothing had accrued, or nobody knows until when.
 */
function beforeMonth(cost: Cost | undefined, at: number): Pick<Cost, 'accruedBeforeMonth'> {
  const since = parseTime(cost?.since);
  if (since === undefined || since >= monthStart(at))
    return known({ accruedBeforeMonth: cost?.accruedBeforeMonth });
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
  if (cost.priceAssumed) return { ...toldPrice(cost), pricePerHour: formatDollars(price) };
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
    ...(price === undefined ? cost : toldPrice(cost)),
    ...beforeMonth(cost, since),
    ...(price === undefined ? {} : { pricePerHour: formatDollars(price) }),
    since: formatTime(since),
  };
}

function toldPrice({ priceAssumed: _assumed, ...cost }: Cost): Cost {
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
