import type { GpuInstance, GpuInstanceStatus } from '../api/v1alpha1/gpu-instance.ts';
import { annotations } from '../api/v1alpha1/names.ts';
import type { Reason } from '../api/v1alpha1/reasons.ts';
import { costOver, highestCap, type MicroDollars, parseDollars } from '../lib/money.ts';
import { parseTime } from '../lib/rfc3339.ts';
import type { KeyRing } from '../ownership/key-ring.ts';
import type { RecordedClaim } from '../ownership/ours.ts';
import { objectIntent } from './object-intent.ts';

/** One object of an account, as far as limits, breaker and deletion are concerned. */
export interface AccountObject {
  readonly uid: string;
  /** namespace/name. */
  readonly key: string;
  readonly deleting: boolean;
  /** Recorded in status, with a claim beside it. */
  readonly instanceId: number | undefined;
  /** What it recorded about its machine; whether that verifies is for ownership to say. */
  readonly claim: RecordedClaim | undefined;
  /** Its machine is being destroyed by us, so that its end is no news. */
  readonly leaving: boolean;
  /** By its record a list has shown its machine. */
  readonly wasListed: boolean;
  /** Whether a machine that is lost would be replaced: it should run, and nobody holds it back. */
  readonly isReplaceable: boolean;
  /** Epoch milliseconds at which the machine before the present one ended; undefined if none did. */
  readonly lastEndedAt: number | undefined;
  /** How it took over a machine that was there before. `Observe`: never ours to count as unhealthy or to pay for. */
  readonly adopted: 'Manage' | 'Observe' | undefined;
  /** A rental was written down, and it may still come to a machine that is not recorded. */
  readonly hasOpenIntent: boolean;
  /** Its intent, open or closed, is proven to be its own: it rented, or was about to. */
  readonly hasProvenIntent: boolean;
  /** An intent that nobody can read stands there: what it comes to has to be looked at by a person. */
  readonly hasDoubtfulIntent: boolean;
  /** Of its machine now, or of the offer until that is known; 0 where none is rented. */
  readonly pricePerHour: MicroDollars;
  /** It has a machine whose price nobody has told: then `pricePerHour` is the most that its spec lets it cost, 0 where that sets no limit. */
  readonly hasUnknownPrice: boolean;
  /** What the dearest alternative of its spec may cost in an hour; undefined where one has no limit of its own. */
  readonly dearestPrice: MicroDollars | undefined;
  /** Epoch milliseconds of the rentals it remembers. */
  readonly rentals: readonly number[];
  /** In the UTC month of `now`. */
  readonly spentThisMonth: MicroDollars;
  /**
   * Epoch milliseconds, by the service's clock, of the newest rental it has a record of: its own intent, or the start of
   * its machine.
   */
  readonly newestRentalAt: number | undefined;
}

/** What an object says while it ends its machine, also where that stays for a while or cannot be destroyed. */
const LEAVING: ReadonlySet<string> = new Set<Reason>([
  'Replacing',
  'Destroying',
  'OldMachineNotGone',
  'DestroyFailing',
]);

/**
 * What an account needs to know of a GpuInstance at `now` (epoch milliseconds). `keys`: what intents are signed with;
 * undefined while no identity is known.
 */
export function accountObject(instance: GpuInstance, now: number, keys: KeyRing | undefined): AccountObject {
  const { metadata, spec, status } = instance;
  return {
    uid: metadata.uid ?? '',
    key: `${metadata.namespace ?? ''}/${metadata.name}`,
    deleting: metadata.deletionTimestamp !== undefined,
    instanceId: status?.instanceId,
    claim: recordedClaim(instance),
    leaving: status?.conditions?.some(({ reason }) => LEAVING.has(reason)) === true,
    wasListed: status?.actualStatus !== undefined,
    isReplaceable: isReplaceable(instance),
    lastEndedAt: parseTime(status?.history?.at(-1)?.endedAt),
    adopted: spec.adopt?.policy,
    pricePerHour: status?.instanceId === undefined ? 0 : priceOf(instance),
    hasUnknownPrice: status?.instanceId !== undefined && heldPrice(status) === undefined,
    dearestPrice: dearestPriceOf(instance),
    spentThisMonth: spentThisMonth(instance, now),
    ...rentalsOf(instance, now, keys),
  };
}

function isReplaceable({ metadata, spec }: GpuInstance): boolean {
  const isHeld = metadata.annotations?.[annotations.hold] !== undefined;
  const isShown = spec.adopt?.policy === 'Observe';
  const mayBe = spec.powerState === 'Running' && spec.replacement.policy === 'Always';
  return mayBe && !spec.paused && !isHeld && !isShown;
}

function rentalsOf(
  instance: GpuInstance,
  now: number,
  keys: KeyRing | undefined,
): Pick<
  AccountObject,
  'hasOpenIntent' | 'hasProvenIntent' | 'hasDoubtfulIntent' | 'rentals' | 'newestRentalAt'
> {
  const { issuedAt, ...intent } = objectIntent(instance, now, keys);
  const rentals = (instance.status?.rentals ?? []).map((text) => Date.parse(text)).filter(Number.isFinite);
  // Times of rentals are written by our own clock, which may be ahead.
  const newest = Math.max(issuedAt ?? 0, parseTime(instance.status?.rentedAt) ?? 0);
  return {
    ...intent,
    hasProvenIntent: issuedAt !== undefined,
    rentals,
    newestRentalAt: newest > 0 ? newest : undefined,
  };
}

function recordedClaim({ metadata, status }: GpuInstance): RecordedClaim | undefined {
  const { instanceId, claim, attempt } = status ?? {};
  if (metadata.uid === undefined || instanceId === undefined || claim === undefined) return undefined;
  return { uid: metadata.uid, attempt: attempt ?? 0, instanceId, claim };
}

/** Epoch milliseconds of the first moment of the UTC month that contains `now`. */
export function monthStart(now: number): number {
  const date = new Date(now);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), 1);
}

/** `2026-11` for the UTC month that contains `now`. */
export function monthName(now: number): string {
  return new Date(now).toISOString().slice(0, 7);
}

/**
 * What the object cost in the UTC month of `now` (epoch milliseconds), never less. `until`: when its machine stopped
 * billing, where it did.
 */
export function spentThisMonth(instance: GpuInstance, now: number, until = now): MicroDollars {
  const { status = {} } = instance;
  const start = monthStart(now);
  const since = accruedUntil(status, start) ?? until;
  const running = costOver(priceOf(instance), Math.max(0, until - Math.max(since, start)));
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

/** Right after a rental its record has the price of the offer alone. */
function heldPrice({ cost, offerPricePerHour }: GpuInstanceStatus): MicroDollars | undefined {
  return parseDollars(cost?.pricePerHour) ?? parseDollars(offerPricePerHour);
}

/** Of its machine: what nobody has told counts as the most that the spec allows, never as nothing. */
function priceOf(instance: GpuInstance): MicroDollars {
  const { status = {} } = instance;
  const isHeld = status.instanceId !== undefined;
  return heldPrice(status) ?? (isHeld ? dearestPriceOf(instance) : undefined) ?? 0;
}

function dearestPriceOf({ spec }: GpuInstance): MicroDollars | undefined {
  return highestCap((spec.offers ?? []).map(({ maxPricePerHour }) => maxPricePerHour));
}

function dollarsOf(text: string | undefined): MicroDollars {
  return parseDollars(text) ?? 0;
}
