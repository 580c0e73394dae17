import { type AvoidTarget, avoidSpanMs } from '../instance/avoidance.ts';
import type { Witness } from './blame.ts';

/** The ids to leave out at this moment, as plain data for a pure choice. */
export interface Avoided {
  readonly offers: ReadonlySet<number>;
  readonly machines: ReadonlySet<number>;
  readonly hosts: ReadonlySet<number>;
}

/** An account's memory of what failed. Times double on repetition and are capped. */
export interface AvoidList {
  /** What every object of the account keeps off, and what `owner` alone does: see {@link Witness.owner}. */
  current(owner?: string): Avoided;
  /**
   * Takes effect at once, for every object of the account or for that of the witness alone, as its word is worth; without
   * one it is a fact. The machine and host part of what counts for all is made durable soon after.
   */
  add(target: AvoidTarget, reason: string, witness?: Witness): void;
}

/** One thing that failed. Kept for as long again after `until`, so that a repetition doubles the time. */
export interface AvoidEntry {
  readonly target: AvoidTarget;
  /** Epoch milliseconds. */
  readonly until: number;
  readonly failures: number;
  readonly reason: string;
  /** The only namespace that says so; absent where several do, or a person did. */
  readonly namespace?: string | undefined;
}

/** The status of an account holds no more. */
const MOST_ENTRIES = 256;

/** The list after one more failure. Something that fails while it is avoided counts again. */
export function withFailure(
  entries: readonly AvoidEntry[],
  failure: {
    readonly target: AvoidTarget;
    readonly reason: string;
    readonly now: number;
    readonly namespace?: string | undefined;
  },
): readonly AvoidEntry[] {
  const { target, reason, now } = failure;
  const remembered = entries.filter((entry) => isRemembered(entry, now));
  const same = remembered.find((entry) => isSameTarget(entry.target, target));
  const failures = (same?.failures ?? 0) + 1;
  const until = now + avoidSpanMs(target.type, failures);
  const isSingle = failure.namespace !== undefined && (!same || same.namespace === failure.namespace);
  const by = isSingle && { namespace: failure.namespace };
  const entry: AvoidEntry = { target, failures, reason, until, ...by };
  const others = remembered.filter((other) => other !== same);
  return [...fairShare(others, MOST_ENTRIES - 1), entry];
}

/**
 * As many as a status takes, or as `max` says. The namespace that fills most of the list gives up its own first, those that
 * end first; what several namespaces or a person say goes only when nothing else is left.
 */
export function fairShare(entries: readonly AvoidEntry[], max: number = MOST_ENTRIES): readonly AvoidEntry[] {
  if (entries.length <= max) return entries;
  const byNamespace = Map.groupBy(
    entries.toSorted((a, b) => b.until - a.until),
    ({ namespace }) => namespace,
  );
  const agreed = byNamespace.get(undefined) ?? [];
  byNamespace.delete(undefined);
  const shares = [...byNamespace.values()];
  for (let surplus = entries.length - max; surplus > 0; surplus -= 1) (largest(shares) ?? agreed).pop();
  return [...agreed, ...shares.flat()];
}

/** Undefined where nothing is left. */
function largest(shares: readonly AvoidEntry[][]): AvoidEntry[] | undefined {
  const first = shares.toSorted((a, b) => b.length - a.length)[0];
  return first?.length ? first : undefined;
}

/** Entries that still matter: those in force, and those whose repetition would double. */
export function remembered(entries: readonly AvoidEntry[], now: number): readonly AvoidEntry[] {
  return entries.filter((entry) => isRemembered(entry, now));
}

/** What is in force at `now`. */
export function avoidedAt(entries: readonly AvoidEntry[], now: number): Avoided {
  const idsOf = (type: AvoidTarget['type']) =>
    new Set(
      entries
        .filter((entry) => entry.target.type === type && entry.until > now)
        .map(({ target }) => target.id),
    );
  return { offers: idsOf('offer'), machines: idsOf('machine'), hosts: idsOf('host') };
}

/** Both lists, the longer time of each target winning: what memory knows and what the status says. */
export function mergeAvoided(a: readonly AvoidEntry[], b: readonly AvoidEntry[]): readonly AvoidEntry[] {
  const byTarget = new Map<string, AvoidEntry>();
  for (const entry of [...a, ...b]) {
    const key = `${entry.target.type}/${entry.target.id}`;
    const known = byTarget.get(key);
    if (!known || entry.until > known.until) byTarget.set(key, entry);
  }
  return [...byTarget.values()];
}

/** Whether both are one thing. */
export function isSameTarget(a: AvoidTarget, b: AvoidTarget): boolean {
  return a.type === b.type && a.id === b.id;
}

function isRemembered(entry: AvoidEntry, now: number): boolean {
  return entry.until + avoidSpanMs(entry.target.type, entry.failures) > now;
}
