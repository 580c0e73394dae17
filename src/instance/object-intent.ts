import type { GpuInstance } from '../api/v1alpha1/gpu-instance.ts';
import { annotations } from '../api/v1alpha1/names.ts';
import { readIntent } from '../ownership/intent.ts';
import type { KeyRing } from '../ownership/key-ring.ts';

/** Rental intent of an object, as far as its account needs it. */
export interface ObjectIntent {
  /** True if a recorded intent may still create a machine that is not recorded. */
  readonly hasOpenIntent: boolean;
  /** True if the intent is unreadable, so its outcome is unknown. */
  readonly hasDoubtfulIntent: boolean;
  /** Epoch milliseconds, only of an intent that is proven to be the object's own. */
  readonly issuedAt: number | undefined;
}

/** Relevant part of the annotation. Anyone who may edit an object can write one, and a backup restores an old one. */
type Reading =
  | { readonly type: 'none' | 'doubtful' }
  /** `proven`: signed by this installation for this very object. Without keys no signature can be verified. */
  | {
      readonly type: 'intent';
      readonly attempt: number;
      readonly issuedAt: number;
      readonly isProven: boolean;
    };

/** Returns the intent of an object at `now` (epoch milliseconds). `keys` is undefined while no identity is known. */
export function objectIntent(
  { metadata, status = {} }: GpuInstance,
  now: number,
  keys: KeyRing | undefined,
): ObjectIntent {
  const annotation = metadata.annotations?.[annotations.rentalIntent];
  // Parsed at each call: `readIntent` caches the texts whose signature it has checked.
  const reading = keys ? proven(annotation, metadata.uid, keys) : unproven(annotation);
  if (reading.type !== 'intent') {
    return { hasOpenIntent: false, hasDoubtfulIntent: reading.type === 'doubtful', issuedAt: undefined };
  }
  return {
    hasOpenIntent: isOpen(reading, status, now),
    hasDoubtfulIntent: false,
    issuedAt: reading.isProven ? reading.issuedAt : undefined,
  };
}

/** Time after which an intent is certainly settled, far longer than a rent call can take. */
const SETTLED_FOR_SURE_MS = 3_600_000;

/**
 * Returns true if the intent is open. A status restored from a backup may name a machine that was given up before the
 * intent was written: such a machine never closes the intent, so its age must.
 */
function isOpen(
  { attempt, issuedAt }: Extract<Reading, { type: 'intent' }>,
  status: NonNullable<GpuInstance['status']>,
  now: number,
): boolean {
  const isLeftOver = status.claim !== undefined && now - issuedAt > SETTLED_FOR_SURE_MS;
  return attempt > (status.attempt ?? 0) && !isLeftOver;
}

/**
 * Returns the reading of a signed intent. An intent of an earlier object of the same name counts as none: its purchase
 * belongs to that object.
 */
function proven(annotation: string | undefined, uid: string | undefined, keys: KeyRing): Reading {
  const read = readIntent(keys, annotation);
  if (read.type === 'none') return read;
  if (read.type !== 'intent') return { type: 'doubtful' };
  const { attempt, issuedAt } = read.intent;
  return read.intent.uid === uid ? { type: 'intent', attempt, issuedAt, isProven: true } : { type: 'none' };
}

/**
 * Returns the reading before an identity is known: any text that looks like an intent counts as one. Its date is not
 * trusted; it only closes an old intent.
 */
function unproven(annotation: string | undefined): Reading {
  if (annotation === undefined) return { type: 'none' };
  try {
    // A value that is not an object has neither field, and null throws.
    const { attempt, issuedAt } = JSON.parse(annotation) as Readonly<Record<string, unknown>>;
    if (isCount(attempt) && isCount(issuedAt)) return { type: 'intent', attempt, issuedAt, isProven: false };
    return { type: 'doubtful' };
  } catch {
    return { type: 'doubtful' };
  }
}

/** Returns true if the value is a finite count: JSON allows infinite numbers, such as 1e400. */
function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value);
}
