import type { GpuInstance, GpuInstanceStatus } from '../api/v1alpha1/gpu-instance.ts';
import { annotations } from '../api/v1alpha1/names.ts';
import { costOver, type MicroDollars, parseDollars } from '../lib/money.ts';
import { parseTime } from '../lib/rfc3339.ts';
import type { RecordedClaim } from '../ownership/ours.ts';

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
  /** How it took over a machine that was there before. `Observe`: never ours to count as unhealthy or to pay for. */
  readonly adopted: 'Manage' | 'Observe' | undefined;
  /** A rental was written down, and it may still come to a machine that is not recorded. */
  readonly hasOpenIntent: boolean;
  /** Of its machine now, or of the offer until that is known; 0 where none is rented. */
  readonly pricePerHour: MicroDollars;
  /** What the dearest alternative of its spec may cost in an hour; undefined where one has no limit of its own. */
  readonly dearestPrice: MicroDollars | undefined;
  /** Epoch milliseconds of the rentals it remembers. */
  readonly rentals: readonly number[];
  /** In the UTC month of `now`. */
  readonly spentThisMonth: MicroDollars;
  /** Epoch milliseconds of the newest rental it has a record of, intents included. */
  readonly newestRentalAt: number | undefined;
}

const LEAVING: ReadonlySet<string> = new Set(['Replacing', 'Destroying']);

/** What an account needs to know of a GpuInstance at `now` (epoch milliseconds). */
export function accountObject(instance: GpuInstance, now: number): AccountObject {
  const { metadata, spec, status } = instance;
  return {
    uid: metadata.uid ?? '',
    key: `${metadata.namespace ?? ''}/${metadata.name}`,
    deleting: metadata.deletionTimestamp !== undefined,
    instanceId: status?.instanceId,
    claim: recordedClaim(instance),
    leaving: status?.conditions?.some(({ reason }) => LEAVING.has(reason)) === true,
    adopted: spec.adopt?.policy,
    pricePerHour: status?.instanceId === undefined ? 0 : heldPrice(status),
    dearestPrice: dearestPrice(spec),
    spentThisMonth: spentThisMonth(instance, now),
    ...rentalsOf(instance, now),
  };
}

function rentalsOf(
  { metadata, status = {} }: GpuInstance,
  now: number,
): Pick<AccountObject, 'hasOpenIntent' | 'rentals' | 'newestRentalAt'> {
  const intent = intentOf(metadata);
  const rentals = (status.rentals ?? []).map((text) => Date.parse(text)).filter(Number.isFinite);
  const newest = Math.max(intent?.issuedAt ?? 0, ...rentals);
  return {
    hasOpenIntent: intent !== undefined && isOpen(intent, status, now),
    rentals,
    newestRentalAt: newest > 0 ? newest : undefined,
  };
}

/** Far beyond the time within which a rent call can still come to something. */
const SETTLED_FOR_SURE_MS = 3_600_000;

/**
 * A status that was restored from a backup may name a machine again that was given up before the intent was written:
 * nothing closes that intent as long as the machine stands, so that its age has to.
 */
function isOpen({ attempt, issuedAt }: IntentTimes, status: GpuInstanceStatus, now: number): boolean {
  const isLeftOver = status.claim !== undefined && now - issuedAt > SETTLED_FOR_SURE_MS;
  return attempt > (status.attempt ?? 0) && !isLeftOver;
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
function heldPrice({ cost, offerPricePerHour }: GpuInstanceStatus): MicroDollars {
  return parseDollars(cost?.pricePerHour) ?? dollarsOf(offerPricePerHour);
}

function dearestPrice({ offers = [] }: GpuInstance['spec']): MicroDollars | undefined {
  const limits = offers.map(({ maxPricePerHour }) => parseDollars(maxPricePerHour));
  const known = limits.filter((limit) => limit !== undefined);
  return known.length === 0 || known.length < limits.length ? undefined : Math.max(...known);
}

function priceOf({ status }: GpuInstance): MicroDollars {
  return dollarsOf(status?.cost?.pricePerHour);
}

function dollarsOf(text: string | undefined): MicroDollars {
  return parseDollars(text) ?? 0;
}

/** The two figures of an intent that sums need. Whether it is genuine is the purchase's question, not theirs. */
interface IntentTimes {
  readonly attempt: number;
  readonly issuedAt: number;
}

/** By the metadata it stands in: an object of the cache is never changed, and sums move on without it. */
const intents = new WeakMap<GpuInstance['metadata'], IntentTimes | 'none'>();

function intentOf(metadata: GpuInstance['metadata']): IntentTimes | undefined {
  const known = intents.get(metadata);
  const intent = known ?? intentTimes(metadata.annotations?.[annotations.rentalIntent]) ?? 'none';
  // Stryker disable next-line all: what is not remembered is read again, alike
  if (known === undefined) intents.set(metadata, intent);
  return intent === 'none' ? undefined : intent;
}

function intentTimes(annotation: string | undefined): IntentTimes | undefined {
  if (annotation === undefined) return undefined;
  try {
    // Whatever is no object has neither, and null ends in the catch.
    const { attempt, issuedAt } = JSON.parse(annotation) as Readonly<Record<string, unknown>>;
    return isCount(attempt) && isCount(issuedAt) ? { attempt, issuedAt } : undefined;
  } catch {
    return undefined;
  }
}

/** JSON has numbers without end, such as 1e400. */
function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value);
}
