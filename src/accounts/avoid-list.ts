import { type GpuInstance, gpuInstanceSpec } from '../api/v1alpha1/gpu-instance.ts';
import type { MarketplaceAccount } from '../api/v1alpha1/marketplace-account.ts';
import type { ReasonFacets } from '../api/v1alpha1/reason-entry.ts';
import { facetsOf } from '../api/v1alpha1/reasons.ts';
import { type AvoidTarget, avoidSpanMs } from '../instance/avoidance.ts';
import type { Clock } from '../lib/clock.ts';
import { isAtLeast } from '../lib/time.ts';

/** Ids that are avoided now. */
export interface Avoided {
  readonly offers: ReadonlySet<string>;
  readonly machines: ReadonlySet<string>;
  readonly hosts: ReadonlySet<string>;
}

/** A failed target. The entry is kept for as long again after `until`, so that a repetition doubles the time. */
export interface AvoidEntry {
  readonly target: AvoidTarget;
  /** Epoch milliseconds. */
  readonly until: number;
  readonly failures: number;
  readonly reason: string;
  /** The only namespace that reported it; absent if several did, or a person. */
  readonly namespace?: string | undefined;
}

/** The maximum of an account's status. */
const MAX_ENTRIES = 256;

/** Returns the list after one more failure. A failure of a target that is already avoided counts again. */
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
 * Returns at most `max` entries. The namespace with the most entries loses its own first, in the order in which they
 * end. Entries of several namespaces or of a person are dropped last.
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

/** Returns the largest share; undefined if all are empty. */
function largest(shares: readonly AvoidEntry[][]): AvoidEntry[] | undefined {
  const first = shares.toSorted((a, b) => b.length - a.length)[0];
  return first?.length ? first : undefined;
}

/**
 * Returns the entries that still matter: entries in force, and entries whose repetition would double the period.
 */
export function remembered(entries: readonly AvoidEntry[], now: number): readonly AvoidEntry[] {
  return entries.filter((entry) => isRemembered(entry, now));
}

/** Returns the targets of the entries in force at `now`. */
export function avoidedAt(entries: readonly AvoidEntry[], now: number): Avoided {
  const idsOf = (type: AvoidTarget['type']) =>
    new Set(
      entries
        .filter((entry) => entry.target.type === type && entry.until > now)
        .map(({ target }) => target.id),
    );
  return { offers: idsOf('offer'), machines: idsOf('machine'), hosts: idsOf('host') };
}

/** Returns both lists merged, with the longer time of each target. */
export function mergeAvoided(a: readonly AvoidEntry[], b: readonly AvoidEntry[]): readonly AvoidEntry[] {
  const byTarget = new Map<string, AvoidEntry>();
  for (const entry of [...a, ...b]) {
    const key = `${entry.target.type}/${entry.target.id}`;
    const known = byTarget.get(key);
    if (!known || entry.until > known.until) byTarget.set(key, entry);
  }
  return [...byTarget.values()];
}

/** Returns true if both are the same target. */
export function isSameTarget(a: AvoidTarget, b: AvoidTarget): boolean {
  return a.type === b.type && a.id === b.id;
}

function isRemembered(entry: AvoidEntry, now: number): boolean {
  return entry.until + avoidSpanMs(entry.target.type, entry.failures) > now;
}

/** Returns the avoid list that a status remembers. */
export function avoidOf(account: MarketplaceAccount): readonly AvoidEntry[] {
  return (account.status?.avoid ?? []).map(({ kind, id, until, failures, reason, namespace }) => ({
    target: { type: kind === 'Host' ? 'host' : 'machine', id },
    until: Date.parse(until),
    failures,
    reason,
    ...(namespace !== undefined && { namespace }),
  }));
}

/** Time during which reports are evaluated together. */
const REPORTS_KEPT_MS = 24 * 3_600_000;
/** Maximum number of reports kept for one namespace; older ones are dropped. */
const MAX_REPORTS_OF_NAMESPACE = 64;
const MAX_NAMESPACES = 256;

/**
 * Period for which the list keeps a failure for the reporting object alone; that object's status keeps it longer.
 * Afterwards no entry names the object, which may be gone.
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
 * The avoid list of one account, shared by its objects. The account's controller writes the durable part to the
 * status. From then on the status counts, so people can add and remove entries.
 */
export class AvoidList {
  readonly #clock: Clock;
  readonly #onChange: () => void;
  #entries: readonly AvoidEntry[];
  /** Failures that no status has shown yet. */
  #unwritten: readonly AvoidEntry[] = [];
  /** Withdrawn entries that a status may still show. */
  #takenBack: readonly AvoidEntry[] = [];
  /**
   * Reports by namespace, the latest reporter at the end. Losing them only delays entries that need a second report.
   */
  readonly #reports = new Map<string, readonly ReceivedReport[]>();

  constructor(clock: Clock, entries: readonly AvoidEntry[], onChange: () => void) {
    this.#clock = clock;
    this.#entries = entries;
    this.#onChange = onChange;
  }

  /**
   * Returns the targets that every object of the account avoids, and those of `owner` alone: see
   * {@link FailureReporter.owner}.
   */
  current(owner?: string): Avoided {
    const now = this.#clock.now();
    const own = owner === undefined ? [] : this.#recentReports().filter((report) => report.owner === owner);
    const suspected = own.map(({ of: target, at, reason }): AvoidEntry => {
      return { target, reason, failures: 1, until: at + OWN_MS };
    });
    return avoidedAt([...this.#entries, ...suspected], now);
  }

  /**
   * Adds a failure, which takes effect immediately: for every object of the account, or for the reporter's object
   * alone (see `countsForAll`). Without a reporter it counts for all. Machines and hosts that all objects avoid are
   * written to the status soon after.
   */
  add(target: AvoidTarget, reason: string, reporter?: FailureReporter): void {
    if (reporter && !this.#isAccepted(target, reporter)) return;
    const { namespace } = reporter ?? {};
    this.#entries = withFailure(this.#entries, { target, reason, now: this.#clock.now(), namespace });
    if (target.type === 'offer') return;
    const added = this.#entries.filter((entry) => isSameTarget(entry.target, target));
    this.#unwritten = [...this.#unwritten.filter((entry) => !isSameTarget(entry.target, target)), ...added];
    this.#onChange();
  }

  /**
   * Withdraws a single failure that only this reporter reported for that reason: the target was not at fault. Earlier
   * failures and those of other reporters stay.
   */
  takeBack(target: AvoidTarget, { namespace, owner, reason }: FailureReporter): void {
    const key = `${target.type}/${target.id}`;
    const left = (this.#reports.get(namespace) ?? []).filter(
      (report) => report.target !== key || report.owner !== owner || report.reason !== reason,
    );
    if (left.length > 0) this.#reports.set(namespace, left);
    else this.#reports.delete(namespace);
    const isIts = (entry: AvoidEntry) =>
      isSameTarget(entry.target, target) &&
      entry.namespace === namespace &&
      entry.reason === reason &&
      entry.failures === 1;
    const entry = this.#entries.find(isIts);
    if (!entry) return;
    this.#entries = this.#entries.filter((each) => each !== entry);
    this.#unwritten = this.#unwritten.filter((each) => !isIts(each));
    this.#takenBack = [...this.#takenBack, entry];
    this.#onChange();
  }

  /** Records a report. Returns true if it counts for every object of the account. */
  #isAccepted(target: AvoidTarget, reporter: FailureReporter): boolean {
    const before = this.#recentReports();
    const report = { ...reporter, target: `${target.type}/${target.id}`, of: target, at: this.#clock.now() };
    const { namespace } = reporter;
    const own = before.filter((each) => each.namespace === namespace && each.target !== report.target);
    this.#reports.delete(namespace);
    this.#reports.set(namespace, [...own, report].slice(-MAX_REPORTS_OF_NAMESPACE));
    for (const oldest of this.#reports.keys()) {
      if (this.#reports.size <= MAX_NAMESPACES) break;
      this.#reports.delete(oldest);
    }
    return countsForAll(report, before);
  }

  #recentReports(): readonly ReceivedReport[] {
    const now = this.#clock.now();
    for (const [namespace, reports] of this.#reports) {
      const fresh = reports.filter(({ at }) => at > now - REPORTS_KEPT_MS);
      const known = fresh.map((each) => (each.at > now - OWN_MS ? each : { ...each, owner: undefined }));
      if (known.length > 0) this.#reports.set(namespace, known);
      else this.#reports.delete(namespace);
    }
    return [...this.#reports.values()].flat();
  }

  /**
   * Adopts the entries of the status. Of the entries in memory it keeps only offers and entries that are not written
   * yet.
   */
  follow(status: readonly AvoidEntry[]): void {
    this.#recentReports();
    const unwritten = remembered(this.#unwritten, this.#clock.now());
    this.#unwritten = unwritten.filter((entry) => !shows(status, entry));
    // Kept until the status no longer shows them. If a person adds such an entry later, it counts.
    this.#takenBack = this.#takenBack.filter((entry) => status.some((each) => isSameEntry(each, entry)));
    const standing = status.filter((each) => !this.#takenBack.some((entry) => isSameEntry(each, entry)));
    const offers = this.#entries.filter(({ target }) => target.type === 'offer');
    this.#entries = [...offers, ...mergeAvoided(standing, this.#unwritten)];
  }

  /** Returns the entries that the status keeps, up to its maximum. */
  durable(): readonly AvoidEntry[] {
    const kept = remembered(this.#entries, this.#clock.now());
    return fairShare(kept.filter((entry) => entry.target.type !== 'offer'));
  }
}

/** Returns true if both are one entry, in the form of this process and of a status. */
function isSameEntry(a: AvoidEntry, b: AvoidEntry): boolean {
  return isSameTarget(a.target, b.target) && Math.abs(a.until - b.until) < STATUS_PRECISION_MS;
}

function shows(status: readonly AvoidEntry[], { target, until }: AvoidEntry): boolean {
  return status.some(
    (entry) => isSameTarget(entry.target, target) && entry.until > until - STATUS_PRECISION_MS,
  );
}

/** Object that reports a failed machine, host or offer, and the basis of its report. */
export interface FailureReporter {
  readonly namespace: string;
  /** Uid of the object, or of its group: reports of that owner apply to it immediately. */
  readonly owner: string;
  readonly image: string | undefined;
  readonly reason: string;
  /** True if the reporter waited at least as long as the defaults. Then its report counts for every object. */
  readonly patient: boolean;
}

/** Reports of one reporter about one target. */
export interface FailureReport extends Omit<FailureReporter, 'owner'> {
  /** `machine/5`, `host/7` or `offer/9`. */
  readonly target: string;
}

/**
 * Number of other targets on which an image must have failed in the same way before the image counts as the cause.
 */
const MAX_MACHINES_FAILED_BY_IMAGE = 2;

/**
 * Returns true if a failure counts for every object of the account, false if only for its reporter. It counts for all
 * if another namespace reported the target too, with another image if the image may be at fault. It also counts for
 * all if the reporter was patient and the same image did not fail elsewhere. `before`: the reports of the last day.
 */
export function countsForAll(report: FailureReport, before: readonly FailureReport[]): boolean {
  const agrees = before.some(
    ({ target, namespace, image }) =>
      target === report.target &&
      namespace !== report.namespace &&
      (image !== report.image || facetsOf(report.reason).mayBeImage !== true),
  );
  if (agrees) return true;
  return report.patient && !isFaultOfImage(report, before);
}

function isFaultOfImage({ reason, image, target }: FailureReport, before: readonly FailureReport[]): boolean {
  if (!facetsOf(reason).mayBeImage) return false;
  const alike = before.filter((each) => each.image === image && each.reason === reason);
  const others = new Set(alike.map((each) => each.target).filter((each) => each !== target));
  return others.size >= MAX_MACHINES_FAILED_BY_IMAGE;
}

type Patience = (spec: GpuInstance['spec']) => readonly (readonly [own: string, byDefault: string])[];

const timeouts = gpuInstanceSpec.shape.timeouts.parse(undefined);
const { tolerance } = gpuInstanceSpec.shape.replacement.parse(undefined);

/** Timeouts that pass before an end, each with its default. */
const PATIENCE: Readonly<Record<NonNullable<ReasonFacets['patience']>, Patience>> = {
  provisioning: (spec) => [[spec.timeouts.provisioning, timeouts.provisioning]],
  loading: (spec) => [[spec.timeouts.loading, timeouts.loading]],
  start: (spec) => [[spec.timeouts.start, timeouts.start]],
  offline: ({ replacement }) => [
    [replacement.tolerance.unknown, tolerance.unknown],
    [replacement.tolerance.offline, tolerance.offline],
  ],
};

/** Returns the reporter of an object whose machine ended for that reason. */
export function reporterOf(object: GpuInstance, reason: string, waited?: boolean): FailureReporter {
  const { metadata, spec, status } = object;
  const controller = metadata.ownerReferences?.find((owner) => owner.controller === true);
  const { patience } = facetsOf(reason);
  const times = patience && PATIENCE[patience](spec);
  return {
    namespace: metadata.namespace ?? '',
    owner: controller?.uid ?? metadata.uid ?? '',
    image: status?.image ?? spec.image,
    reason,
    patient: waited ?? times?.every((pair) => isAtLeast(...pair)) ?? false,
  };
}
