import type { GpuInstance, GpuInstanceStatus } from '../api/v1alpha1/gpu-instance.ts';
import { omitUndefined } from '../lib/json.ts';
import { costOver, formatDollars, highestCap, type MicroDollars, parseDollars } from '../lib/money.ts';
import { formatTime, parseTime } from '../lib/time.ts';
import { hidesPower, isStopped, recordedState } from './machine-state.ts';

export type Cost = NonNullable<GpuInstanceStatus['cost']>;

/** Services bill whole seconds. */
function billedMs(from: number, to: number): number {
  return Math.max(0, Math.floor(to / 1000) - Math.floor(from / 1000)) * 1000;
}

/** Maximum amount in a status, in micro-dollars. */
const MOST = 999_999_999_999_999;

/** Returns the epoch milliseconds of the first moment of the UTC month that contains `now`. */
export function monthStart(now: number): number {
  const date = new Date(now);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), 1);
}

/** Returns the epoch milliseconds of the first moment after the UTC month that contains `now`. */
export function monthEnd(now: number): number {
  const date = new Date(now);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1);
}

/** Returns the UTC month that contains `now`, such as `2026-11`. */
export function monthName(now: number): string {
  return new Date(now).toISOString().slice(0, 7);
}

/** Returns the cost of the object until `at`, all machines together. */
export function totalCost(cost: Cost | undefined, at: number): MicroDollars {
  if (!cost) return 0;
  const accrued = parseDollars(cost.accrued) ?? 0;
  const since = parseTime(cost.since);
  if (since === undefined) return accrued;
  return Math.min(MOST, accrued + costOver(parseDollars(cost.pricePerHour) ?? 0, billedMs(since, at)));
}

/**
 * Returns the cost that an unconfirmed reported price would add until `at`; negative if that price is lower. Only
 * admission counts it. It is charged once confirmed, and dropped once contradicted.
 */
export function provisionalCost(cost: Cost | undefined, at: number): MicroDollars {
  const since = parseTime(cost?.reported?.since);
  if (cost?.reported === undefined || since === undefined) return 0;
  const ms = billedMs(since, at);
  const added =
    costOver(dollarsOf(cost.reported.pricePerHour), ms) - costOver(dollarsOf(cost.pricePerHour), ms);
  return Math.max(-MOST, Math.min(MOST, added));
}

/** Returns the amount by which an unconfirmed reported price exceeds the recorded one; never below 0. */
export function unconfirmedPerHour(status: GpuInstanceStatus | undefined): MicroDollars {
  const reported = parseDollars(status?.cost?.reported?.pricePerHour);
  if (status?.instanceId === undefined || reported === undefined) return 0;
  return Math.max(0, reported - (recordedPrice(status) ?? 0));
}

/** Returns the part of {@link provisionalCost} that falls into the UTC month of `now`. */
export function provisionalThisMonth({ status }: GpuInstance, now: number): MicroDollars {
  const all = provisionalCost(status?.cost, now);
  return all - provisionalCost(status?.cost, monthStart(now));
}

/**
 * Returns the cost with the price that lists show, for as long as that is not confirmed. An equal report keeps its
 * date.
 */
export function withReport(cost: Cost, shown: MicroDollars | undefined, at: number | undefined): Cost {
  const { reported, ...rest } = cost;
  if (shown === undefined || parseDollars(cost.pricePerHour) === shown) return rest;
  const isSame = reported !== undefined && parseDollars(reported.pricePerHour) === shown;
  if (isSame) return { ...rest, reported };
  if (at === undefined) return rest;
  return { ...rest, reported: { pricePerHour: formatDollars(shown), since: formatTime(at) } };
}

/**
 * Returns the time from which a price counts: from its report if there is one, never from before the time that has
 * accrued.
 */
export function pricedSince(cost: Cost, price: MicroDollars, at: number | undefined): number | undefined {
  const isReported = cost.reported !== undefined && parseDollars(cost.reported.pricePerHour) === price;
  const from = isReported ? (parseTime(cost.reported?.since) ?? at) : at;
  return from === undefined ? undefined : Math.max(from, parseTime(cost.since) ?? from);
}

/** Number of ended machines that a status contains. */
export const HISTORY_LENGTH = 5;

/**
 * Returns the cost of the present machine until `at`. Exact if the last machine of `status.history` has the sum until
 * its end, or if the history has all ended machines; otherwise it includes the cost accrued at an earlier price of
 * the same machine.
 */
export function machineCost(status: GpuInstanceStatus | undefined, at: number): MicroDollars {
  const before = costOfEarlier(status);
  if (before === undefined) return costAtPresentPrice(status, at);
  return Math.max(0, totalCost(status?.cost, at) - before);
}

/**
 * Returns the cost of the present machine until `at`, which may be earlier than `cost.since`. Undefined if the status
 * does not separate that time: before `since` it separates only the start of `since`'s UTC month.
 */
export function machineCostUntil(status: GpuInstanceStatus, at: number): MicroDollars | undefined {
  const { cost } = status;
  const since = parseTime(cost?.since);
  if (since === undefined || at >= since) return machineCost(status, at);
  if (at !== monthStart(since)) return undefined;
  const before = costOfEarlier(status) ?? totalCost(cost, since) - costAtPresentPrice(status, since);
  return Math.max(0, dollarsOf(cost?.accruedBeforeMonth) - before);
}

/** Returns the cost of all machines before the present one; undefined if the history does not show it. */
function costOfEarlier(status: GpuInstanceStatus | undefined): MicroDollars | undefined {
  const { history = [] } = status ?? {};
  const accrued = parseDollars(history.at(-1)?.accrued);
  if (accrued !== undefined) return accrued;
  return history.length >= HISTORY_LENGTH ? undefined : costOf(history);
}

function costAtPresentPrice(status: GpuInstanceStatus | undefined, at: number): MicroDollars {
  const { rentedAt, cost } = status ?? {};
  const from = parseTime(rentedAt) ?? parseTime(cost?.since) ?? at;
  return Math.min(MOST, costOver(dollarsOf(cost?.pricePerHour), billedMs(from, at)));
}

/**
 * Returns the cost accrued before the month of `at`, for the cost that is written then: `accrued` and `since` separate
 * the months only until `since` moves on. Empty if nothing had accrued, or if `since` is unknown.
 */
function beforeMonth(cost: Cost | undefined, at: number): Pick<Cost, 'accruedBeforeMonth'> {
  const since = parseTime(cost?.since);
  if (since === undefined || since >= monthStart(at))
    return omitUndefined({ accruedBeforeMonth: cost?.accruedBeforeMonth });
  const before = totalCost(cost, monthStart(at));
  return before === 0 ? {} : { accruedBeforeMonth: formatDollars(before) };
}

/** Returns the cost after billing of a machine begins at `at`. */
export function beginCost(cost: Cost | undefined, at: number, price: MicroDollars | undefined): Cost {
  return {
    ...(price === undefined ? {} : { pricePerHour: formatDollars(price) }),
    accrued: cost?.accrued ?? '0.00',
    ...beforeMonth(cost, at),
    since: formatTime(at),
  };
}

/**
 * Returns the cost with an assumed `price` for a machine without a known one, so that no limit counts it as free. A
 * known price stays. Returns the cost unchanged if `price` is undefined.
 */
export function withAssumedPrice(cost: Cost, price: MicroDollars | undefined): Cost {
  if (cost.pricePerHour !== undefined || price === undefined) return cost;
  return { ...cost, pricePerHour: formatDollars(price), priceAssumed: true };
}

/**
 * Returns the cost with another price of the same machine from `at` on; an equal price changes nothing. An assumed
 * price is corrected from the time it began to count.
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

/**
 * Returns the cost with the billing start and price that the marketplace reports. They replace the values assumed so
 * far.
 */
export function corrected(cost: Cost, since: number, price: MicroDollars | undefined): Cost {
  return {
    ...(price === undefined ? cost : withoutAssumption(cost)),
    ...beforeMonth(cost, since),
    ...(price === undefined ? {} : { pricePerHour: formatDollars(price) }),
    since: formatTime(since),
  };
}

/**
 * Returns the cost after a stop: the recorded price, even an assumed one, until `at`, and the disk price from then on.
 */
export function costFromStop(cost: Cost, at: number, disk: MicroDollars | undefined): Cost {
  return disk === undefined ? cost : repriced(withoutAssumption(cost), at, disk);
}

/** Returns the cost with an unknown price from `at` on. */
export function unpriced(cost: Cost, at: number): Cost {
  const { pricePerHour: _before, ...rest } = cost;
  return {
    ...rest,
    accrued: formatDollars(totalCost(cost, at)),
    ...beforeMonth(cost, at),
    since: formatTime(at),
  };
}

function withoutAssumption({ priceAssumed: _assumed, ...cost }: Cost): Cost {
  return cost;
}

/**
 * Returns the cost after billing ended at `at`: it has no price, and `since` is the time until which all of it accrued.
 */
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
 * Returns the cost of the object in the UTC month of `now` (epoch milliseconds), or more if its status does not
 * separate the months. `until`: end of billing, if it ended.
 */
export function spentThisMonth(instance: GpuInstance, now: number, until = now): MicroDollars {
  const { status = {} } = instance;
  const start = monthStart(now);
  const since = accruedUntil(status, start) ?? until;
  const running = costOver(hourlyPrice(instance), billedMs(Math.max(since, start), until));
  return since < start ? running : accruedSince(start, status) + running;
}

/**
 * Returns the time until which `accrued` counts. An unreadable time must not make the sum NaN, since no limit would
 * refuse NaN.
 */
function accruedUntil({ cost, history }: GpuInstanceStatus, unreadable: number): number | undefined {
  const time = cost?.since ?? history?.at(-1)?.endedAt;
  return time === undefined ? undefined : (parseTime(time) ?? unreadable);
}

/**
 * Returns the part of `accrued` that is not proven to be older than `start`. A status of an earlier operator version
 * lacks the amount at the start of the month: then everything counts, except the part that the machines in the
 * history prove to be older.
 */
function accruedSince(start: number, { cost, history = [], instanceId }: GpuInstanceStatus): MicroDollars {
  const accrued = dollarsOf(cost?.accrued);
  const before = parseDollars(cost?.accruedBeforeMonth);
  if (before !== undefined) return Math.max(0, accrued - before);
  const earlier = history.filter(({ endedAt }) => Date.parse(endedAt) < start);
  // Dropped machines ended before the machines in the history.
  const isComplete = earlier.length > 0 && instanceId === undefined;
  const later = history.filter((machine) => !earlier.includes(machine));
  return isComplete ? Math.min(accrued, costOf(later)) : Math.max(0, accrued - costOf(earlier));
}

function costOf(machines: NonNullable<GpuInstanceStatus['history']>): MicroDollars {
  return machines.reduce((sum, machine) => sum + dollarsOf(machine.cost), 0);
}

/** Returns true if lists have shown the recorded price; a record of an older operator counts as confirmed. */
export function isPriceConfirmed(cost: Cost | undefined): boolean {
  return cost?.pricePerHour !== undefined && !cost.priceAssumed && !cost.priceOffered;
}

/** Returns true if a later confirmation of the price may still change what has accrued. */
export function isCostEstimated(cost: Cost | undefined): boolean {
  return cost?.priceAssumed === true || cost?.priceOffered === true || cost?.reported !== undefined;
}

/** Returns the price on record. Right after a rental it is the price of the offer. */
export function recordedPrice({ cost, offerPricePerHour }: GpuInstanceStatus): MicroDollars | undefined {
  return parseDollars(cost?.pricePerHour) ?? parseDollars(offerPricePerHour);
}

/**
 * Returns true if the recorded price is that of the disk: the machine was believed stopped, and no list since then
 * shows it running. A reported running price survives a restart of the operator.
 */
export function isChargedAsStopped(status: GpuInstanceStatus): boolean {
  const state = recordedState(status);
  const mayBeStopped = isStopped(state) || hidesPower(state, status.runningAt !== undefined);
  const isReportedRunning = !isStopped(state) && status.cost?.reported !== undefined;
  return mayBeStopped && isPriceOfDisk(status.cost) && !isReportedRunning;
}

/** Returns true if the price on record is that of the disk, whatever the machine was believed to do since. */
export function isPriceOfDisk(cost: Cost | undefined): boolean {
  const isSame = cost?.pricePerHour !== undefined && cost.pricePerHour === cost.storagePricePerHour;
  return isSame && !cost.priceAssumed;
}

/**
 * Returns the dollars that the machine of a status bills in an hour of its present state: the disk's price if it is
 * stopped. Undefined if the marketplace has not reported it; the recorded price may still be that of the previous
 * state.
 */
export function billedPerHour(status: GpuInstanceStatus): string | undefined {
  const { cost } = status;
  return isStopped(recordedState(status)) ? cost?.storagePricePerHour : cost?.pricePerHour;
}

/** Returns the hourly price of a kept machine: that of the disk with policy Stop, if it is known. */
export function keptPerHour(status: GpuInstanceStatus, policy: 'Stop' | 'Retain'): string | undefined {
  const disk = policy === 'Stop' ? status.cost?.storagePricePerHour : undefined;
  return disk ?? billedPerHour(status);
}

/**
 * Returns the price per hour. An unknown price counts as the maximum that the spec allows. Returns 0 without a
 * machine or without that maximum.
 */
export function hourlyPrice(instance: GpuInstance): MicroDollars {
  const { status = {} } = instance;
  const hasMachine = status.instanceId !== undefined;
  return recordedPrice(status) ?? (hasMachine ? maxPrice(instance) : undefined) ?? 0;
}

/** Returns the maximum hourly price over all alternatives of the spec; undefined if one has no limit of its own. */
export function maxPrice({ spec }: GpuInstance): MicroDollars | undefined {
  return highestCap((spec.offers ?? []).map(({ maxPricePerHour }) => maxPricePerHour));
}

function dollarsOf(text: string | undefined): MicroDollars {
  return parseDollars(text) ?? 0;
}
