import type { Machine } from '../machine.ts';
import { CleanLists } from './clean-lists.ts';
import { fitsItsLabel } from './purchase.ts';
import type { Scene } from './scene.ts';

/** Two sweeps have to see it and one may have been under way; then the destroy waits for its place. */
const PATIENCE = { lists: 4, withinMs: 15_000 };

/**
 * I1: a machine of ours that no object claims is destroyed once it is old enough and was seen in two sweeps. Only where
 * the policy says so, and neither a breaker nor a possible restore makes the sweep wait for a person.
 */
export class LeakWatch {
  readonly #scene: Scene;
  readonly #lists: CleanLists<number>;
  readonly #reported = new Set<number>();

  constructor(scene: Scene) {
    this.#scene = scene;
    this.#lists = new CleanLists({ ...PATIENCE, now: () => scene.now });
  }

  /** A process sends for the list of that login, or of any. */
  listed(machine: Machine, userId: number | undefined): void {
    const leaks = new Set(this.#leaks());
    for (const id of this.#lists.keys()) if (!leaks.has(id)) this.#lists.end(id);
    for (const id of leaks) this.#lists.begin(id);
    this.#lists.listed(machine, (id) => this.#scene.isListedFor(id, userId));
  }

  /** Destroys leave one after the other, at the service's pace. */
  destroySent(id: number): void {
    if (this.#lists.keys().includes(id)) this.#lists.acted();
  }

  hindered(): void {
    this.#lists.hindered();
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
    if (this.#scene.strict) return [];
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
