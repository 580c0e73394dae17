import type { CompleteList } from '../../marketplace/feed/feed-state.ts';

/**
 * Machines of ours that no object claims, as an account waits for them that is being deleted: from the sweep that finds
 * one until an object claims it, or until it is gone for sure. A list without it is no proof.
 */
export class UnclaimedMachines {
  readonly #ids = new Set<number>();

  /** These are unclaimed. */
  add(found: Iterable<number>): void {
    for (const id of found) this.#ids.add(id);
  }

  /** A sweep of this list found these and no other. One that is listed and was not found has an owner. */
  swept(found: readonly number[], { rows }: Pick<CompleteList, 'rows'>): void {
    for (const id of this.#ids) if (rows.has(id) && !found.includes(id)) this.#ids.delete(id);
    this.add(found);
  }

  /** Of these it is proven. */
  gone(ids: Iterable<number>): void {
    for (const id of ids) this.#ids.delete(id);
  }

  /** Those that are still waited for. */
  ids(): readonly number[] {
    return [...this.#ids];
  }
}
