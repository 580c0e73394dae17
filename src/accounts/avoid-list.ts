import type { MarketplaceAccount } from '../api/v1alpha1/marketplace-account.ts';
import { type AvoidTarget, avoidSpanMs } from '../instance/avoidance.ts';
import type { Clock } from '../lib/clock.ts';
import { countsForAll, type FailureReport, type FailureReporter } from './failure-reports.ts';

/** The ids to leave out at this moment, as plain data for a pure choice. */
export interface Avoided {
  readonly offers: ReadonlySet<number>;
  readonly machines: ReadonlySet<number>;
  readonly hosts: ReadonlySet<number>;
}

/** An account's memory of what failed. Times double on repetition and are capped. */
export interface AvoidList {
  /** What every object of the account keeps off, and what `owner` alone does: see {@link FailureReporter.owner}. */
  current(owner?: string): Avoided;
  /**
   * Takes effect at once, for every object of the account or for that of the witness alone, as its word is worth; without
   * one it is a fact. The machine and host part of what counts for all is made durable soon after.
   */
  add(target: AvoidTarget, reason: string, witness?: FailureReporter): void;
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
const MAX_ENTRIES = 256;

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
  return [...fairShare(others, MAX_ENTRIES - 1), entry];
}

/**
 * As many as a status takes, or as `max` says. The namespace that fills most of the list gives up its own first, those that
 * end first; what several namespaces or a person say goes only when nothing else is left.
 */
export function fairShare(entries: readonly AvoidEntry[], max: number = MAX_ENTRIES): readonly AvoidEntry[] {
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

/** The avoid list that a status remembers. */
export function avoidOf(account: MarketplaceAccount): readonly AvoidEntry[] {
  return (account.status?.avoid ?? []).map(({ kind, id, until, failures, reason, namespace }) => ({
    target: { type: kind === 'Host' ? 'host' : 'machine', id },
    until: Date.parse(until),
    failures,
    reason,
    ...(namespace !== undefined && { namespace }),
  }));
}

/** What was said of a target within this time is weighed together. */
const TESTIMONY_MS = 24 * 3_600_000;
/** So many things one namespace may speak of at a time; older words are forgotten. */
const MAX_TESTIMONIES_OF_NAMESPACE = 64;
const MAX_NAMESPACES = 256;

/**
 * So long the object itself keeps off what it told of; what lasts longer stands in its own status. After that nothing names
 * it here, and it may be gone.
 */
const OWN_MS = 5 * 60_000;

interface ReceivedReport extends FailureReport {
  readonly owner: string | undefined;
  readonly of: AvoidTarget;
  readonly at: number;
}

/** A status keeps whole seconds. */
const STATUS_PRECISION_MS = 1_000;

/**
 * The avoid list of one account, shared by its objects; the controller writes the durable part down. From then on
 * the status is what counts, so that people can add to it and take from it.
 */
export class AccountAvoidList implements AvoidList {
  readonly #clock: Clock;
  readonly #onChange: () => void;
  #entries: readonly AvoidEntry[];
  /** Failures that no status has shown yet. */
  #unwritten: readonly AvoidEntry[] = [];
  /** By namespace, the one that spoke last at the end. Losing it only makes the list slower to believe. */
  readonly #heard = new Map<string, readonly ReceivedReport[]>();

  constructor(clock: Clock, entries: readonly AvoidEntry[], onChange: () => void) {
    this.#clock = clock;
    this.#entries = entries;
    this.#onChange = onChange;
  }

  current(owner?: string): Avoided {
    const now = this.#clock.now();
    const own = owner === undefined ? [] : this.#testimonies().filter((heard) => heard.owner === owner);
    const suspected = own.map(({ of: target, at, reason }): AvoidEntry => {
      return { target, reason, failures: 1, until: at + OWN_MS };
    });
    return avoidedAt([...this.#entries, ...suspected], now);
  }

  add(target: AvoidTarget, reason: string, witness?: FailureReporter): void {
    if (witness && !this.#isBelieved(target, witness)) return;
    const { namespace } = witness ?? {};
    this.#entries = withFailure(this.#entries, { target, reason, now: this.#clock.now(), namespace });
    if (target.type === 'offer') return;
    const added = this.#entries.filter((entry) => isSameTarget(entry.target, target));
    this.#unwritten = [...this.#unwritten.filter((entry) => !isSameTarget(entry.target, target)), ...added];
    this.#onChange();
  }

  /** Hears a witness, and says whether its word counts for every object of the account. */
  #isBelieved(target: AvoidTarget, witness: FailureReporter): boolean {
    const before = this.#testimonies();
    const said = { ...witness, target: `${target.type}/${target.id}`, of: target, at: this.#clock.now() };
    const { namespace } = witness;
    const own = before.filter((each) => each.namespace === namespace && each.target !== said.target);
    this.#heard.delete(namespace);
    this.#heard.set(namespace, [...own, said].slice(-MAX_TESTIMONIES_OF_NAMESPACE));
    for (const oldest of this.#heard.keys()) {
      if (this.#heard.size <= MAX_NAMESPACES) break;
      this.#heard.delete(oldest);
    }
    return countsForAll(said, before);
  }

  #testimonies(): readonly ReceivedReport[] {
    const now = this.#clock.now();
    for (const [namespace, said] of this.#heard) {
      const fresh = said.filter(({ at }) => at > now - TESTIMONY_MS);
      const known = fresh.map((each) => (each.at > now - OWN_MS ? each : { ...each, owner: undefined }));
      if (known.length > 0) this.#heard.set(namespace, known);
      else this.#heard.delete(namespace);
    }
    return [...this.#heard.values()].flat();
  }

  /** Takes over what the status says; of its own memory only offers and what was not yet written stay. */
  follow(status: readonly AvoidEntry[]): void {
    this.#testimonies();
    const unwritten = remembered(this.#unwritten, this.#clock.now());
    this.#unwritten = unwritten.filter((entry) => !shows(status, entry));
    const offers = this.#entries.filter(({ target }) => target.type === 'offer');
    this.#entries = [...offers, ...mergeAvoided(status, this.#unwritten)];
  }

  /** The part that outlives the process, as far as a status takes it. */
  durable(): readonly AvoidEntry[] {
    const kept = remembered(this.#entries, this.#clock.now());
    return fairShare(kept.filter((entry) => entry.target.type !== 'offer'));
  }
}

function shows(status: readonly AvoidEntry[], { target, until }: AvoidEntry): boolean {
  return status.some(
    (entry) => isSameTarget(entry.target, target) && entry.until > until - STATUS_PRECISION_MS,
  );
}
