import type { Clock } from '../lib/clock.ts';
import {
  type AvoidEntry,
  type Avoided,
  type AvoidList,
  type AvoidTarget,
  avoidedAt,
  isSameTarget,
  longestLasting,
  mergeAvoided,
  remembered,
  withFailure,
} from './avoid-list.ts';

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

  constructor(clock: Clock, entries: readonly AvoidEntry[], onChange: () => void) {
    this.#clock = clock;
    this.#entries = entries;
    this.#onChange = onChange;
  }

  current(): Avoided {
    return avoidedAt(this.#entries, this.#clock.now());
  }

  add(target: AvoidTarget, reason: string): void {
    this.#entries = withFailure(this.#entries, { target, reason, now: this.#clock.now() });
    if (target.type === 'offer') return;
    const added = this.#entries.filter((entry) => isSameTarget(entry.target, target));
    this.#unwritten = [...this.#unwritten.filter((entry) => !isSameTarget(entry.target, target)), ...added];
    this.#onChange();
  }

  /** Takes over what the status says; of its own memory only offers and what was not yet written stay. */
  follow(status: readonly AvoidEntry[]): void {
    const unwritten = remembered(this.#unwritten, this.#clock.now());
    this.#unwritten = unwritten.filter((entry) => !shows(status, entry));
    const offers = this.#entries.filter(({ target }) => target.type === 'offer');
    this.#entries = [...offers, ...mergeAvoided(status, this.#unwritten)];
  }

  /** The part that outlives the process, as far as a status takes it. */
  durable(): readonly AvoidEntry[] {
    const kept = remembered(this.#entries, this.#clock.now());
    return longestLasting(kept.filter((entry) => entry.target.type !== 'offer'));
  }
}

function shows(status: readonly AvoidEntry[], { target, until }: AvoidEntry): boolean {
  return status.some(
    (entry) => isSameTarget(entry.target, target) && entry.until > until - STATUS_PRECISION_MS,
  );
}
