import type { GpuInstance } from '../api/v1alpha1/gpu-instance.ts';
import { annotations } from '../api/v1alpha1/names.ts';
import { facetsOf } from '../api/v1alpha1/reasons.ts';
import { type MicroDollars, parseDollars } from '../lib/money.ts';
import { parseTime } from '../lib/time.ts';
import type { KeyRing } from '../ownership/key-ring.ts';
import type { RecordedClaim } from '../ownership/ownership.ts';
import {
  hourlyPrice,
  isPriceOfDisk,
  maxPrice,
  provisionalThisMonth,
  recordedPrice,
  spentThisMonth,
  unconfirmedPerHour,
} from './cost.ts';
import { idleEnd } from './idle.ts';
import { objectIntent } from './object-intent.ts';
import { rentalTimes } from './rentals.ts';

/**
 * Summary of a GpuInstance for readers other than its controller: accounts with their limits and breaker, the sweep,
 * and the command line. A caller that needs less accepts a `Pick` of it.
 */
export interface InstanceSummary {
  readonly uid: string;
  /** namespace/name. */
  readonly key: string;
  readonly deleting: boolean;
  /** Machine in the status, if a claim is recorded with it. */
  readonly instanceId: string | undefined;
  /** Recorded claim on its machine; ownership verifies it. */
  readonly claim: RecordedClaim | undefined;
  /** True if the operator is destroying the machine, so its end is expected. */
  readonly leaving: boolean;
  /** True if the record shows that a list contained the machine. */
  readonly wasListed: boolean;
  /** True if a lost machine would be replaced: it should run, and neither a pause, a hold nor a policy prevents it. */
  readonly isReplaceable: boolean;
  /**
   * Epoch milliseconds at which the object's previous machine ended, or a vanished one was proven gone. Undefined if
   * there was none.
   */
  readonly lastEndedAt: number | undefined;
  /**
   * Policy by which it adopted an existing machine. With `Observe` the machine neither counts as unhealthy nor costs
   * anything here.
   */
  readonly adopted: 'Manage' | 'Observe' | undefined;
  /** True if a recorded intent may still create a machine that is not recorded. */
  readonly hasOpenIntent: boolean;
  /** True if the intent, open or closed, is proven: this object rented a machine, or was about to. */
  readonly hasProvenIntent: boolean;
  /** True if the intent is unreadable: a person must check its outcome. */
  readonly hasDoubtfulIntent: boolean;
  /** True if a start of its machine is recorded, and the recorded price is still that of the disk. */
  readonly hasOpenStart: boolean;
  /** Price of the offer of its machine, disk included; undefined if the marketplace named none. */
  readonly offerPrice: MicroDollars | undefined;
  /** Price of its machine, or of the offer until that is known; 0 without a machine. */
  readonly pricePerHour: MicroDollars;
  /** Amount by which lists show a higher, unconfirmed hourly price. It counts for admission only. */
  readonly unconfirmedPerHour: MicroDollars;
  /** Amount that the unconfirmed price would add in the UTC month of `now`. */
  readonly unconfirmedThisMonth: MicroDollars;
  /**
   * True if no reply named a price for its machine: then `pricePerHour` is the maximum that its spec allows, 0 without
   * a limit.
   */
  readonly hasUnknownPrice: boolean;
  /** Maximum hourly price over all alternatives of its spec; undefined if one has no limit of its own. */
  readonly maxPrice: MicroDollars | undefined;
  /** Epoch milliseconds of the recorded rentals. */
  readonly rentals: readonly number[];
  /** In the UTC month of `now`. */
  readonly spentThisMonth: MicroDollars;
  /**
   * Epoch milliseconds, by the service's clock, of the newest rental it has a record of: its own intent, or the start of
   * its machine.
   */
  readonly newestRentalAt: number | undefined;
}

/**
 * Summarizes a GpuInstance at `now` (epoch milliseconds). `keys`: keys that sign intents; undefined while no identity
 * is known.
 */
export function summarize(instance: GpuInstance, now: number, keys: KeyRing | undefined): InstanceSummary {
  const { metadata, spec, status } = instance;
  const last = status?.history?.at(-1);
  return {
    uid: metadata.uid ?? '',
    key: `${metadata.namespace ?? ''}/${metadata.name}`,
    deleting: metadata.deletionTimestamp !== undefined,
    instanceId: status?.instanceId,
    claim: recordedClaim(instance),
    leaving: status?.conditions?.some(({ reason }) => facetsOf(reason).endsMachine) === true,
    wasListed: status?.actualStatus !== undefined,
    isReplaceable: isReplaceable(instance),
    lastEndedAt: parseTime(last?.provenGoneAt ?? last?.endedAt),
    adopted: spec.adopt?.policy,
    pricePerHour: status?.instanceId === undefined ? 0 : hourlyPrice(instance),
    unconfirmedPerHour: unconfirmedPerHour(status),
    unconfirmedThisMonth: Math.max(0, provisionalThisMonth(instance, now)),
    hasUnknownPrice: status?.instanceId !== undefined && recordedPrice(status) === undefined,
    hasOpenStart: hasOpenStart(instance),
    offerPrice: parseDollars(status?.offerPricePerHour),
    maxPrice: maxPrice(instance),
    spentThisMonth: spentThisMonth(instance, now),
    ...rentalsOf(instance, now, keys),
  };
}

/** Returns true if the intent of an object closes by its age alone, so that its summary depends on the time. */
export function hasAgingIntent(instance: GpuInstance, keys: KeyRing | undefined): boolean {
  if (instance.status?.claim === undefined) return false;
  return objectIntent(instance, Number.NEGATIVE_INFINITY, keys).hasOpenIntent;
}

/** The time, and the inputs of a summary that change with it. */
export interface Aging {
  readonly now: number;
  readonly keys: KeyRing | undefined;
  /** Result of {@link hasAgingIntent}. */
  readonly hasAgingIntent: boolean;
}

/**
 * Returns the summary of the same version of an object at another time. Only the amounts of the month and the age of
 * an intent depend on the time. Returns the same summary if they are equal.
 */
export function summaryAt(summary: InstanceSummary, instance: GpuInstance, aging: Aging): InstanceSummary {
  const { now, keys } = aging;
  const unconfirmedThisMonth = Math.max(0, provisionalThisMonth(instance, now));
  const spent = spentThisMonth(instance, now);
  const hasOpenIntent = aging.hasAgingIntent
    ? objectIntent(instance, now, keys).hasOpenIntent
    : summary.hasOpenIntent;
  const isSame =
    summary.spentThisMonth === spent &&
    summary.unconfirmedThisMonth === unconfirmedThisMonth &&
    summary.hasOpenIntent === hasOpenIntent;
  return isSame ? summary : { ...summary, spentThisMonth: spent, unconfirmedThisMonth, hasOpenIntent };
}

function hasOpenStart({ status }: GpuInstance): boolean {
  const isRequested = status?.instanceId !== undefined && status.startRequestedAt !== undefined;
  return isRequested && isPriceOfDisk(status.cost);
}

function isReplaceable(instance: GpuInstance): boolean {
  const { metadata, spec } = instance;
  const isPinned = metadata.annotations?.[annotations.hold] !== undefined;
  const isShown = spec.adopt?.policy === 'Observe';
  const mayBe = spec.powerState === 'Running' && spec.replacement.policy === 'Always';
  return mayBe && !spec.paused && !isPinned && !isShown && idleEnd(instance) === undefined;
}

function rentalsOf(
  instance: GpuInstance,
  now: number,
  keys: KeyRing | undefined,
): Pick<
  InstanceSummary,
  'hasOpenIntent' | 'hasProvenIntent' | 'hasDoubtfulIntent' | 'rentals' | 'newestRentalAt'
> {
  const { issuedAt, ...intent } = objectIntent(instance, now, keys);
  // The operator's clock dates rentals, and may be ahead.
  const newest = Math.max(issuedAt ?? 0, parseTime(instance.status?.rentedAt) ?? 0);
  return {
    ...intent,
    hasProvenIntent: issuedAt !== undefined,
    rentals: rentalTimes(instance.status),
    newestRentalAt: newest > 0 ? newest : undefined,
  };
}

/** Returns the recorded claim of an object on its machine; undefined without a machine or a claim. */
export function recordedClaim({ metadata, status }: GpuInstance): RecordedClaim | undefined {
  const { instanceId, claim, attempt } = status ?? {};
  if (metadata.uid === undefined || instanceId === undefined || claim === undefined) return undefined;
  return { uid: metadata.uid, attempt: attempt ?? 0, instanceId, claim };
}
