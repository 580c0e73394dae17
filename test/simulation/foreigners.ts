import type { Users } from './users.ts';
import type { SimulatedWorld } from './world.ts';

export const OTHER_INSTALL =
  'gpurental1:deadbeef:7d9f1b6e-3a52-4a7b-9a56-0d5b6f3c1e11:1:1767614400000:0123456789abcdef0123';
/** A label fits machines that began until then after it was issued: the longest late call and list lag together. */
const LABEL_WINDOW_MS = 300_000;

/** The marketplace refuses two rentals at once. */
const PAUSE_MS = 7_000;
const MAX_TRIES = 6;

/** Most expensive offers, which no object rents. */
const OFFERS = { unlabelled: 8_000_024, otherInstall: 8_000_023, edited: 8_000_022, copied: 8_000_021 };

/** Machines of the same login that are not the operator's, and must stay as they are (I3). */
export class Foreigners {
  readonly #world: SimulatedWorld;
  readonly #users: Users;

  constructor(world: SimulatedWorld, users: Users) {
    this.#world = world;
    this.#users = users;
  }

  /** Rents a machine without a label. */
  async settle(): Promise<void> {
    await this.#rent(OFFERS.unlabelled, undefined);
  }

  /**
   * Rents a machine with another installation's label, one with an edited copy of the operator's label and, once that
   * label is outdated, one with an exact copy. Waits for the operator's first rental: before that, a machine with its
   * prefix prevents it by design from choosing an identity. Skips the exact copy if rentals are late, because the two
   * are then indistinguishable.
   */
  copyLabels({ hasLateRentals }: { readonly hasLateRentals: boolean }): void {
    const label = this.#labelOfTheOperator();
    if (label === undefined) return;
    void this.#rent(OFFERS.otherInstall, OTHER_INSTALL);
    const edited = label.replace(/:(\d+):(\d+):/, ':999:$2:');
    this.#world.scheduler.after(PAUSE_MS / 2, () => void this.#rent(OFFERS.edited, edited));
    if (hasLateRentals) return;
    const issuedAt = Number(/:(\d+):[0-9a-f]+$/.exec(label)?.[1]);
    const wait = Math.max(0, issuedAt + LABEL_WINDOW_MS + 10_000 - this.#world.now);
    this.#world.scheduler.after(wait, () => void this.#rent(OFFERS.copied, label));
  }

  #labelOfTheOperator(): string | undefined {
    const { contracts } = this.#world.market.store.current().tables;
    return Object.values(contracts)
      .map(({ label }) => label ?? '')
      .find((label) => label.startsWith('gpurental1:') && !label.startsWith('gpurental1:deadbeef'));
  }

  /** Rents an offer; retries calls that were too early or failed, and gives up if the offer is taken. */
  async #rent(offerId: number, label: string | undefined, triesLeft = MAX_TRIES): Promise<void> {
    const outcome = await this.#users.console.rent(offerId, label);
    if (outcome === '200' || outcome === '404' || triesLeft === 0) return;
    this.#world.scheduler.after(PAUSE_MS, () => void this.#rent(offerId, label, triesLeft - 1));
  }
}
