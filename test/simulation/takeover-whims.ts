import type { Chance } from './chance.ts';
import type { Invariants } from './invariants.ts';
import type { Users } from './users.ts';

export interface TakeoverWhimsOptions {
  /** Does something in so many milliseconds, unless everybody has left by then. */
  readonly later: (ms: number, act: () => void) => void;
  readonly users: Users;
  readonly invariants: Invariants;
  readonly chance: Chance;
}

/** Expensive offers, which no object rents. */
const OFFERS_TO_HAND_OVER = [8_000_020, 8_000_019] as const;
/** Time by which a deleted object has usually released the machine that it keeps. */
const LETS_GO_MS = 60_000;

/** Random actions of users on existing machines: take over, observe, or request those of others. */
export class TakeoverWhims {
  readonly #options: TakeoverWhimsOptions;

  constructor(options: TakeoverWhimsOptions) {
    this.#options = options;
  }

  /** Creates an object that names an existing machine. */
  create(name: string): void {
    this.#options.chance.doOneOf([
      [4, () => void this.#handOver(name)],
      [2, () => this.#watch(name)],
      [1, () => this.#claim(name, 'Manage')],
      [1, () => this.#claim(name, 'Observe')],
    ]);
  }

  /** Deletes an object without its machine, which another object takes over. */
  passOn(from: string, to: string): void {
    const { later, users } = this.#options;
    const machine = users.machineOf(from);
    users.setDeletionPolicy(from, 'Retain');
    users.delete(from);
    if (machine === undefined) return;
    later(LETS_GO_MS, () => void this.#takeKept(to, machine));
  }

  /** Rents a machine by hand and creates an object that takes it over. */
  async #handOver(name: string): Promise<void> {
    const { users, chance } = this.#options;
    const machine = await users.console.rentToHandOver(chance.oneOf(OFFERS_TO_HAND_OVER));
    if (machine !== undefined) this.#adopt(name, machine, 'Manage');
  }

  /** Creates an object that observes a foreign machine. */
  #watch(name: string): void {
    const { users, invariants } = this.#options;
    const machine = users.console.machines().find((id) => invariants.isForeign(id));
    if (machine !== undefined) this.#adopt(name, machine, 'Observe');
  }

  /**
   * Creates an object that requests another object's machine, which that object keeps. Never requests a foreign
   * machine, whatever a status contains.
   */
  #claim(name: string, policy: 'Manage' | 'Observe'): void {
    const { users, invariants } = this.#options;
    const other = users.anyName();
    const machine = other === undefined ? undefined : users.machineOf(other);
    if (machine === undefined || other === name || invariants.isForeign(machine)) return;
    if (policy === 'Manage' && users.console.isOfRun(machine)) return;
    this.#adopt(name, machine, policy);
  }

  /**
   * Takes over a machine that was kept on purpose and still exists. Removing the label of any other machine would
   * claim that the operator does not own it.
   */
  async #takeKept(name: string, machine: number): Promise<void> {
    const { users, invariants } = this.#options;
    if (!invariants.isKept(machine) || users.console.isOfRun(machine)) return;
    if ((await users.console.label(machine, '')) !== '200') return;
    this.#adopt(name, machine, 'Manage');
  }

  #adopt(name: string, machine: number, policy: 'Manage' | 'Observe'): void {
    const { users } = this.#options;
    users.account.set({ adoption: 'Unlabelled' });
    users.createAdopting(name, machine, policy);
  }
}
