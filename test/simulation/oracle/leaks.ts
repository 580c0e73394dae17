import type { Machine } from '../machine.ts';
import { CleanLists } from './clean-lists.ts';
import { fitsItsLabel } from './purchase.ts';
import type { Scene } from './scene.ts';

/** Two sweeps have to see it and one may have been under way; then the destroy waits for its place. */
const PATIENCE = { lists: 4, withinMs: 15_000 };
/** After a wrong time three lists agree on the right one, which then holds for a minute, before it ages a machine (H2). */
const TIME_SETTLES_MS = 100_000;
/** A process whose clock is further off suspects the first time that it gets. */
const SUSPECTED_SKEW_MS = 60_000;

/**
 * I1: an owned machine without an object is destroyed when it is old enough and was seen in two sweeps. Only if the
 * policy allows it, and neither a breaker nor a possible restore makes the sweep wait for a person.
 */
export class LeakWatch {
  readonly #scene: Scene;
  readonly #lists: CleanLists<number>;
  readonly #reported = new Set<number>();
  /** Machines that had their turn to be destroyed. */
  readonly #turns = new Set<number>();
  #reader: Machine | undefined;
  #timeSettlesAt = 0;

  constructor(scene: Scene) {
    this.#scene = scene;
    this.#lists = new CleanLists({ ...PATIENCE, now: () => scene.now });
  }

  /** Records a request for the list of that login, or of any. */
  listed(machine: Machine, userId: number | undefined): void {
    if (machine !== this.#reader && Math.abs(machine.wallSkewMs) > SUSPECTED_SKEW_MS) this.timeDoubted();
    this.#reader = machine;
    const leaks = new Set(this.#leaks());
    for (const id of this.#lists.keys()) if (!leaks.has(id)) this.#lists.end(id);
    for (const id of leaks) this.#lists.begin(id);
    this.#lists.listed(machine, (id) => this.#scene.isListedFor(id, userId));
  }

  /** Destroys leave one after the other, at the service's pace. One that is sent again is no progress for the others. */
  destroySent(id: number): void {
    if (!this.#lists.keys().includes(id) || this.#turns.has(id)) return;
    this.#turns.add(id);
    this.#lists.acted();
  }

  hindered(): void {
    this.#lists.hindered();
  }

  /** Records a time that contradicts the one that a process knew. */
  timeDoubted(): void {
    this.#timeSettlesAt = this.#scene.now + TIME_SETTLES_MS;
  }

  elapsed(): void {
    for (const id of this.#lists.overdue()) {
      this.#lists.end(id);
      if (!this.#leaks().includes(id)) continue;
      this.#reported.add(id);
      this.#scene.broken('I1', `contract ${id} bills, no object claims it, and several sweeps have left it`);
    }
  }

  #leaks(): readonly number[] {
    if (this.#scene.strict || this.#scene.now < this.#timeSettlesAt) return [];
    return this.#scene
      .live()
      .filter(
        (contract) =>
          this.#scene.purchaseOf(contract) &&
          (!this.#scene.ownerOf(contract) || this.#scene.isLateRental(contract)) &&
          !this.#scene.isKept(contract),
      )
      .filter(
        (contract) =>
          this.#scene.orphanPolicy(contract) === 'Destroy' && !this.#scene.isSweepDelayed(contract),
      )
      .filter(
        (contract) =>
          (fitsItsLabel(contract) && this.#scene.now - contract.createdAt > this.#scene.orphanAgeMs) ||
          (this.#scene.isLateRental(contract) &&
            this.#scene.now - contract.createdAt > this.#scene.lateOrphanAgeMs),
      )
      .map(({ id }) => id)
      .filter((id) => !this.#reported.has(id));
  }
}
