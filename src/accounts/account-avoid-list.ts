import type { AvoidTarget } from '../instance/avoidance.ts';
import type { Clock } from '../lib/clock.ts';
import {
  type AvoidEntry,
  type Avoided,
  type AvoidList,
  avoidedAt,
  fairShare,
  isSameTarget,
  mergeAvoided,
  remembered,
  withFailure,
} from './avoid-list.ts';
import { blamesForAll, type Testimony, type Witness } from './blame.ts';

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

interface Heard extends Testimony {
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
  readonly #heard = new Map<string, readonly Heard[]>();

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

  add(target: AvoidTarget, reason: string, witness?: Witness): void {
    if (witness && !this.#isBelieved(target, witness)) return;
    const { namespace } = witness ?? {};
    this.#entries = withFailure(this.#entries, { target, reason, now: this.#clock.now(), namespace });
    if (target.type === 'offer') return;
    const added = this.#entries.filter((entry) => isSameTarget(entry.target, target));
    this.#unwritten = [...this.#unwritten.filter((entry) => !isSameTarget(entry.target, target)), ...added];
    this.#onChange();
  }

  /** Hears a witness, and says whether its word counts for every object of the account. */
  #isBelieved(target: AvoidTarget, witness: Witness): boolean {
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
    return blamesForAll(said, before);
  }

  #testimonies(): readonly Heard[] {
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
