import { parseDollars } from '../../../src/lib/money.ts';
import type { Scene } from './scene.ts';

/** I9 for an account: nothing is rented beyond what its `limits` allow in sum. What runs already may stay. */
export class LimitWatch {
  readonly #scene: Scene;
  readonly #seen = new Set<number>();

  constructor(scene: Scene) {
    this.#scene = scene;
  }

  changed(): void {
    const live = this.#scene.live();
    const isNew = live.some(({ id }) => !this.#seen.has(id));
    for (const { id } of live) this.#seen.add(id);
    if (!isNew) return;
    const { maxInstances, maxSpendPerHour } = this.#scene.accountLimits();
    if (typeof maxInstances === 'number' && live.length > maxInstances)
      this.#scene.broken('I9', `the account has ${live.length} machines, and may have ${maxInstances}`);
    const most = parseDollars(String(maxSpendPerHour)) ?? Number.POSITIVE_INFINITY;
    const spent = live.reduce(
      (sum, { gpuPricePerHour, diskPricePerHour }) => sum + gpuPricePerHour + diskPricePerHour,
      0,
    );
    if (spent > most)
      this.#scene.broken('I9', `the account rents for $${spent / 1e6}/h, and may for $${most / 1e6}/h`);
  }
}
