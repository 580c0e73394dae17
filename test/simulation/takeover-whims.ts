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

/** Among the dearest, which nobody else rents. */
const OFFERS_TO_HAND_OVER = [8_000_020, 8_000_019] as const;
/** By when an object that is deleted has let go of the machine that it keeps, mostly. */
const LETS_GO_MS = 60_000;

/** What people come to do with machines that there are: have objects take them over, show them, or ask for those of others. */
export class TakeoverWhims {
  readonly #options: TakeoverWhimsOptions;

  constructor(options: TakeoverWhimsOptions) {
    this.#options = options;
  }

  /** An object of that name names a machine that there is. */
  create(name: string): void {
    this.#options.chance.doOneOf([
      [4, () => void this.#handOver(name)],
      [2, () => this.#watch(name)],
      [1, () => this.#claim(name, 'Manage')],
      [1, () => this.#claim(name, 'Observe')],
    ]);
  }

  /** An object goes without its machine, and another one takes that over. */
  passOn(from: string, to: string): void {
    const { later, users } = this.#options;
    const machine = users.machineOf(from);
    users.setDeletionPolicy(from, 'Retain');
    users.delete(from);
    if (machine === undefined) return;
    later(LETS_GO_MS, () => void this.#takeKept(to, machine));
  }

  /** A person rents a machine and has an object take it over. */
  async #handOver(name: string): Promise<void> {
    const { users, chance } = this.#options;
    const machine = await users.console.rentToHandOver(chance.oneOf(OFFERS_TO_HAND_OVER));
    if (machine !== undefined) this.#adopt(name, machine, 'Manage');
  }

  /** An object shows the machine of somebody else. */
  #watch(name: string): void {
    const { users, invariants } = this.#options;
    const machine = users.console.machines().find((id) => invariants.isForeign(id));
    if (machine !== undefined) this.#adopt(name, machine, 'Observe');
  }

  /** An object asks for the machine of another one, which keeps it. A stranger's is asked for by nobody, whatever a status says. */
  #claim(name: string, policy: 'Manage' | 'Observe'): void {
    const { users, invariants } = this.#options;
    const other = users.anyName();
    const machine = other === undefined ? undefined : users.machineOf(other);
    if (machine === undefined || other === name || invariants.isForeign(machine)) return;
    this.#adopt(name, machine, policy);
  }

  /** Only one that was kept on purpose, and is still there: whoever takes its label off says whose it is not. */
  async #takeKept(name: string, machine: number): Promise<void> {
    const { users, invariants } = this.#options;
    if (!invariants.isKept(machine)) return;
    if ((await users.console.label(machine, '')) !== '200') return;
    this.#adopt(name, machine, 'Manage');
  }

  #adopt(name: string, machine: number, policy: 'Manage' | 'Observe'): void {
    const { users } = this.#options;
    users.account.set({ adoption: 'Unlabelled' });
    users.createAdopting(name, machine, policy);
  }
}
