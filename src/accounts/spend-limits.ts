import type { MarketplaceAccount } from '../api/v1alpha1/marketplace-account.ts';
import { countsFor, recentRentals, rentalTimes } from '../instance/rentals.ts';
import type { InstanceSummary } from '../instance/summary.ts';
import { formatDollars, type MicroDollars, parseDollars } from '../lib/money.ts';
import { counted } from '../lib/plural.ts';
import { formatTime } from '../lib/time.ts';
import type { ObjectSums } from './account-objects.ts';

/**
 * Total limits of an account. They stop new rentals and starts, never a running machine. An absent one does not
 * limit.
 */
export interface AccountLimits {
  readonly maxInstances?: number;
  /** Limit of one machine, and the default of a GpuInstance that sets none. */
  readonly maxPricePerHour?: MicroDollars;
  /** True if an offer without a price may be rented although `maxPricePerHour` is set. */
  readonly allowUnknownPrice?: boolean;
  /** Sum of the hourly prices of all machines of the account. */
  readonly maxSpendPerHour?: MicroDollars;
  /** Spent in the running UTC month. */
  readonly maxSpendPerMonth?: MicroDollars;
  /** Credit below which nothing new is rented. */
  readonly minCredit?: MicroDollars;
}

/** Returns the limits that an account's spec sets. */
export function limitsOf(account: MarketplaceAccount): AccountLimits {
  const { maxInstances, allowUnknownPrice, ...amounts } = account.spec.limits;
  const entries = Object.entries(amounts).flatMap(([name, text]) => {
    const amount = parseDollars(text);
    return amount === undefined ? [] : [[name, amount] as const];
  });
  return {
    ...(maxInstances === undefined ? {} : { maxInstances }),
    ...(allowUnknownPrice === true ? { allowUnknownPrice } : {}),
    ...Object.fromEntries(entries),
  };
}

/** Returns true if the account refuses offers without a price: they may be above its `maxPricePerHour`. */
export function refusesUnknownPrice({ maxPricePerHour, allowUnknownPrice }: AccountLimits): boolean {
  return maxPricePerHour !== undefined && allowUnknownPrice !== true;
}

/**
 * Returns the maximum hourly price of a rental with an unknown price: the lower of `maxPrice`, the limit of its object,
 * and the account's limit for one machine. Without either it is the account's total limit.
 */
export function maxRentalPrice(
  maxPrice: MicroDollars | undefined,
  limits: AccountLimits,
  ceiling: MicroDollars,
): MicroDollars {
  const caps = [maxPrice, limits.maxPricePerHour].filter((cap) => cap !== undefined);
  return Math.min(ceiling, ...(caps.length > 0 ? caps : [limits.maxSpendPerHour ?? ceiling]));
}

/**
 * The operator's own limits for each account: they stop loops whose rentals succeed, as well as loops whose rentals
 * fail.
 */
export interface BrakeSettings {
  readonly maxRentalsPerHour: number;
  readonly maxLiveMachines: number;
  readonly maxDollarsPerHour: MicroDollars;
}

/** Machines and spending of an account: the sums over its objects and over deleted ones. */
export interface AccountSums {
  /** Rentals within the last hour, both successful and in progress. */
  readonly rentalsLastHour: number;
  /** Number of rentals in progress: allowed, or open in a record. They may still fail. */
  readonly rentalsUnderWay: number;
  /** Epoch milliseconds of the oldest of the others; undefined if there is none. */
  readonly oldestRentalAt: number | undefined;
  readonly liveMachines: number;
  readonly dollarsPerHour: MicroDollars;
  /** Orphans of the login: they bill, so they count for each of its accounts. */
  readonly orphanMachines: number;
  readonly orphanDollarsPerHour: MicroDollars;
  readonly spentThisMonth: MicroDollars;
  /** Unconfirmed amount by which listed hourly prices exceed the recorded ones: only admission counts it. */
  readonly unconfirmedPerHour: MicroDollars;
  readonly unconfirmedThisMonth: MicroDollars;
  /** Undefined if the key may not read it. */
  readonly credit: MicroDollars | undefined;
}

/** A rental or a start under way that its object's record does not show in full yet. */
export interface PendingRental {
  readonly at: number;
  /** Namespace of the object. */
  readonly namespace: string;
  /** Amount that the record lacks: the price of the offer, until the object's own price is known. */
  readonly pricePerHour: MicroDollars;
  /** True if the object's record shows at least the intent, so that only the price is missing there. */
  readonly recorded: boolean;
}

/** Knowledge of this process that the records of objects do not show. */
export interface BesideRecords {
  /** Objects that replace the recorded ones in the sums. */
  readonly instead: readonly InstanceSummary[];
  readonly pending: readonly PendingRental[];
}

/** Spending of deleted objects, as in the status of the account. */
export interface DeletedSums {
  /** Month such as `2026-11`; the spending of another month than the present one does not count. */
  readonly month: string;
  readonly spent: MicroDollars;
  readonly rentals: readonly number[];
}

/** A machine that bills and that no object claims. */
export interface OrphanBill {
  readonly pricePerHour: MicroDollars;
  /** Epoch milliseconds, if its rental was carried out late: no record shows this rental. */
  readonly rentedLateAt?: number | undefined;
}

export interface SumInput {
  readonly objects: ObjectSums;
  readonly pending: readonly PendingRental[];
  readonly orphans?: readonly OrphanBill[];
  readonly deleted: DeletedSums | undefined;
  readonly credit: MicroDollars | undefined;
  readonly now: number;
  /** `2026-11` of `now`. */
  readonly month: string;
}

/** Soon enough for a person who has just raised a limit, and no hot loop. */
const ASK_AGAIN_MS = 10_000;

/** Adds an account up. */
export function sumAccount(input: SumInput): AccountSums {
  const { objects, pending, orphans = [], deleted, now } = input;
  const unrecorded = pending.filter((rental) => !rental.recorded);
  const late = orphans.flatMap(({ rentedLateAt }) => rentedLateAt ?? []);
  const others = recentRentals([...(deleted?.rentals ?? []), ...late], now);
  const oldest = [objects.oldestRentalAt, ...others].filter((at) => at !== undefined);
  const underWay = unrecorded.length + objects.openIntents;
  const left = deleted?.month === input.month ? deleted.spent : 0;
  return {
    rentalsLastHour: objects.rentalsLastHour + others.length + underWay,
    rentalsUnderWay: underWay,
    oldestRentalAt: oldest.length === 0 ? undefined : oldest.reduce((a, b) => Math.min(a, b)),
    liveMachines: objects.liveMachines + unrecorded.length,
    dollarsPerHour: objects.dollarsPerHour + total(pending.map(({ pricePerHour }) => pricePerHour)),
    orphanMachines: orphans.length,
    orphanDollarsPerHour: total(orphans.map(({ pricePerHour }) => pricePerHour)),
    spentThisMonth: left + objects.spentThisMonth,
    unconfirmedPerHour: objects.unconfirmedPerHour,
    unconfirmedThisMonth: objects.unconfirmedThisMonth,
    credit: input.credit,
  };
}

export interface BrakeInput {
  readonly sums: AccountSums;
  readonly limits: AccountLimits;
  readonly settings: BrakeSettings;
  /** Price of the requested machine, or its maximum price if the price is unknown. */
  readonly pricePerHour: MicroDollars;
  readonly now: number;
}

/** Reasons of the catalogue by which a limit refuses a rental or a start. */
export type LimitRefusal = 'InsufficientCredit' | 'AtLimit';

/** `fits`, or the first rule that refuses another machine at that price. */
export type BrakeDecision =
  | { readonly type: 'fits' }
  | {
      readonly type: 'stopped';
      readonly reason: LimitRefusal;
      readonly message: string;
      readonly retryAfterMs: number;
    };

interface BrakeRule {
  readonly reason: LimitRefusal;
  /** True if it also stops the start of a machine that is already rented. */
  readonly stopsStarts: boolean;
  readonly stops: (input: BrakeInput) => boolean;
  readonly message: (input: BrakeInput) => string;
  readonly retryAfterMs?: (input: BrakeInput) => number;
}

const hourlyAfter = ({ sums, pricePerHour }: BrakeInput) =>
  sums.dollarsPerHour + sums.unconfirmedPerHour + sums.orphanDollarsPerHour + pricePerHour;
const billing = ({ liveMachines, orphanMachines }: AccountSums) => liveMachines + orphanMachines;
const machines = (sums: AccountSums) =>
  sums.orphanMachines === 0
    ? counted(billing(sums), 'machine')
    : `${counted(billing(sums), 'machine')}, ${sums.orphanMachines} of them without a GpuInstance`;
const isOver = (amount: number, most: number | undefined) => most !== undefined && amount > most;

/** Returns the time of the next rental, which stays the same until then; undefined while rentals are in progress. */
function nextRental({ rentalsUnderWay, oldestRentalAt }: AccountSums, now: number): string {
  if (rentalsUnderWay > 0 || oldestRentalAt === undefined) return '';
  return ` The next is rented after ${formatTime(now + countsFor(oldestRentalAt, now))}.`;
}

/** In this order: a person's limits first, then the operator's own limits. */
const RULES: readonly BrakeRule[] = [
  {
    reason: 'InsufficientCredit',
    stopsStarts: true,
    stops: ({ sums, limits }) => sums.credit !== undefined && sums.credit <= (limits.minCredit ?? 0),
    // The text leaves out the credit: it changes every second, and each change would write every object.
    message: ({ limits }) => `More than $${formatDollars(limits.minCredit ?? 0)} of credit must remain.`,
  },
  {
    reason: 'AtLimit',
    stopsStarts: true,
    stops: (input) => isOver(input.pricePerHour, input.limits.maxPricePerHour),
    message: (input) =>
      `$${formatDollars(input.pricePerHour)}/h is above the account's limits.maxPricePerHour of $${formatDollars(input.limits.maxPricePerHour ?? 0)}.`,
  },
  {
    reason: 'AtLimit',
    stopsStarts: false,
    stops: ({ sums, limits }) => isOver(billing(sums) + 1, limits.maxInstances),
    message: ({ sums, limits }) =>
      `The account has ${machines(sums)}; limits.maxInstances is ${limits.maxInstances}.`,
  },
  {
    reason: 'AtLimit',
    stopsStarts: true,
    stops: (input) => isOver(hourlyAfter(input), input.limits.maxSpendPerHour),
    message: (input) =>
      `${reportedText(input.sums)}All machines would cost $${formatDollars(hourlyAfter(input))}/h; limits.maxSpendPerHour is $${formatDollars(input.limits.maxSpendPerHour ?? 0)}.`,
  },
  {
    reason: 'AtLimit',
    stopsStarts: true,
    stops: ({ sums, limits }) =>
      limits.maxSpendPerMonth !== undefined &&
      sums.spentThisMonth + sums.unconfirmedThisMonth >= limits.maxSpendPerMonth,
    message: ({ sums, limits }) =>
      `${reportedText(sums)}$${formatDollars(sums.spentThisMonth + sums.unconfirmedThisMonth)} is spent this month (UTC); limits.maxSpendPerMonth is $${formatDollars(limits.maxSpendPerMonth ?? 0)}.`,
  },
  {
    reason: 'AtLimit',
    stopsStarts: false,
    stops: ({ sums, settings }) => sums.rentalsLastHour >= settings.maxRentalsPerHour,
    message: ({ sums, settings, now }) =>
      `The account rented ${counted(sums.rentalsLastHour, 'machine')} within the hour; --max-rentals-per-hour is ${settings.maxRentalsPerHour}.${nextRental(sums, now)}`,
    retryAfterMs: ({ sums, now }) =>
      sums.rentalsUnderWay > 0 ? ASK_AGAIN_MS : countsFor(sums.oldestRentalAt ?? now, now),
  },
  {
    reason: 'AtLimit',
    stopsStarts: false,
    stops: ({ sums, settings }) => billing(sums) >= settings.maxLiveMachines,
    message: ({ sums, settings }) =>
      `The account has ${machines(sums)}; --max-live-machines is ${settings.maxLiveMachines}.`,
  },
  {
    reason: 'AtLimit',
    stopsStarts: true,
    stops: (input) => isOver(hourlyAfter(input), input.settings.maxDollarsPerHour),
    message: (input) =>
      `${reportedText(input.sums)}All machines would cost $${formatDollars(hourlyAfter(input))}/h; --max-dollars-per-hour is $${formatDollars(input.settings.maxDollarsPerHour)}.`,
  },
];

/**
 * Returns the text about listed prices above the recorded ones, which may be prices of offers; empty if there are
 * none.
 */
export function reportedText({ dollarsPerHour, unconfirmedPerHour }: AccountSums): string {
  if (unconfirmedPerHour === 0) return '';
  const reported = formatDollars(dollarsPerHour + unconfirmedPerHour);
  return `Machines report $${reported}/h, records and offers show $${formatDollars(dollarsPerHour)}/h. `;
}

/** Decides if the account may rent one more machine. */
export function mayRent(input: BrakeInput): BrakeDecision {
  return firstStop(RULES, input);
}

/** Decides if a stopped machine, which is already counted, may be started. */
export function mayStart(input: BrakeInput): BrakeDecision {
  return firstStop(
    RULES.filter((rule) => rule.stopsStarts),
    input,
  );
}

function firstStop(rules: readonly BrakeRule[], input: BrakeInput): BrakeDecision {
  const rule = rules.find((candidate) => candidate.stops(input));
  if (!rule) return { type: 'fits' };
  const retryAfterMs = Math.max(1000, rule.retryAfterMs?.(input) ?? ASK_AGAIN_MS);
  return { type: 'stopped', reason: rule.reason, message: rule.message(input), retryAfterMs };
}

function total(amounts: readonly MicroDollars[]): MicroDollars {
  return amounts.reduce((sum, amount) => sum + amount, 0);
}

/** Returns the spending of deleted objects. */
export function deletedSumsOf(account: MarketplaceAccount): DeletedSums | undefined {
  const deleted = account.status?.deletedObjects;
  if (!deleted) return undefined;
  return { month: deleted.month, spent: parseDollars(deleted.spent) ?? 0, rentals: rentalTimes(deleted) };
}
