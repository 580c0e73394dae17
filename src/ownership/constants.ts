import { formatDuration, parseDuration } from '../lib/time.ts';

/**
 * Times on which the safety of a purchase depends, in milliseconds. Each is an operator flag. The defaults suit the
 * public service; tests and the demo shorten them to the limits of their simulated faults.
 */
export interface PurchaseConstants {
  /** Maximum delay after the deadline of a rent call with which the service may still carry it out. */
  readonly lateCallMs: number;
  /** Maximum time for which a complete list may lack a new machine. */
  readonly listLagMs: number;
  /** Minimum interval between the two lists that prove a destroyed machine gone. */
  readonly goneSpacingMs: number;
  /** Age, by its own start date, before a machine without an object counts as an orphan. */
  readonly orphanAgeMs: number;
  /** The same age for a machine that began after the window of its label. */
  readonly lateOrphanAgeMs: number;
  /** Maximum time by which a start date may precede the issue of its label: clocks differ. */
  readonly clockSkewMs: number;
  /** Maximum duration of one rent call. */
  readonly rentCallMs: number;
  /** Minimum remainder of the lease at the end of a rent call. */
  readonly leaseMarginMs: number;
}

/** The defaults of the operator's flags. */
export const defaultConstants: PurchaseConstants = Object.freeze({
  lateCallMs: 120_000,
  listLagMs: 60_000,
  goneSpacingMs: 10_000,
  orphanAgeMs: 60_000,
  lateOrphanAgeMs: 3_600_000,
  clockSkewMs: 60_000,
  rentCallMs: 30_000,
  leaseMarginMs: 3_000,
});

/** Minimum duration of a rent call: a shorter one would time out before most services answer. */
export const SHORTEST_RENT_CALL_MS = 1_000;

/** The constants that are operator flags, by the name of the flag; the operator publishes them under the same names. */
const FLAGS = {
  'late-call': 'lateCallMs',
  'list-lag': 'listLagMs',
  'gone-spacing': 'goneSpacingMs',
  'orphan-age': 'orphanAgeMs',
  'late-orphan-age': 'lateOrphanAgeMs',
} as const satisfies Readonly<Record<string, keyof PurchaseConstants>>;

/** Returns the constants of a running operator as it publishes them: durations by the name of their flag. */
export function constantsToData(constants: PurchaseConstants): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(FLAGS).map(([flag, name]) => [flag, exactDuration(constants[name])]),
  );
}

/** Constants that {@link constantsToData} wrote; undefined unless every time is present and readable. */
export function constantsFromData(data: Readonly<Record<string, string>>): PurchaseConstants | undefined {
  const times = Object.entries(FLAGS).map(([flag, name]) => [name, parseDuration(data[flag])] as const);
  if (times.some(([, time]) => time === undefined)) return undefined;
  return { ...defaultConstants, ...Object.fromEntries(times) };
}

function exactDuration(milliseconds: number): string {
  return milliseconds % 1000 === 0 ? formatDuration(milliseconds) : `${milliseconds}ms`;
}
