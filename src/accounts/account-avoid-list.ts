import type { Clock } from '../lib/clock.ts';
import {
  type AvoidEntry,
  type Avoided,
  type AvoidList,
  type AvoidTarget,
  avoidedAt,
  mergeAvoided,
  remembered,
  withFailure,
} from './avoid-list.ts';

/** The avoid list of one account, shared by its objects; the controller writes the durable part down. */
export class AccountAvoidList implements AvoidList {
  readonly #clock: Clock;
  readonly #onChange: () => void;
  #entries: readonly AvoidEntry[];

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
    if (target.type !== 'offer') this.#onChange();
  }

  /** Takes in what the status says beyond what memory knows. */
  merge(entries: readonly AvoidEntry[]): void {
    this.#entries = mergeAvoided(this.#entries, entries);
  }

  /** The part that outlives the process. */
  durable(): readonly AvoidEntry[] {
    return remembered(this.#entries, this.#clock.now()).filter((entry) => entry.target.type !== 'offer');
  }
}
